/** Streams as bytes, and the files beside them, written from docs/stream-format.md. */

import { createHash, generateKeyPairSync, sign } from 'node:crypto';

const CRC_STEPS = Array.from({ length: 256 }, (_, byte) => {
  let c = byte;
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
  return c;
});

/** CRC-32, the one of zlib. */
export function crc32(bytes) {
  let c = 0xffffffff;
  for (const byte of bytes) c = CRC_STEPS[(c ^ byte) & 255] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

export const sha256 = (bytes) => new Uint8Array(createHash('sha256').update(bytes).digest());

export const joined = (parts) => new Uint8Array(Buffer.concat(parts));

/** A key pair for Ed25519: `publicKey` as 32 bytes. */
export function keyPair() {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  return { privateKey, publicKey: new Uint8Array(raw) };
}

/** The bytes of a chunk's payload (sections 3 to 5). */
function payload({ V, idKind }, { kind, count, words, columns, codes, slots, ids }) {
  if (kind === 1) return Int8Array.from(words.flat());
  if (kind === 3) return Uint8Array.from(codes);
  if (kind === 5) {
    if (idKind === 1) return new Uint8Array(Uint32Array.from(ids).buffer);
    if (idKind === 2) return new Uint8Array(BigUint64Array.from(ids).buffer);
    const texts = ids.map((id) => new TextEncoder().encode(id));
    const lengths = Uint16Array.from(texts, (text) => text.length);
    return joined([new Uint8Array(lengths.buffer), ...texts]);
  }
  if (kind === 2) {
    const view = new DataView(new ArrayBuffer(16 * count));
    columns.forEach(({ codebook, first, scale, gain, weights }, c) => {
      const fields = [codebook, first, scale, gain];
      fields.forEach((field, i) => view.setUint16(16 * c + 2 * i, field, true));
      weights.forEach((weight, i) => view.setFloat32(16 * c + 8 + 4 * i, weight, true));
    });
    return new Uint8Array(view.buffer);
  }
  const bits = Math.max(1, (V - 1).toString(2).length),
    full = bits >> 3,
    row = Math.ceil(count / 8);
  const bytes = new Uint8Array(full * count + (bits & 7) * row + Math.ceil(count / 2));
  slots.forEach(({ number, vote }, i) => {
    for (let f = 0; f < full; f++) bytes[f * count + i] = number >>> (8 * f);
    for (let r = 0; r < (bits & 7); r++) {
      bytes[full * count + r * row + (i >> 3)] |= ((number >>> (8 * full + r)) & 1) << (i & 7);
    }
    bytes[full * count + (bits & 7) * row + (i >> 1)] |= vote << (4 * (i & 1));
  });
  return bytes;
}

/** The chunks of a stream as bytes; checksums and links are left to `seal`. */
export const chunkBytes = (head, chunks) =>
  chunks.map((chunk) => {
    const body = payload(head, chunk),
      bytes = new Uint8Array(32 + body.length);
    const view = new DataView(bytes.buffer);
    view.setUint32(0, body.length, true);
    [bytes[4], bytes[5]] = [chunk.kind, chunk.width ?? 0];
    view.setUint16(6, chunk.which, true);
    view.setUint32(8, chunk.first, true);
    view.setUint32(12, chunk.count, true);
    bytes.set(new Uint8Array(body.buffer, body.byteOffset, body.length), 32);
    return bytes;
  });

/** The bytes of a head, without link, signature and checksum (section 1). */
export function headBytes(head, least, length) {
  const bytes = new Uint8Array(276 + head.D),
    view = new DataView(bytes.buffer);
  bytes.set([0x89, ...new TextEncoder().encode('ELASTIC'), 4, 0, head.N, 0]);
  view.setUint32(12, head.V, true);
  bytes.set([head.idKind, head.cosine, head.person, head.minSupport], 16);
  [head.sequence, head.trained, least, length].forEach((field, i) =>
    view.setBigUint64(24 + 8 * i, BigInt(field), true),
  );
  bytes.set(head.modelId, 56);
  bytes.set(head.catalogue, 88);
  head.values.forEach((value, v) => view.setUint16(120 + 2 * v, value, true));
  bytes.set(head.popularity, 152);
  [head.unit, head.recency, ...head.weights].forEach((field, i) =>
    view.setFloat32(180 + 4 * i, field, true),
  );
  bytes.set(head.mean, 196);
  return bytes;
}

/** Checksums, links and signature made right, for chunks of whatever content. */
export function seal(head, chunks, privateKey) {
  let link = new Uint8Array(12);
  for (const chunk of chunks.toReversed()) {
    chunk.set(link, 20);
    chunk.fill(0, 16, 20);
    new DataView(chunk.buffer, chunk.byteOffset).setUint32(16, crc32(chunk), true);
    link = sha256(chunk).subarray(0, 12);
  }
  const end = head.length - 68;
  head.set(link, end - 12);
  head.fill(0, end);
  if (privateKey) head.set(sign(null, head.subarray(0, end), privateKey), end);
  new DataView(head.buffer, head.byteOffset).setUint32(end + 64, crc32(head.subarray(0, -4)), true);
  return joined([head, ...chunks]);
}

/** The bytes of a drawn stream. */
export function write({ head, chunks, least }, privateKey) {
  const parts = chunkBytes(head, chunks),
    ends = endsOf(276 + head.D, parts);
  return seal(headBytes(head, ends[least], ends.at(-1)), parts, privateKey);
}

/** Where chunks end. */
export const endsOf = (start, parts) => parts.map((part) => (start += part.length));

/** Where the head and each chunk of a sound stream end. */
export function cutsOf(file) {
  const view = new DataView(file.buffer, file.byteOffset),
    cuts = [276 + 8 * view.getUint16(10, true)];
  while (cuts.at(-1) < file.length) cuts.push(cuts.at(-1) + 32 + view.getUint32(cuts.at(-1), true));
  return cuts;
}

/** A person's vector file (section 9) from the bits of its half-precision numbers. */
export function vectorFile({ modelId }, halves) {
  const bytes = new Uint8Array(48 + 2 * halves.length),
    view = new DataView(bytes.buffer);
  bytes.set([0x89, ...new TextEncoder().encode('ELVECTO'), 2, 0]);
  view.setUint16(10, halves.length, true);
  bytes.set(modelId, 16);
  halves.forEach((half, k) => view.setUint16(48 + 2 * k, half, true));
  view.setUint32(12, crc32(bytes), true);
  return bytes;
}

/** A file of withdrawn items (section 10). */
export function withdrawnFile({ modelId }, items, privateKey) {
  const bytes = new Uint8Array(120 + 4 * items.length),
    view = new DataView(bytes.buffer);
  bytes.set([0x89, ...new TextEncoder().encode('ELWITHD'), 1, 0]);
  bytes.set(modelId, 16);
  view.setBigUint64(48, 1n, true);
  items.forEach((item, i) => view.setUint32(120 + 4 * i, item, true));
  if (privateKey) bytes.set(sign(null, bytes, privateKey), 56);
  view.setUint32(12, crc32(bytes), true);
  return bytes;
}
