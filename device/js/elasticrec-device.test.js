/** The runtime against known answers, its slow twin, the golden files, hostile files and mutations. */

import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';

import { applyPatch, BundleError, openBundle, readBundle } from './elasticrec-device.js';
import { listOf, personOf, scoresOf, vector, whyOf } from './plain-ranking.js';
import {
  assemble, crc32, draw, generator, joined, patchFile, seal, sections, sha256, vectorFile, write,
} from './sample-bundle.js';

globalThis.crypto ??= webcrypto; // Node 18 hides it

const MUTATIONS = Number(process.env.MUTATIONS ?? 4000);
const folder = (name) => new URL(`../${name}/`, import.meta.url);
const load = (name, where) => new Uint8Array(readFileSync(new URL(where, folder(name))));
const refused = (act, message) => assert.throws(act, (error) => {
  assert(error instanceof BundleError, `${error?.stack}`);
  if (message) assert.match(error.message, message);
  return true;
});
const bits = (score) => {
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, score);
  return view.getUint32(0).toString(16).padStart(8, '0');
};
/** The score of every item by its number; of those that are never listed, what the twin says. */
const allScores = (bundle, known, twin) => {
  const scores = twin.slice(), { items } = bundle.recommend({ ...known, k: twin.length, repeat: true });
  for (const { number, score } of items) scores[number] = score;
  return scores;
};
const distinct = (numbers) => [...new Set(numbers)].sort((a, b) => a - b);

/** One group, one block, depth 1, three items: small enough to be ranked by hand. */
const byHand = () => draw(0, {
  N: 1, sizes: [3], depths: [[1]], neighbours: [1], person: 0, scaled: 0, map: undefined, withdrawn: [],
  means: [new Uint16Array(8), Uint16Array.from({ length: 8 }, () => 0x3c00)],
  sigma: Float32Array.of(0.5), steps: new Float32Array(36).fill(1),
  gains: Float32Array.from({ length: 256 }, (_, i) => i), votes: Float32Array.from({ length: 16 }, (_, i) => i),
  weights: [[0.25, 2]],
  q: [Uint8Array.of(1, 2, 1)], columns: [[Uint8Array.of(0b11111111, 0b00001111, 0b00000001)]],
  slots: [[[{ number: 2, weight: 3 }], [{ number: 0, weight: 1 }], [{ number: 0, weight: 0 }]]],
});

describe('a bundle ranked by hand', () => {
  const spec = byHand(), bundle = readBundle(write(spec));

  test('a person of whom nothing is known gets the stored vector', () => {
    // u is all ones: each item scores gain * 0.5 * (set bits - clear bits)
    assert.deepEqual(bundle.recommend(), {
      unknown: 0,
      items: [{ id: 0, number: 0, score: 4 }, { id: 1, number: 1, score: 0 }, { id: 2, number: 2, score: -3 }],
    });
  });

  test('a history gives a direction, and votes', () => {
    // item 2 is (1, -1 ... -1) / 2 of length sqrt(2), so u = (1, -1 ... -1) / sqrt(8); it votes 2 * 3 for item 0
    const { items, unknown } = bundle.recommend({ history: [2, 2n, 77, -1, 1.5, 'x'], why: true });
    const unit = Math.fround(1 / Math.sqrt(8));
    assert.equal(unknown, 4);
    assert.deepEqual(items.map(({ id, why }) => [id, why]), [[0, 2], [1, null]]);
    assert(Math.abs(items[0].score - (6 - 6 * unit / 2)) < 1e-6);
    assert(Math.abs(items[1].score - 2 * unit) < 1e-6);
  });

  test('a server vector is used as it is, with its own vote weight', () => {
    const halves = Uint16Array.from({ length: 8 }, (_, j) => (j === 7 ? 0x3c00 : 0));
    const { items } = bundle.recommend({ user: vectorFile(spec, halves), history: [2], repeat: true });
    assert.deepEqual(items.map(({ id, score }) => [id, score]), [[0, 0.5 + 0.25 * 3], [2, -0.5], [1, -1]]);
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
    assert.deepEqual(bundle.similar(2).items.map(({ id }) => id), [0, 1]);
    assert.equal(bundle.similar(2, 1).items.length, 1);
    refused(() => bundle.similar(3), /item 3/);
  });

  test('the file tells about itself', () => {
    const about = bundle.info();
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

describe('against the slow twin', () => {
  test('scores are equal bit by bit, lists and reasons too', () => {
    for (let seed = 0; seed < 80; seed++) {
      const spec = draw(seed), bundle = readBundle(write(spec)), rng = generator(seed + 1000);
      for (const length of [0, 1, 2, 7]) {
        const history = Array.from({ length }, () => rng.below(spec.V)), held = distinct(history);
        const halves = rng.below(2) ? Uint16Array.from({ length: spec.D }, () => 0x3000 + rng.below(0x800)) : undefined;
        const known = { history, user: halves && vectorFile(spec, halves) };
        const scores = scoresOf(spec, personOf(spec, held, halves), held, halves !== undefined);
        assert.deepEqual(Array.from(allScores(bundle, known, scores), bits), Array.from(scores, (score) => bits(score + 0)), `seed ${seed}`);
        const exclude = [rng.below(spec.V)], k = 1 + rng.below(spec.V), repeat = rng.below(2) === 1;
        const { items } = bundle.recommend({ ...known, k, exclude, repeat, why: true });
        assert.deepEqual(items.map(({ number }) => number), listOf(spec, scores, k, repeat ? exclude : [...held, ...exclude]));
        for (const { number, score, why } of items) {
          assert.equal(score, scores[number] + 0);
          assert.equal(why, whyOf(spec, number, held));
        }
      }
    }
  });

  test('groups longer than a stretch, and lists longer than what is kept at once', () => {
    const spec = draw(5, { N: 1, sizes: [4500, 3, 2049], depths: [[3], [0], [2]], neighbours: [2, 1, 0] });
    const bundle = readBundle(write(spec)), held = [7, 4400, 4501];
    const scores = scoresOf(spec, personOf(spec, held), held, false);
    assert.deepEqual(allScores(bundle, { history: held }, scores), scores);
    for (const k of [1, 100, 1500, 6552, 10_000]) {
      const { items } = bundle.recommend({ history: held, k });
      assert.deepEqual(items.map(({ number }) => number), listOf(spec, scores, k, held));
    }
  });

  test('equal scores come by rising number', () => {
    const flat = { N: 1, sizes: [3000, 50], depths: [[0], [0]], neighbours: [1, 1], weights: [[0, 0], [0, 0]], withdrawn: [] };
    const spec = draw(1, { ...flat, means: Array.from({ length: 3 }, () => new Uint16Array(8)) });
    const { items } = readBundle(write(spec)).recommend({ k: 2500 });
    assert.deepEqual(items.map(({ number }) => number), Array.from({ length: 2500 }, (_, i) => i));
  });

  test('similar items are those of the direction of the item', () => {
    for (let seed = 0; seed < 20; seed++) {
      const spec = draw(seed), item = seed % spec.V, x = vector(spec, item);
      const length = Math.sqrt(x.reduce((sum, value) => sum + value * value, 0));
      const u = Float32Array.from(x, (value) => (length > 0 ? value / length : value));
      const list = listOf(spec, scoresOf(spec, u, [item], false), 10, [item]);
      assert.deepEqual(readBundle(write(spec)).similar(item, 10).items.map(({ number }) => number), list);
    }
  });
});

describe('ids', () => {
  const shape = { N: 1, sizes: [4], depths: [[2]], neighbours: [1], withdrawn: [] };
  const open = (idKind, ids) => readBundle(write(draw(3, { ...shape, idKind, ids })));
  const roundTrip = (bundle, ids) => ids.forEach((id, i) => {
    assert.equal(bundle.number(id), i);
    assert.strictEqual(bundle.id(i), id);
  });

  test('u32, as number and as bigint', () => {
    const ids = [7, 4294967295, 0, 1000], bundle = open(1, ids);
    roundTrip(bundle, ids);
    assert.equal(bundle.number(7n), 0);
    for (const unknown of [8, -1, 7.5, '7', 4294967296, 2n ** 70n, NaN]) assert.equal(bundle.number(unknown), -1);
    assert(!bundle.recommend({ history: [7] }).items.some(({ id }) => id === 7));
  });

  test('u64, bigint beyond 2^53 - 1', () => {
    const ids = [2n ** 64n - 1n, 5, 2n ** 53n, Number.MAX_SAFE_INTEGER], bundle = open(2, ids);
    roundTrip(bundle, ids);
    assert.equal(bundle.number(5n), 1);
    assert.equal(bundle.number(2 ** 53), -1, 'a number that may be another id is not taken for one');
    assert.deepEqual(bundle.recommend({ history: [5, 2n ** 53n, 6] }).unknown, 1);
  });

  test('strings, by bytes', () => {
    const ids = ['\ufeffé', 'B00\u{1f600}', 'ff', '\uffff'], bundle = open(3, ids);
    roundTrip(bundle, ids);
    for (const unknown of ['', 'é', 'B00', '\ud800', 5]) assert.equal(bundle.number(unknown), -1);
  });

  test('many of each kind are found', () => {
    const rng = generator(1), V = 3000, sizes = [V], wide = { ...shape, sizes };
    const u32 = distinct(Array.from({ length: 2 * V }, () => rng.below(2 ** 32))).slice(0, V).sort(() => rng() - 0.5);
    const kinds = { 1: u32, 2: u32.map((id) => BigInt(id) ** 2n), 3: u32.map((id) => id.toString(36)) };
    for (const [kind, ids] of Object.entries(kinds)) {
      const bundle = readBundle(write(draw(1, { ...wide, idKind: Number(kind), ids })));
      ids.forEach((id, i) => assert.equal(bundle.number(id), i));
    }
  });

  test('an id that occurs twice is refused at first use', () => {
    for (const [kind, ids] of [[1, [5, 6, 5, 7]], [2, [2n ** 60n, 1, 2, 2n ** 60n]], [3, ['a', 'b', 'ab', 'b']]]) {
      const bundle = open(kind, ids);
      refused(() => bundle.recommend({ history: [ids[1]] }), /occurs twice/);
    }
  });
});

describe('files beside the bundle', () => {
  const catalogue = (modelId, ids) => JSON.stringify({
    format: 'elasticrec catalogue 1', model_id: Buffer.from(modelId).toString('hex'),
    id_kind: 'integer', ids, titles: ids.map((id) => (id === '1' ? null : `Title ${id} é`)),
  });
  const { modelId } = byHand(), text = catalogue(modelId, ['0', '1', '2']);
  const spec = { ...byHand(), catalogue: Buffer.from(sha256(text), 'hex') }, file = write(spec);

  test('the whole file is checked by its hash', async () => {
    assert.equal((await openBundle(file.buffer, { sha256: sha256(file).toUpperCase() })).info().items, 3);
    assert.equal((await openBundle(file)).info().items, 3);
    await assert.rejects(openBundle(file, { sha256: sha256(text) }), BundleError);
  });

  test('a catalogue is taken by its hash', async () => {
    const bundle = readBundle(file);
    assert.deepEqual((await bundle.catalogue(text)).titles, ['Title 0 é', null, 'Title 2 é']);
    assert.deepEqual((await bundle.catalogue(new TextEncoder().encode(text))).ids, ['0', '1', '2']);
    await assert.rejects(bundle.catalogue(`${text} `), BundleError);
    await assert.rejects(readBundle(write(byHand())).catalogue(text), /expected none/);
    for (const wrong of [catalogue(new Uint8Array(32), ['0', '1', '2']), catalogue(modelId, ['0', '1']), '[]', '{}', '{']) {
      const other = write({ ...spec, catalogue: Buffer.from(sha256(wrong), 'hex') });
      await assert.rejects(readBundle(other).catalogue(wrong), BundleError);
    }
  });

  test('where a page has no WebCrypto a hash is never taken unchecked', async () => {
    const there = Object.getOwnPropertyDescriptor(globalThis, 'crypto');
    Object.defineProperty(globalThis, 'crypto', { value: undefined, configurable: true, writable: true });
    try {
      await assert.rejects(openBundle(file, { sha256: sha256(file) }), /no WebCrypto/);
      await assert.rejects(readBundle(file).catalogue(text), /no WebCrypto/);
      assert.equal((await openBundle(file)).recommend().items.length, 3);
    } finally {
      if (there) Object.defineProperty(globalThis, 'crypto', there); else delete globalThis.crypto;
    }
  });

  test('a vector of another model, width, length or checksum is refused', () => {
    const bundle = readBundle(file), halves = new Uint16Array(8), good = vectorFile(spec, halves);
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
    refused(() => bundle.recommend({ user: vectorFile(spec, Uint16Array.from(halves, () => 0x7c00)) }));
    refused(() => bundle.recommend({ user: good.slice(0, 60) }));
    refused(() => bundle.recommend({ user: new Uint8Array(0) }));
    const flipped = good.slice();
    flipped[50] ^= 1;
    refused(() => bundle.recommend({ user: flipped }), /checksum/);
  });

  test('a patch makes the new file, or nothing', async () => {
    const old = file, made = write(draw(9)), part = made.subarray(300);
    const patch = patchFile(old, joined([old.subarray(0, 100), part, old.subarray(200, 260)]), [[0, 100], part, [200, 60]]);
    const result = new Uint8Array(await applyPatch(old.buffer, patch));
    assert.deepEqual(result, joined([old.subarray(0, 100), part, old.subarray(200, 260)]));
    await assert.rejects(applyPatch(made, patch), BundleError);
    for (let cut = 0; cut < 160; cut++) await assert.rejects(applyPatch(old, patch.subarray(0, cut)), BundleError);
    const twice = patchFile(old, joined([old, old]), [[0, old.length], [0, old.length]]);
    await assert.rejects(applyPatch(old, twice), BundleError);
    const rng = generator(4);
    for (let i = 0; i < 500; i++) {
      const bad = patch.slice(), at = rng.below(160);
      bad[at] ^= 1 << rng.below(8);
      await assert.rejects(applyPatch(old, bad), BundleError, `byte ${at}`);
    }
  });
});

describe('opening', () => {
  test('bytes may start anywhere, and are not copied', () => {
    const spec = draw(11, { N: 32, sizes: [40_000], depths: [Array(32).fill(1)], neighbours: [4] }), file = write(spec);
    const shifted = new Uint8Array(file.length + 3).subarray(3);
    shifted.set(file);
    const before = process.memoryUsage().arrayBuffers, bundle = readBundle(shifted);
    const { items } = bundle.recommend({ history: [1, 2, 3], k: 100 }), grown = process.memoryUsage().arrayBuffers - before;
    assert.deepEqual(items, readBundle(file.buffer).recommend({ history: [1, 2, 3], k: 100 }).items);
    assert(grown < 2_500_000, `${grown} bytes beside a file of ${file.length}`);
  });

  test('each broken rule is refused by its name', () => {
    const spec = draw(2, { N: 2, sizes: [5, 9], depths: [[1, 2], [0, 0]], neighbours: [2, 1], withdrawn: [1, 4], map: new Uint16Array(256) });
    const change = (kind, edit) => {
      const parts = sections(spec);
      parts[kind] = edit(parts[kind].slice()) ?? parts[kind];
      return assemble(parts, spec.modelId);
    };
    const byte = (kind, at, value) => change(kind, (part) => (part[at] = value, part));
    const cases = [
      [byte(1, 8, 4), /numbers per block/], [byte(1, 9, 4), /id kind/], [byte(1, 9, 1), /IDS/], [byte(1, 10, 2), /person/],
      [byte(1, 11, 2), /vote scale/], [byte(1, 12, 1), /reserved/], [byte(1, 63, 1), /reserved/], [byte(1, 0, 13), /group/],
      [byte(1, 22, 1), /date/], [byte(2, 0, 65), /META/], [byte(3, 0, 4), /items/], [byte(3, 4, 17), /neighbours/],
      [byte(3, 11, 0x7f), /vote weight/], [byte(3, 32, 9), /depth/], [byte(3, 32, 2), /CODES/], [byte(4, 1, 0x7c), /MEANS/],
      [byte(5, 3, 0xff), /DECODE/], [byte(5, 8 + 144 + 1024, 1), /vote of weight 0/],
      [change(6, (part) => joined([part, Uint8Array.of(0)])), /CODES/], [change(7, (part) => part.subarray(1)), /NEIGHBOURS/],
      [change(8, () => new Uint8Array(100)), /MAP/], [change(10, (part) => part.fill(0)), /withdrawn/],
    ];
    for (const [file, message] of cases) refused(() => readBundle(file), message);
    for (const lost of [1, 2, 3, 4, 5, 6, 7]) {
      const { [lost]: _, ...parts } = { 8: new Uint8Array(512), ...sections(spec) };
      refused(() => readBundle(assemble(parts, spec.modelId)));
    }
  });

  test('a file cut anywhere is refused', () => {
    const file = write(draw(2));
    for (let length = 0; length < file.length; length++) refused(() => readBundle(file.slice(0, length)));
  });

  test('mutations are opened or refused, and never fail otherwise', () => {
    const rng = generator(8), counts = { opened: 0, refused: 0 };
    const goldens = readdirSync(folder('conformance')).filter((name) => name.endsWith('.elastic'));
    const files = goldens.map((name) => load('conformance', name));
    for (let i = 0; i < MUTATIONS; i++) {
      const bad = files[i % files.length].slice();
      for (let n = rng.below(3); n >= 0; n--) mutate(bad, rng);
      const file = rng.below(10) ? bad : bad.slice(0, rng.below(bad.length));
      try {
        useAll(readBundle(file.length >= 64 ? seal(file) : file));
        counts.opened++;
      } catch (error) {
        assert(error instanceof BundleError, `mutation ${i}: ${error?.stack}`);
        counts.refused++;
      }
    }
    assert(counts.opened > MUTATIONS / 50 && counts.refused > MUTATIONS / 4, JSON.stringify(counts));
  });
});

/** Changes a byte, or puts a number that may hurt into a field: half of the time in a structured place. */
function mutate(file, rng) {
  const view = new DataView(file.buffer), count = view.getUint32(12, true) % 11, entry = 64 + 32 * rng.below(count || 1);
  const section = Number(view.getBigUint64(Math.min(entry, file.length - 32) + 8, true)) % file.length;
  const places = [rng.below(file.length), 8 * rng.below(8), entry + 8 * rng.below(4), section + 4 * rng.below(32)];
  const at = Math.min(places[rng.below(2) ? 0 : 1 + rng.below(3)], file.length - 8);
  const values = [0n, 1n, 255n, 0x7fffn, 0xffffn, 0x7f800000n, 0x7fc00000n, 0xffffffffn, 2n ** 40n, 2n ** 63n, 2n ** 64n - 1n];
  const act = rng.below(4), value = values[rng.below(values.length)];
  if (act === 0) file[at] ^= 1 << rng.below(8);
  else if (act === 1) file[at] = rng.below(256);
  else if (act === 2) view.setUint32(at, Number(BigInt.asUintN(32, value)), true);
  else view.setBigUint64(at, value, true);
}

/** Asks an open bundle for everything, and looks at the answers. */
function useAll(bundle) {
  const { items: V } = bundle.info(), id = bundle.id(0), history = [id, bundle.id(V - 1), 'unknown'];
  for (const { items } of [bundle.recommend({ history, k: 5, exclude: [bundle.id(V >> 1)], why: true }),
    bundle.recommend({ k: V }), bundle.similar(id, 3)]) {
    items.forEach(({ id: listed, number, score }, i) => {
      assert(Number.isFinite(score) && bundle.number(listed) === number);
      if (i > 0) assert(items[i - 1].score > score || (items[i - 1].score === score && items[i - 1].number < number));
    });
  }
}

describe('golden files', () => {
  const expected = JSON.parse(readFileSync(new URL('expected.json', folder('conformance')), 'utf8'));
  const idOf = (entry, id) => (entry.ids === 'strings' ? id : BigInt(id));

  for (const entry of expected.bundles) {
    test(`${entry.file}: ${entry.teaches}`, async () => {
      const bundle = await openBundle(load('conformance', entry.file), { sha256: entry.sha256 });
      const ids = (list) => list?.map((id) => idOf(entry, id)) ?? undefined;
      for (const q of entry.questions) {
        const answer = q.ask === 'similar' ? bundle.similar(idOf(entry, q.item), q.k) : bundle.recommend({
          history: ids(q.history), user: q.vector ? load('conformance', q.vector) : undefined, k: q.k,
          exclude: ids(q.exclude), only: ids(q.only), repeat: q.repeat, why: true,
        });
        assert.deepEqual(answer.items.map(({ id }) => String(id)), q.items);
        assert.deepEqual(answer.items.map(({ score }) => bits(score).replace('80000000', '00000000')),
          q.scores.map((score) => score.replace('80000000', '00000000')));
        if (q.ask === 'similar') continue;
        assert.equal(answer.unknown, q.unknown);
        assert.deepEqual(answer.items.map(({ why }) => (why === null ? null : String(why))), q.why);
      }
      refused(() => bundle.recommend({ user: load('conformance', expected.foreign_vector) }));
    });
  }

  test('catalogues belong to one bundle', async () => {
    const named = expected.bundles.filter(({ catalogue }) => catalogue);
    assert(named.length > 0);
    for (const { catalogue } of named) {
      for (const { file, catalogue: own } of expected.bundles) {
        const taken = readBundle(load('conformance', file)).catalogue(load('conformance', catalogue));
        if (own === catalogue) assert((await taken).ids.length > 0); else await assert.rejects(taken, BundleError);
      }
    }
  });

  test('upgrades', async () => {
    for (const { old, patch, new: made } of expected.upgrades) {
      const result = await applyPatch(load('conformance', old), load('conformance', patch));
      assert.deepEqual(new Uint8Array(result), load('conformance', made));
    }
  });
});

describe('hostile files', () => {
  const names = readdirSync(folder('hostile')), sound = load('hostile', 'sound.elastic');
  const of = (kind) => names.filter((name) => name.endsWith(kind) && !name.startsWith('sound'));

  test('the sound ones are taken', async () => {
    readBundle(sound).recommend({ user: load('hostile', 'sound.vector') });
    await applyPatch(sound, load('hostile', 'sound.patch'));
  });

  for (const name of of('.elastic')) {
    test(name, () => {
      const before = process.memoryUsage().arrayBuffers, file = load('hostile', name);
      if (name.startsWith('late-')) {
        refused(() => { const bundle = readBundle(file); bundle.number(bundle.id(0)); });
      } else refused(() => readBundle(file));
      assert(process.memoryUsage().arrayBuffers - before < 1_000_000 + 3 * file.length);
    });
  }

  test('vectors', () => {
    const bundle = readBundle(sound);
    for (const name of of('.vector')) refused(() => bundle.recommend({ user: load('hostile', name) }));
  });

  for (const name of of('.patch')) {
    test(name, () => assert.rejects(applyPatch(sound, load('hostile', name)), BundleError));
  }

  test('the sound bundle cut at every field', () => {
    const { truncated } = JSON.parse(readFileSync(new URL('expected.json', folder('hostile')), 'utf8'));
    assert(truncated.length > 0);
    for (const length of truncated) refused(() => readBundle(sound.slice(0, length)));
  });
});
