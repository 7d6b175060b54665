/** The runtime against answers known beforehand: the page's example, growing streams, questions. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';

import { openStream, StreamError } from './elasticrec-device.js';
import { refused } from './testing/expectations.js';
import { draw, small } from './testing/sample-stream.js';
import { cutsOf, write } from './testing/stream-bytes.js';

const page = readFileSync(new URL('../../docs/stream-format.md', import.meta.url), 'utf8');

/** The bytes of the worked example, as section 13 of the page prints them. */
function exampleBytes() {
  const listing = page.slice(page.indexOf('## 13.')).split('```')[1],
    bytes = [];
  for (const [, offset, text] of listing.matchAll(/^([0-9A-F]{4}) {2}((?:[0-9A-F×\d]+ ?)+)/gm)) {
    assert.equal(parseInt(offset, 16), bytes.length, `offset ${offset}`);
    const [first, times] = text.trim().split(' × ');
    const given = first.split(' ').map((byte) => parseInt(byte, 16));
    for (let i = 0; i < Number(times ?? 1); i++) bytes.push(...given);
  }
  return Uint8Array.from(bytes);
}

const numbersOf = ({ items }) => items.map(({ number }) => number);

describe('the worked example of the page', () => {
  const bytes = exampleBytes();
  const list = (stream, history) =>
    stream.recommend({ history, why: true }).items.map(({ id, score, why }) => [id, score, why]);

  test('its lists', () => {
    const stream = openStream(bytes);
    assert.deepEqual(list(stream, []), [
      [501, 2228088, null],
      [503, 0, null],
      [502, -1660220, null],
    ]);
    assert.deepEqual(list(stream, [502]), [
      [503, 4448595, 502],
      [501, -2228088, null],
    ]);
    assert.deepEqual(list(stream, [501, 502]), [[503, 3145632, 502]]);
    assert.deepEqual(list(stream, [502, 501]), [[503, 3145632, 502]]);
  });

  test('those of its smallest prefix, which knows two items', () => {
    const stream = openStream(bytes.slice(0, 694));
    assert.deepEqual(list(stream, []), [
      [501, 2228088, null],
      [502, -1660220, null],
    ]);
    assert.deepEqual(list(stream, [502]), [[501, -2228088, null]]);
    assert.equal(stream.recommend({ history: [503, 502, 503] }).unknown, 2);
    assert.deepEqual(stream.ids, [501, 502]);
  });

  test('what it says of itself', () => {
    assert.deepEqual(openStream(bytes).info(), {
      version: 4,
      modelId: Buffer.from(Uint8Array.from({ length: 32 }, (_, i) => i)).toString('hex'),
      items: 3,
      dimensions: 8,
      idKind: 'u32',
      score: 'cosine',
      person: 'history',
      minSupport: 5,
      sequence: 1,
      trained: 1_767_225_600,
      least: 694,
      length: 765,
      catalogue: null,
      bytes: 765,
      chunks: 6,
      columns: 1,
      listable: 3,
      signed: false,
    });
  });
});

describe('a stream that grows', () => {
  test('every cut ranks as the longest run of whole chunks does', async () => {
    const sample = draw(22, { V: 30 }, 25),
      file = write(sample),
      cuts = cutsOf(file);
    const least = cuts[sample.least + 1],
      growing = openStream(file.slice(0, least));
    const ask = { history: sample.head.ids.slice(0, 3), k: 30, why: true };
    for (let length = least; length <= file.length; length++) {
      const whole = cuts.findLast((cut) => cut <= length);
      const expected = openStream(file.slice(0, whole)).recommend(ask);
      assert.deepEqual(openStream(file.slice(0, length)).recommend(ask), expected);
      await growing.refresh(file.subarray(0, length));
      assert.deepEqual(growing.recommend(ask), expected);
      assert.equal(growing.info().bytes, whole);
    }
    for (let length = 0; length < least; length++) {
      await refused(() => openStream(file.slice(0, length)), length >= cuts[0] ? `${least}` : '');
    }
  });

  test('a wrong chunk is refused, and what came before it stays', async () => {
    const sample = draw(22, { V: 30 }, 25),
      file = write(sample),
      cuts = cutsOf(file);
    const at = cuts.at(-3),
      stream = openStream(file.slice(0, cuts[sample.least + 1]));
    const wrong = file.slice();
    wrong[at + 32] ^= 1;
    for (let again = 0; again < 2; again++) {
      await refused(() => stream.refresh(wrong), `chunk ${cuts.length - 3} at byte ${at}: CRC`);
      assert.deepEqual(stream.recommend(), openStream(file.slice(0, at)).recommend());
    }
    await stream.refresh(file);
    assert.deepEqual(stream.recommend(), openStream(file).recommend());
  });

  test('a prefix of another stream, a shorter and a too long one are refused', async () => {
    const file = write(draw(22)),
      stream = openStream(file),
      other = file.slice();
    other[300] ^= 1;
    await refused(() => stream.refresh(other), 'byte of the longer prefix');
    await refused(() => stream.refresh(file.slice(0, -1)), 'length of the longer prefix');
    await refused(() => stream.refresh(Buffer.concat([file, file])), `${file.length}`);
    assert.equal(await stream.refresh(file.slice()), stream);
  });

  test('bytes may start anywhere and are not copied', () => {
    const file = write(draw(22)),
      buffer = Buffer.alloc(file.length + 3);
    buffer.set(file, 3);
    const before = buffer.toString('hex'),
      stream = openStream(buffer.subarray(3));
    assert.deepEqual(stream.recommend(), openStream(file.buffer).recommend());
    assert.equal(buffer.toString('hex'), before);
  });
});

describe('asking', () => {
  const stream = openStream(
    write(small({ popularity: new Uint8Array(28).fill(1), mean: Array(8).fill(1) })),
  );

  test('what is excluded, not allowed or not asked for is not listed', () => {
    const list = (ask) => numbersOf(stream.recommend(ask));
    assert.deepEqual(list(), [0, 1, 2, 3]);
    assert.deepEqual(list({}), [0, 1, 2, 3]);
    assert.deepEqual(list({ history: [0], repeat: true }), [0, 1, 2, 3]);
    assert.deepEqual(list({ history: [0] }), [1, 2, 3]);
    assert.deepEqual(list({ exclude: [0, 99] }), [1, 2, 3]);
    assert.deepEqual(list({ only: [2, 0, 99] }), [0, 2]);
    assert.deepEqual(list({ only: new Set([2n]) }), [2]);
    assert.deepEqual(list({ only: [] }), []);
    assert.deepEqual(list({ only: null, vector: null }), [0, 1, 2, 3]);
    assert.deepEqual(list({ k: 1 }), [0]);
    assert.deepEqual(list({ k: 0 }), []);
    assert.deepEqual(stream.recommend({ history: [9, 2, -1, 9] }).unknown, 3);
    assert.deepEqual(numbersOf(stream.similar(3, { k: 2 })), [0, 1]);
  });

  test('wrong questions are errors of one line', () => {
    const wrong = [
      [() => stream.recommend({ history: 'abc' }), /history: found string abc, expected an array/],
      [() => stream.recommend({ exclude: 5 }), /exclude: found number 5/],
      [() => stream.recommend({ only: '0' }), /only: found string/],
      [() => stream.recommend({ history: null }), /history: found object null/],
      [
        () => stream.recommend({ likes: [] }),
        /recommend: found option likes, expected any of: hi/,
      ],
      [() => stream.recommend([0]), /recommend: found option 0/],
      [() => stream.recommend(null), /recommend: found option null/],
      [
        () => stream.recommend({ history: ['0'] }),
        /id: found string 0, expected one of kind dense/,
      ],
      [() => stream.recommend({ history: [1.5] }), /id: found number 1.5/],
      [() => stream.recommend({ exclude: [NaN] }), /id: found number NaN/],
      [() => stream.recommend({ only: [undefined] }), /id: found undefined/],
      [() => stream.recommend({ k: 1.5 }), /k: found 1.5/],
      [() => stream.recommend({ k: -1 }), /k: found -1/],
      [() => stream.recommend({ k: '5' }), /k: found 5/],
      [() => stream.recommend({ diversity: '0.5' }), /diversity: found string 0.5/],
      [() => stream.recommend({ diversity: 1.1 }), /diversity: found number 1.1/],
      [() => stream.recommend({ vector: 'file' }), /file: found string, expected an ArrayBuffer/],
      [() => stream.similar(0, 5), /similar: found option 5/],
      [() => openStream('watch.elastic'), /file: found string/],
      [
        () => openStream(write(small()), { key: 1 }),
        /open: found option key, expected any of: minS/,
      ],
    ];
    for (const [act, message] of wrong) {
      assert.throws(
        act,
        (error) =>
          error instanceof TypeError &&
          message.test(error.message) &&
          !error.message.includes('\n'),
        `${act}`,
      );
    }
    assert.throws(() => stream.similar(4), RangeError);
  });

  test('an item without columns has the vector of an empty history', () => {
    const slots = [
      { number: 3, vote: 2 },
      { number: 0, vote: 0 },
      { number: 0, vote: 1 },
    ];
    const voting = { kind: 4, which: 0, first: 0, count: 3, slots };
    const { head } = small(),
      values = Array.from({ length: 16 }, (_, v) => v);
    const sample = { head: { ...head, values, weights: [1, 0] }, chunks: [voting], least: 0 };
    const { items } = openStream(write(sample)).recommend({ history: [3], why: true });
    assert.deepEqual(items, [
      { id: 0, number: 0, score: 2 * 2 ** 20, why: 3 },
      { id: 1, number: 1, score: 0, why: null },
      { id: 2, number: 2, score: 0, why: null },
    ]);
  });
});

test('errors are of their own kind', () => {
  assert(new StreamError('') instanceof Error);
  assert.equal(new StreamError('x').toString(), 'StreamError: x');
});
