/**
 * Bundles for the tests and the benchmark, made from docs/bundle-format.md: what is in them is
 * drawn first, then written, so that a test knows every number without reading the file.
 */

import { createHash } from 'node:crypto';

/** A generator of numbers in [0, 1), the same for the same seed (xorshift). */
export function generator(seed) {
  let state = (seed * 2654435761 + 1) >>> 0 || 1;
  const next = () => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
  next.below = (n) => Math.floor(next() * n);
  return next;
}

const STEPS = Array.from({ length: 256 }, (_, byte) => {
  let c = byte;
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
  return c;
});

/** CRC-32, the one of zlib. */
export function crc32(bytes) {
  let c = 0xffffffff;
  for (const byte of bytes) c = STEPS[(c ^ byte) & 255] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

export const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** The value of a binary16, as its definition says. */
export function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1,
    exponent = (bits >> 10) & 31,
    fraction = bits & 1023;
  return exponent
    ? sign * 2 ** (exponent - 15) * (1 + fraction / 1024)
    : sign * 2 ** -24 * fraction;
}

/** What a bundle is to hold; `changes` replace what would be drawn. */
export function draw(seed, changes = {}) {
  const rng = generator(seed),
    N = changes.N ?? 1 + rng.below(4),
    D = 8 * N;
  const sizes = changes.sizes ?? Array.from({ length: 1 + rng.below(4) }, () => 1 + rng.below(30));
  const G = sizes.length,
    V = sizes.reduce((a, b) => a + b);
  const f32 = (scale) => Math.fround((rng() - 0.3) * scale);
  const halves = (n) =>
    Uint16Array.from({ length: n }, () =>
      rng.below(20) ? 0x2c00 + rng.below(0x1000) + 0x8000 * rng.below(2) : rng.below(0x7c00),
    );
  const list = (n, make) => Array.from({ length: n }, (_, i) => make(i));
  const depths =
    changes.depths ??
    list(G, () => {
      const most = rng.below(9) * rng.below(2) || rng.below(4);
      return list(N, () => rng.below(most + 1));
    });
  const neighbours = changes.neighbours ?? list(G, () => [0, 1, 2, 4, 8, 16][rng.below(6)]);
  const spec = {
    N,
    D,
    G,
    V,
    sizes,
    depths,
    neighbours,
    modelId: Uint8Array.from({ length: 32 }, () => rng.below(256)),
    idKind: 0,
    person: rng.below(2),
    scaled: rng.below(2),
    trained: 1_600_000_000n,
    catalogue: new Uint8Array(32),
    meta: { name: 'sample', quality: null },
    weights: list(G, () => [Math.abs(f32(1)), Math.abs(f32(2))]),
    means: list(G + 1, () => halves(D)),
    scales: Float32Array.from(list(3 * N, () => Math.abs(f32(1)))), // three of each block
    steps: Float32Array.from(list(36, () => f32(2))),
    gains: Float32Array.from(list(256, () => Math.abs(f32(3)))),
    votes: Float32Array.from(list(16, (i) => i && Math.abs(f32(1)))),
    map: rng.below(2) ? halves(D * D) : undefined,
    ids: undefined,
    withdrawn: rng.below(2) ? list(V, (i) => i).filter(() => rng() < 0.1) : [],
  };
  spec.q = sizes.map((n) => Uint8Array.from({ length: n }, () => rng.below(256)));
  spec.columns = sizes.map((n, g) =>
    depths[g].flatMap((b) => list(b, () => Uint8Array.from({ length: n }, () => rng.below(256)))),
  );
  spec.slots = sizes.map((n, g) =>
    list(n, () => {
      const weights = list(neighbours[g], () => rng.below(16)).sort((a, b) => b - a);
      return weights.map((weight) => ({ weight, number: weight && rng.below(V) }));
    }),
  );
  const K = changes.K ?? [0, N, rng.below(N + 1)][rng.below(3)];
  spec.words = list(K, () => Int8Array.from({ length: 32 * D }, () => rng.below(256) - 128));
  spec.letters = Int8Array.from({ length: K ? 2048 : 0 }, () => rng.below(256) - 128);
  return Object.assign(spec, { K }, changes);
}

/** The sections of a bundle by kind, as bytes. */
export function sections(spec) {
  const { N, D, G, V, sizes, depths, neighbours } = spec,
    parts = {};
  const bytes = (n, fill) => {
    const array = new Uint8Array(n);
    fill?.(new DataView(array.buffer), array);
    return array;
  };
  parts[1] = bytes(64, (view, array) => {
    view.setUint32(0, V, true);
    view.setUint16(4, G, true);
    view.setUint16(6, N, true);
    array.set([8, spec.idKind, spec.person, spec.scaled], 8);
    view.setUint16(12, spec.K, true);
    view.setBigUint64(16, spec.trained, true);
    array.set(spec.catalogue, 24);
  });
  parts[2] = bytes(512, (_, array) =>
    array.fill(32).set(new TextEncoder().encode(JSON.stringify(spec.meta))),
  );
  parts[3] = bytes(G * (16 + N), (view, array) =>
    sizes.forEach((size, g) => {
      view.setUint32(16 * g, size, true);
      array[16 * g + 4] = neighbours[g];
      view.setFloat32(16 * g + 8, spec.weights[g][0], true);
      view.setFloat32(16 * g + 12, spec.weights[g][1], true);
      array.set(depths[g], 16 * G + N * g);
    }),
  );
  const halves = (rows) =>
    bytes(2 * rows.length, (view) => rows.forEach((h, i) => view.setUint16(2 * i, h, true)));
  parts[4] = halves(spec.means.flatMap((row) => [...row]));
  parts[5] = bytes(12 * N + 1232, (view) =>
    [...spec.scales, ...spec.steps, ...spec.gains, ...spec.votes].forEach((value, i) =>
      view.setFloat32(4 * i, value, true),
    ),
  );
  parts[6] = joined(
    sizes.flatMap((_, g) => (spec.columns[g].length ? [spec.q[g], ...spec.columns[g]] : [])),
  );
  const slots = joined(sizes.flatMap((n, g) => packSlots(spec.slots[g], n, neighbours[g], V)));
  if (slots.length) parts[7] = slots;
  if (spec.map) parts[8] = halves([...spec.map]);
  if (spec.idKind) parts[9] = packIds(spec, bytes);
  const out = spec.withdrawn;
  if (out.length)
    parts[10] = bytes(4 * out.length, (view) =>
      out.forEach((i, at) => view.setUint32(4 * at, i, true)),
    );
  if (spec.K)
    parts[11] = joined([...spec.words, spec.letters].map((list) => new Uint8Array(list.buffer)));
  return parts;
}

/** The columns, planes and weights of a group's slots (section 7 of the page). */
function packSlots(slots, n, count, V) {
  const bits = Math.max(1, (V - 1).toString(2).length),
    parts = [];
  for (let k = 0; k < count; k++) {
    for (let c = 0; c < bits >> 3; c++)
      parts.push(Uint8Array.from(slots, (slot) => slot[k].number >> (8 * c)));
    for (let bit = bits & ~7; bit < bits; bit++) {
      const plane = new Uint8Array(Math.ceil(n / 8));
      slots.forEach((slot, i) => {
        plane[i >> 3] |= ((slot[k].number >> bit) & 1) << (i % 8);
      });
      parts.push(plane);
    }
    const weights = new Uint8Array(Math.ceil(n / 2));
    slots.forEach((slot, i) => {
      weights[i >> 1] |= slot[k].weight << (i % 2 ? 4 : 0);
    });
    parts.push(weights);
  }
  return parts;
}

/** The ids of a bundle (section 9 of the page). */
function packIds({ idKind, ids }, bytes) {
  if (idKind === 1)
    return bytes(4 * ids.length, (view) => ids.forEach((id, i) => view.setUint32(4 * i, id, true)));
  if (idKind === 2) {
    return bytes(8 * ids.length, (view) =>
      ids.forEach((id, i) => view.setBigUint64(8 * i, BigInt(id), true)),
    );
  }
  const texts = ids.map((id) => new TextEncoder().encode(id));
  const offsets = bytes(4 * (ids.length + 1), (view) =>
    texts.reduce((at, text, i) => {
      view.setUint32(4 * (i + 1), at + text.length, true);
      return at + text.length;
    }, 0),
  );
  return joined([offsets, ...texts]);
}

/** All bytes, one part behind the other. */
export function joined(parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((at, part) => (all.set(part, at), at + part.length), 0);
  return all;
}

/** The file of these sections (section 1 of the page). */
export function assemble(parts, modelId) {
  const kinds = Object.keys(parts)
      .map(Number)
      .sort((a, b) => a - b),
    up = (n) => Math.ceil(n / 64) * 64;
  let end = 64 + 32 * kinds.length;
  const places = kinds.map((kind) => {
    const at = up(end);
    end = at + parts[kind].length;
    return at;
  });
  const file = new Uint8Array(end),
    view = new DataView(file.buffer);
  file.set([0x89, ...new TextEncoder().encode('ELASTIC'), 3]);
  view.setUint32(12, kinds.length, true);
  view.setBigUint64(16, BigInt(end), true);
  file.set(modelId, 32);
  kinds.forEach((kind, i) => {
    view.setUint32(64 + 32 * i, kind, true);
    view.setBigUint64(72 + 32 * i, BigInt(places[i]), true);
    view.setBigUint64(80 + 32 * i, BigInt(parts[kind].length), true);
    file.set(parts[kind], places[i]);
  });
  return seal(file);
}

/** Puts the right checksums into a file, as far as its table can be followed. */
export function seal(file) {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const end = 64 + 32 * view.getUint32(12, true);
  if (end > file.length) return file;
  for (let entry = 64; entry < end; entry += 32) {
    const at = Number(view.getBigUint64(entry + 8, true)),
      length = Number(view.getBigUint64(entry + 16, true));
    if (at + length <= file.length)
      view.setUint32(entry + 4, crc32(file.subarray(at, at + length)), true);
  }
  view.setUint32(24, 0, true);
  view.setUint32(24, crc32(file.subarray(0, end)), true);
  return file;
}

/** The bundle of what was drawn. */
export const write = (spec) => assemble(sections(spec), spec.modelId);

/** A person's vector file (section 13 of the page). */
export function vectorFile(spec, halves) {
  const file = new Uint8Array(48 + 2 * halves.length),
    view = new DataView(file.buffer);
  file.set([0x89, ...new TextEncoder().encode('ELVECTO'), 1]);
  view.setUint16(10, halves.length, true);
  file.set(spec.modelId, 16);
  halves.forEach((h, i) => view.setUint16(48 + 2 * i, h, true));
  view.setUint32(12, crc32(file), true);
  return file;
}

/** A patch of these operations, a number pair to copy or bytes to insert (section 15). */
export function patchFile(old, made, operations) {
  const head = new Uint8Array(96 + 16 * operations.length),
    view = new DataView(head.buffer);
  head.set([0x89, ...new TextEncoder().encode('ELPATCH'), 1]);
  view.setUint32(12, operations.length, true);
  view.setBigUint64(16, BigInt(old.length), true);
  view.setBigUint64(24, BigInt(made.length), true);
  head.set(Buffer.from(sha256(old), 'hex'), 32);
  head.set(Buffer.from(sha256(made), 'hex'), 64);
  const inserts = operations.filter((operation) => operation instanceof Uint8Array);
  operations.forEach((operation, i) => {
    const copied = !(operation instanceof Uint8Array);
    view.setBigUint64(96 + 16 * i, copied ? BigInt(operation[0]) : 2n ** 64n - 1n, true);
    view.setBigUint64(104 + 16 * i, BigInt(copied ? operation[1] : operation.length), true);
  });
  return joined([head, ...inserts]);
}
