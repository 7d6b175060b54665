/** The runtime against answers known beforehand: a bundle ranked by hand, ids, other files. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { applyPatch, BundleError, openBundle, readBundle } from './elasticrec-device.js';
import { distinct, refused } from './testing/expectations.js';
import {
  crc32,
  draw,
  generator,
  joined,
  patchFile,
  sha256,
  vectorFile,
  write,
} from './testing/sample-bundle.js';

/** One group, one block, depth 1, three items: small enough to be ranked by hand. */
const byHand = () =>
  draw(0, {
    N: 1,
    sizes: [3],
    depths: [[1]],
    neighbours: [1],
    person: 0,
    scaled: 0,
    map: undefined,
    withdrawn: [],
    means: [new Uint16Array(8), Uint16Array.from({ length: 8 }, () => 0x3c00)],
    scales: Float32Array.of(9, 9, 0.5),
    K: 0,
    steps: new Float32Array(36).fill(1),
    gains: Float32Array.from({ length: 256 }, (_, i) => i),
    votes: Float32Array.from({ length: 16 }, (_, i) => i),
    weights: [[0.25, 2]],
    q: [Uint8Array.of(1, 2, 1)],
    columns: [[Uint8Array.of(0b11111111, 0b00001111, 0b00000001)]],
    slots: [[[{ number: 2, weight: 3 }], [{ number: 0, weight: 1 }], [{ number: 0, weight: 0 }]]],
  });

describe('a bundle ranked by hand', () => {
  const spec = byHand(),
    bundle = readBundle(write(spec));

  test('a person of whom nothing is known gets the stored vector', () => {
    // u is all ones: each item scores gain * 0.5 * (set bits - clear bits)
    assert.deepEqual(bundle.recommend(), {
      unknown: 0,
      items: [
        { id: 0, number: 0, score: 4 },
        { id: 1, number: 1, score: 0 },
        { id: 2, number: 2, score: -3 },
      ],
    });
  });

  test('a history gives a direction, and votes', () => {
    // item 2 is (1, -1 ... -1) / 2, so u = (1, -1 ... -1) / sqrt(8); it votes 2 * 3 for item 0
    const { items, unknown } = bundle.recommend({ history: [2, 2n, 77, -1, 1.5, 'x'], why: true });
    const unit = Math.fround(1 / Math.sqrt(8));
    assert.equal(unknown, 4);
    assert.deepEqual(
      items.map(({ id, why }) => [id, why]),
      [
        [0, 2],
        [1, null],
      ],
    );
    assert(Math.abs(items[0].score - (6 - (6 * unit) / 2)) < 1e-6);
    assert(Math.abs(items[1].score - 2 * unit) < 1e-6);
  });

  test('a server vector is used as it is, with its own vote weight', () => {
    const halves = Uint16Array.from({ length: 8 }, (_, j) => (j === 7 ? 0x3c00 : 0));
    const { items } = bundle.recommend({
      user: vectorFile(spec, halves),
      history: [2],
      repeat: true,
    });
    assert.deepEqual(
      items.map(({ id, score }) => [id, score]),
      [
        [0, 0.5 + 0.25 * 3],
        [2, -0.5],
        [1, -1],
      ],
    );
  });

  test('what is excluded, not allowed or not asked for is not listed', () => {
    const ids = (ask) => bundle.recommend(ask).items.map(({ id }) => id);
    assert.deepEqual(ids({ exclude: [0, 99] }), [1, 2]);
    assert.deepEqual(ids({ only: [2, 0, 99] }), [0, 2]);
    assert.deepEqual(ids({ only: [] }), []);
    assert.deepEqual(ids({ k: 1 }), [0]);
    assert.deepEqual(ids({ k: 0 }), []);
    assert.throws(() => bundle.recommend({ k: 1.5 }), RangeError);
    assert.throws(() => bundle.recommend({ k: -1 }), RangeError);
  });

  test('similar items leave out the item itself; an unknown one is refused', () => {
    assert.deepEqual(
      bundle.similar(2).items.map(({ id }) => id),
      [0, 1],
    );
    assert.equal(bundle.similar(2, 1).items.length, 1);
    refused(() => bundle.similar(3), /item 3/);
  });

  test('words stand for more than signs', () => {
    // u is all ones: each item scores gain * 0.5 * the sum of its two words' numbers
    const words = [new Int8Array(256)];
    words[0].set([0, 0, 0, 0, 0, 0, 0, -7], 8 * 0b1111);
    words[0].set([127, -128, 1, 2, 3, 4, 5, 13], 8 * (16 + 0b1111));
    const [letters, scales] = [new Int8Array(2048), Float32Array.of(0.5, 9, 9)];
    const worded = readBundle(write({ ...spec, K: 1, words, letters, scales }));
    assert.deepEqual(
      worded.recommend().items.map(({ id, score }) => [id, score]),
      [
        [0, 10],
        [2, 0],
        [1, -7],
      ],
    );
    // item 1 is (0 ... 0, -7), so u = (0 ... 0, -1); it has no vote
    assert.deepEqual(
      worded.recommend({ history: [1] }).items.map(({ id, score }) => [id, score]),
      [
        [2, 0],
        [0, -3],
      ],
    );
  });

  test('the file tells about itself', () => {
    const about = bundle.info();
    assert.deepEqual([about.version, about.wordLists], [3, 0]);
    assert.equal(about.items, 3);
    assert.equal(about.dimensions, 8);
    assert.equal(about.modelId, Buffer.from(spec.modelId).toString('hex'));
    assert.equal(about.catalogue, null);
    assert.equal(about.trained, 1_600_000_000);
    assert.deepEqual([about.person, about.idKind, about.voteScale], ['history', 'dense', 'none']);
    assert.deepEqual(about.groups, [{ size: 3, depths: [1], neighbours: 1, weights: [0.25, 2] }]);
    assert.deepEqual(about.meta, { name: 'sample', quality: null });
  });
});

describe('ids', () => {
  const shape = { N: 1, sizes: [4], depths: [[2]], neighbours: [1], withdrawn: [] };
  const open = (idKind, ids) => readBundle(write(draw(3, { ...shape, idKind, ids })));
  const roundTrip = (bundle, ids) =>
    ids.forEach((id, i) => {
      assert.equal(bundle.number(id), i);
      assert.strictEqual(bundle.id(i), id);
    });

  test('u32, as number and as bigint', () => {
    const ids = [7, 4294967295, 0, 1000],
      bundle = open(1, ids);
    roundTrip(bundle, ids);
    assert.equal(bundle.number(7n), 0);
    for (const unknown of [8, -1, 7.5, '7', 4294967296, 2n ** 70n, NaN])
      assert.equal(bundle.number(unknown), -1);
    assert(!bundle.recommend({ history: [7] }).items.some(({ id }) => id === 7));
  });

  test('u64, bigint beyond 2^53 - 1', () => {
    const ids = [2n ** 64n - 1n, 5, 2n ** 53n, Number.MAX_SAFE_INTEGER],
      bundle = open(2, ids);
    roundTrip(bundle, ids);
    assert.equal(bundle.number(5n), 1);
    assert.equal(
      bundle.number(2 ** 53),
      -1,
      'a number that may be another id is not taken for one',
    );
    assert.deepEqual(bundle.recommend({ history: [5, 2n ** 53n, 6] }).unknown, 1);
  });

  test('strings, by bytes', () => {
    const ids = ['\ufeffé', 'B00\u{1f600}', 'ff', '\uffff'],
      bundle = open(3, ids);
    roundTrip(bundle, ids);
    for (const unknown of ['', 'é', 'B00', '\ud800', 5]) assert.equal(bundle.number(unknown), -1);
  });

  test('many of each kind are found', () => {
    const rng = generator(1),
      V = 3000,
      sizes = [V],
      wide = { ...shape, sizes };
    const u32 = distinct(Array.from({ length: 2 * V }, () => rng.below(2 ** 32)))
      .slice(0, V)
      .sort(() => rng() - 0.5);
    const kinds = {
      1: u32,
      2: u32.map((id) => BigInt(id) ** 2n),
      3: u32.map((id) => id.toString(36)),
    };
    for (const [kind, ids] of Object.entries(kinds)) {
      const bundle = readBundle(write(draw(1, { ...wide, idKind: Number(kind), ids })));
      ids.forEach((id, i) => assert.equal(bundle.number(id), i));
    }
  });

  test('an id that occurs twice is refused at first use', () => {
    for (const [kind, ids] of [
      [1, [5, 6, 5, 7]],
      [2, [2n ** 60n, 1, 2, 2n ** 60n]],
      [3, ['a', 'b', 'ab', 'b']],
    ]) {
      const bundle = open(kind, ids);
      refused(() => bundle.recommend({ history: [ids[1]] }), /occurs twice/);
    }
  });
});

describe('files beside the bundle', () => {
  const catalogue = (modelId, ids) =>
    JSON.stringify({
      format: 'elasticrec catalogue 1',
      model_id: Buffer.from(modelId).toString('hex'),
      id_kind: 'integer',
      ids,
      titles: ids.map((id) => (id === '1' ? null : `Title ${id} é`)),
    });
  const { modelId } = byHand(),
    text = catalogue(modelId, ['0', '1', '2']);
  const spec = { ...byHand(), catalogue: Buffer.from(sha256(text), 'hex') },
    file = write(spec);

  test('the whole file is checked by its hash', async () => {
    assert.equal(
      (await openBundle(file.buffer, { sha256: sha256(file).toUpperCase() })).info().items,
      3,
    );
    assert.equal((await openBundle(file)).info().items, 3);
    await assert.rejects(openBundle(file, { sha256: sha256(text) }), BundleError);
  });

  test('a Buffer of Node is read, and left as it was', async () => {
    const buffer = Buffer.from(file);
    const vectorBuffer = Buffer.from(vectorFile(spec, new Uint16Array(8)));
    const copies = [Buffer.from(buffer), Buffer.from(vectorBuffer)].map((bytes) =>
      bytes.toString('hex'),
    );
    const bundle = await openBundle(buffer, { sha256: sha256(file) });
    assert.equal(bundle.recommend({ user: vectorBuffer }).items.length, 3);
    assert.deepEqual(
      [buffer, vectorBuffer].map((bytes) => bytes.toString('hex')),
      copies,
    );
    const patch = Buffer.from(patchFile(buffer, buffer, [[0, buffer.length]]));
    assert.deepEqual(new Uint8Array(await applyPatch(buffer, patch)), file);
  });

  test('a catalogue is taken by its hash', async () => {
    const bundle = readBundle(file);
    assert.deepEqual((await bundle.catalogue(text)).titles, ['Title 0 é', null, 'Title 2 é']);
    assert.deepEqual((await bundle.catalogue(new TextEncoder().encode(text))).ids, ['0', '1', '2']);
    await assert.rejects(bundle.catalogue(`${text} `), BundleError);
    await assert.rejects(readBundle(write(byHand())).catalogue(text), /expected none/);
    for (const wrong of [
      catalogue(new Uint8Array(32), ['0', '1', '2']),
      catalogue(modelId, ['0', '1']),
      '[]',
      '{}',
      '{',
    ]) {
      const other = write({ ...spec, catalogue: Buffer.from(sha256(wrong), 'hex') });
      await assert.rejects(readBundle(other).catalogue(wrong), BundleError);
    }
  });

  test('where a page has no WebCrypto a hash is never taken unchecked', async () => {
    const there = Object.getOwnPropertyDescriptor(globalThis, 'crypto');
    Object.defineProperty(globalThis, 'crypto', {
      value: undefined,
      configurable: true,
      writable: true,
    });
    try {
      await assert.rejects(openBundle(file, { sha256: sha256(file) }), /no WebCrypto/);
      await assert.rejects(readBundle(file).catalogue(text), /no WebCrypto/);
      assert.equal((await openBundle(file)).recommend().items.length, 3);
    } finally {
      if (there) Object.defineProperty(globalThis, 'crypto', there);
      else delete globalThis.crypto;
    }
  });

  test('a vector of another model, width, length or checksum is refused', () => {
    const bundle = readBundle(file),
      halves = new Uint16Array(8),
      good = vectorFile(spec, halves);
    const changed = (at, value) => {
      const bad = good.slice();
      bad[at] = value;
      bad.fill(0, 12, 16);
      new DataView(bad.buffer).setUint32(12, crc32(bad), true);
      return bad;
    };
    bundle.recommend({ user: good });
    bundle.recommend({ user: good.buffer });
    refused(() => bundle.recommend({ user: changed(20, good[20] ^ 1) }), /model/);
    refused(() => bundle.recommend({ user: changed(0, 1) }), /first bytes/);
    refused(() => bundle.recommend({ user: changed(8, 2) }), /version/);
    refused(() => bundle.recommend({ user: vectorFile(spec, new Uint16Array(16)) }), /dimensions/);
    refused(() =>
      bundle.recommend({
        user: vectorFile(
          spec,
          Uint16Array.from(halves, () => 0x7c00),
        ),
      }),
    );
    refused(() => bundle.recommend({ user: good.slice(0, 60) }));
    refused(() => bundle.recommend({ user: new Uint8Array(0) }));
    const flipped = good.slice();
    flipped[50] ^= 1;
    refused(() => bundle.recommend({ user: flipped }), /checksum/);
  });

  test('a patch makes the new file, or nothing', async () => {
    const old = file,
      made = write(draw(9)),
      part = made.subarray(300);
    const patch = patchFile(old, joined([old.subarray(0, 100), part, old.subarray(200, 260)]), [
      [0, 100],
      part,
      [200, 60],
    ]);
    const result = new Uint8Array(await applyPatch(old.buffer, patch));
    assert.deepEqual(result, joined([old.subarray(0, 100), part, old.subarray(200, 260)]));
    await assert.rejects(applyPatch(made, patch), BundleError);
    for (let cut = 0; cut < 160; cut++)
      await assert.rejects(applyPatch(old, patch.subarray(0, cut)), BundleError);
    const twice = patchFile(old, joined([old, old]), [
      [0, old.length],
      [0, old.length],
    ]);
    await assert.rejects(applyPatch(old, twice), BundleError);
    const rng = generator(4);
    for (let i = 0; i < 500; i++) {
      const bad = patch.slice(),
        at = rng.below(160);
      bad[at] ^= 1 << rng.below(8);
      await assert.rejects(applyPatch(old, bad), BundleError, `byte ${at}`);
    }
  });
});
