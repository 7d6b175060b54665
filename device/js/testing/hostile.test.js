/** What must be refused: broken rules, cut files, mutations and the shared hostile files. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';

import { applyPatch, BundleError, readBundle } from '../elasticrec-device.js';
import { folder, load, refused } from './expectations.js';
import { assemble, draw, generator, joined, seal, sections, write } from './sample-bundle.js';

const MUTATIONS = Number(process.env.MUTATIONS ?? 4000);

describe('opening', () => {
  test('bytes may start anywhere, and are not copied', () => {
    const spec = draw(11, { N: 32, sizes: [40_000], depths: [Array(32).fill(1)], neighbours: [4] }),
      file = write(spec);
    const shifted = new Uint8Array(file.length + 3).subarray(3);
    shifted.set(file);
    const before = process.memoryUsage().arrayBuffers,
      bundle = readBundle(shifted);
    const { items } = bundle.recommend({ history: [1, 2, 3], k: 100 }),
      grown = process.memoryUsage().arrayBuffers - before;
    assert.deepEqual(
      items,
      readBundle(file.buffer).recommend({ history: [1, 2, 3], k: 100 }).items,
    );
    assert(grown < 2_500_000, `${grown} bytes beside a file of ${file.length}`);
  });

  test('each broken rule is refused by its name', () => {
    const spec = draw(2, {
      N: 2,
      sizes: [5, 9],
      depths: [
        [1, 2],
        [0, 0],
      ],
      neighbours: [2, 1],
      withdrawn: [1, 4],
      map: new Uint16Array(256),
      K: 2,
    });
    const change = (kind, edit) => {
      const parts = sections(spec);
      parts[kind] = edit(parts[kind].slice()) ?? parts[kind];
      return assemble(parts, spec.modelId);
    };
    const byte = (kind, at, value) => change(kind, (part) => ((part[at] = value), part));
    const cases = [
      [byte(1, 8, 4), /numbers per block/],
      [byte(1, 9, 4), /id kind/],
      [byte(1, 9, 1), /IDS/],
      [byte(1, 10, 2), /person/],
      [byte(1, 11, 2), /vote scale/],
      [byte(1, 12, 3), /lists of words: 3, expected 0 to 2/],
      [byte(1, 13, 1), /lists of words: 258/],
      [byte(1, 12, 1), /WORDS: 3072, expected 2560/],
      [byte(1, 12, 0), /WORDS: 3072, expected undefined/],
      [byte(1, 14, 1), /reserved/],
      [byte(1, 15, 1), /reserved/],
      [byte(1, 63, 1), /reserved/],
      [byte(1, 0, 13), /group/],
      [byte(1, 22, 1), /date/],
      [byte(2, 0, 65), /META/],
      [byte(3, 0, 4), /items/],
      [byte(3, 4, 65), /neighbours/],
      [byte(3, 11, 0x7f), /vote weight/],
      [byte(3, 32, 9), /depth/],
      [byte(3, 32, 2), /CODES/],
      [byte(4, 1, 0x7c), /MEANS/],
      [byte(5, 3, 0xff), /DECODE/],
      [byte(5, 3, 0xc0), /DECODE/],
      [byte(5, 15, 0xc0), /DECODE/],
      [change(5, (part) => part.subarray(8)), /DECODE/],
      [byte(5, 24 + 144 + 1024, 1), /vote of weight 0/],
      [change(6, (part) => joined([part, Uint8Array.of(0)])), /CODES/],
      [change(7, (part) => part.subarray(1)), /NEIGHBOURS/],
      [change(8, () => new Uint8Array(100)), /MAP/],
      [change(10, (part) => part.fill(0)), /withdrawn/],
      [change(11, (part) => part.subarray(1)), /WORDS: 3071, expected 3072/],
      [change(11, (part) => joined([part, new Uint8Array(512)])), /WORDS: 3584, expected 3072/],
      [change(11, (part) => part.subarray(3072)), /WORDS: 0, expected 3072/],
    ];
    for (const [file, message] of cases) refused(() => readBundle(file), message);
    for (const lost of [1, 2, 3, 4, 5, 6, 7, 11]) {
      const { [lost]: _, ...parts } = { 8: new Uint8Array(512), ...sections(spec) };
      refused(() => readBundle(assemble(parts, spec.modelId)));
    }
  });

  test('words are there exactly where lists are', () => {
    const parts = (K) => sections(draw(2, { N: 2, K, map: undefined, withdrawn: [] })),
      open = (made) => readBundle(assemble(made, new Uint8Array(32)));
    const { 11: words, ...without } = parts(1);
    assert.equal(words.length, 2560);
    open({ ...without, 11: words });
    open({ ...without, 11: words.fill(0x80) });
    open(parts(0));
    refused(() => open(without), /WORDS: undefined, expected 2560/);
    refused(() => open({ ...parts(0), 11: words }), /WORDS: 2560, expected undefined/);
    refused(() => open({ ...parts(0), 11: new Uint8Array(0) }), /WORDS: 0, expected undefined/);
    refused(() => open({ ...without, 11: words, 12: words }), /kind of a section: 12/);
  });

  test('another version is refused by its name', () => {
    for (const version of [0, 2, 4, 0x103]) {
      const file = write(draw(2));
      new DataView(file.buffer).setUint16(8, version, true);
      refused(() => readBundle(seal(file)), new RegExp(`version.*: ${version}, expected 3`));
    }
  });

  test('a file cut anywhere is refused', () => {
    const file = write(draw(2));
    for (let length = 0; length < file.length; length++)
      refused(() => readBundle(file.slice(0, length)));
  });
});

describe('mutations', () => {
  test('mutations are opened or refused, and never fail otherwise', () => {
    const rng = generator(8),
      counts = { opened: 0, refused: 0 };
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
    assert(
      counts.opened > MUTATIONS / 50 && counts.refused > MUTATIONS / 4,
      JSON.stringify(counts),
    );
  });
});

/** Changes a byte or puts a bad number into a field, half of the time in a structured place. */
function mutate(file, rng) {
  const view = new DataView(file.buffer),
    count = view.getUint32(12, true) % 12,
    entry = 64 + 32 * rng.below(count || 1);
  const section =
    Number(view.getBigUint64(Math.min(entry, file.length - 32) + 8, true)) % file.length;
  const places = [
    rng.below(file.length),
    8 * rng.below(8),
    entry + 8 * rng.below(4),
    section + 4 * rng.below(32),
  ];
  const at = Math.min(places[rng.below(2) ? 0 : 1 + rng.below(3)], file.length - 8);
  const values = [
    0n,
    1n,
    255n,
    0x7fffn,
    0xffffn,
    0x7f800000n,
    0x7fc00000n,
    0xffffffffn,
    2n ** 40n,
    2n ** 63n,
    2n ** 64n - 1n,
  ];
  const act = rng.below(4),
    value = values[rng.below(values.length)];
  if (act === 0) file[at] ^= 1 << rng.below(8);
  else if (act === 1) file[at] = rng.below(256);
  else if (act === 2) view.setUint32(at, Number(BigInt.asUintN(32, value)), true);
  else view.setBigUint64(at, value, true);
}

/** Asks an open bundle for everything, and looks at the answers. */
function useAll(bundle) {
  const { items: V } = bundle.info(),
    id = bundle.id(0),
    history = [id, bundle.id(V - 1), 'unknown'];
  for (const { items } of [
    bundle.recommend({ history, k: 5, exclude: [bundle.id(V >> 1)], why: true }),
    bundle.recommend({ k: V }),
    bundle.similar(id, 3),
  ]) {
    items.forEach(({ id: listed, number, score }, i) => {
      assert(Number.isFinite(score) && bundle.number(listed) === number);
      if (i > 0)
        assert(
          items[i - 1].score > score ||
            (items[i - 1].score === score && items[i - 1].number < number),
        );
    });
  }
}

describe('hostile files', () => {
  const names = readdirSync(folder('hostile')),
    sound = load('hostile', 'sound.elastic');
  const of = (kind) => names.filter((name) => name.endsWith(kind) && !name.startsWith('sound'));

  test('the sound ones are taken', async () => {
    readBundle(sound).recommend({ user: load('hostile', 'sound.vector') });
    await applyPatch(sound, load('hostile', 'sound.patch'));
  });

  for (const name of of('.elastic')) {
    test(name, () => {
      const before = process.memoryUsage().arrayBuffers,
        file = load('hostile', name);
      if (name.startsWith('late-')) {
        refused(() => {
          const bundle = readBundle(file);
          bundle.number(bundle.id(0));
        });
      } else refused(() => readBundle(file));
      assert(process.memoryUsage().arrayBuffers - before < 1_000_000 + 3 * file.length);
    });
  }

  test('vectors', () => {
    const bundle = readBundle(sound);
    for (const name of of('.vector'))
      refused(() => bundle.recommend({ user: load('hostile', name) }));
  });

  for (const name of of('.patch')) {
    test(name, () => assert.rejects(applyPatch(sound, load('hostile', name)), BundleError));
  }

  test('the sound bundle cut at every field', () => {
    const { truncated } = JSON.parse(
      readFileSync(new URL('expected.json', folder('hostile')), 'utf8'),
    );
    assert(truncated.length > 0);
    for (const length of truncated) refused(() => readBundle(sound.slice(0, length)));
  });
});
