/** Signatures, and the files beside a stream: withdrawn items, catalogues and vectors. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';

import { openSigned, openStream } from '../elasticrec-device.js';
import { refused } from './expectations.js';
import { draw, small } from './sample-stream.js';
import { crc32, cutsOf, keyPair, vectorFile, withdrawnFile, write } from './stream-bytes.js';

const numbersOf = ({ items }) => items.map(({ number }) => number);

describe('files beside the stream', () => {
  const { head } = small(),
    file = write(small());

  test('withdrawn items are not listed, and count in a history', async () => {
    const stream = openStream(file),
      before = numbersOf(stream.recommend());
    await stream.withdraw(withdrawnFile(head, [0, 2]));
    assert.deepEqual(
      numbersOf(stream.recommend()),
      before.filter((item) => item % 2),
    );
    assert.deepEqual(stream.recommend({ history: [0] }).unknown, 0);
    await stream.withdraw(withdrawnFile(head, []).buffer);
    assert.deepEqual(numbersOf(stream.recommend()), before);
  });

  test('a catalogue is taken by its hash', async () => {
    const ids = Array.from({ length: head.V }, (_, i) => `é${i}`),
      titles = [null, ...ids.slice(1)];
    const model_id = openStream(file).info().modelId;
    const sound = { format: 'elasticrec catalogue 1', model_id, id_kind: 'text', ids, titles };
    const opened = (text) =>
      openStream(write(small({ ...head, catalogue: createHash('sha256').update(text).digest() })));
    const text = JSON.stringify(sound),
      stream = opened(text);
    assert.deepEqual(await stream.catalogue(text), { ids, titles });
    assert.deepEqual((await stream.catalogue(Buffer.from(text))).ids, ids);
    await refused(() => stream.catalogue(`${text} `), 'SHA-256');
    await refused(() => openStream(file).catalogue(text), 'expected null');
    for (const odd of [{ ...sound, ids: ['0'] }, { ...sound, more: 1 }, null, { ...sound, titles: 0 }]) {
      const other = JSON.stringify(odd);
      await refused(() => opened(other).catalogue(other), 'catalogue: found other JSON');
    }
  });

  test('a vector is a person of the second kind', async () => {
    const halves = [0x3c00, 0, 0, 0, 0, 0, 0, 0x8001],
      vector = vectorFile(head, halves);
    const stream = openStream(file),
      flipped = vector.slice();
    flipped[50] ^= 1;
    assert.deepEqual(
      stream.recommend({ vector }),
      stream.recommend({ vector: Buffer.from(vector) }),
    );
    await refused(() => stream.recommend({ vector: flipped }), 'CRC of the vector');
    await refused(() => stream.recommend({ vector: vectorFile(head, [0]) }), 'found 1, expected 8');
  });
});

describe('signatures', () => {
  const { privateKey, publicKey } = keyPair(),
    sample = draw(30, {}, 40);
  const signed = write(sample, privateKey),
    unsigned = write(sample),
    cuts = cutsOf(signed);
  const least = cuts[sample.least + 1];

  test('every prefix is verified, and the chunks that come later', async () => {
    const stream = await openSigned(signed.slice(0, least), publicKey);
    assert.equal(stream.info().signed, true);
    for (let length = least; length <= signed.length; length += 37) {
      await Promise.all([
        stream.refresh(signed.slice(0, length)),
        stream.refresh(signed.slice(0, length)),
      ]);
      assert.deepEqual(stream.recommend(), openStream(signed.slice(0, length)).recommend());
    }
    await refused(() => openSigned(unsigned, publicKey), 'signature of the head: found none');
    await refused(() => openSigned(signed, keyPair().publicKey), 'found a wrong one');
  });

  test('a chunk with a right CRC and another content is refused where it comes', async () => {
    const stream = await openSigned(signed.slice(0, least), publicKey),
      before = stream.recommend();
    const other = signed.slice(),
      at = cuts.at(-2),
      chunk = other.subarray(at);
    chunk[33] ^= 1;
    chunk.fill(0, 16, 20);
    new DataView(other.buffer).setUint32(at + 16, crc32(chunk), true);
    await refused(() => openSigned(other, publicKey), `SHA-256 of the chunk at byte ${at}`);
    await refused(() => stream.refresh(other), 'SHA-256');
    assert.deepEqual(stream.recommend(), before);
  });

  test('a withdrawn list needs the key too', async () => {
    const stream = await openSigned(signed, publicKey),
      { head } = sample;
    await stream.withdraw(withdrawnFile(head, [0], privateKey));
    assert(!numbersOf(stream.recommend({ k: head.V })).includes(0));
    await refused(
      () => stream.withdraw(withdrawnFile(head, [])),
      'signature of the withdrawn list',
    );
    await refused(
      () => stream.withdraw(withdrawnFile(head, [], keyPair().privateKey)),
      'wrong one',
    );
    assert(!numbersOf(stream.recommend({ k: head.V })).includes(0));
  });

  test('what a platform lacks is said, and nothing is taken unverified', async () => {
    const there = Object.getOwnPropertyDescriptor(globalThis, 'crypto'),
      real = globalThis.crypto;
    const fake = (value) =>
      Object.defineProperty(globalThis, 'crypto', { value, configurable: true });
    const importKey = async () => {
      throw new DOMException('Unrecognized name', 'NotSupportedError');
    };
    try {
      fake(undefined);
      await assert.rejects(openSigned(signed, publicKey), /found no WebCrypto, expected one/);
      await assert.rejects(openStream(signed).catalogue('{}'), /found no WebCrypto/);
      assert(openStream(signed).info().signed === false);
      fake({ subtle: { digest: (...words) => real.subtle.digest(...words), importKey } });
      await assert.rejects(openSigned(signed, publicKey), /does not support Ed25519: NotSupp/);
    } finally {
      Object.defineProperty(globalThis, 'crypto', there);
    }
    await assert.rejects(
      openSigned(signed, publicKey.slice(1)),
      /key: found .*, expected 32 bytes/,
    );
    await assert.rejects(openSigned(signed), TypeError);
  });
});
