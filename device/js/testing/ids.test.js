/** Ids of every kind, in both directions. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { openStream } from '../elasticrec-device.js';
import { small } from './sample-stream.js';
import { write } from './stream-bytes.js';

describe('ids', () => {
  const open = (idKind, ids) => openStream(write(small({ idKind, ids })));
  const roundTrip = (stream, ids) => {
    assert.deepEqual(stream.ids, ids);
    ids.forEach((id, i) => {
      assert.equal(stream.number(id), i);
      assert.strictEqual(stream.id(i), id);
    });
    assert.equal(stream.id(4), undefined);
  };

  test('u32, as number and as bigint', () => {
    const ids = [7, 4294967295, 0, 1000],
      stream = open(1, ids);
    roundTrip(stream, ids);
    assert.equal(stream.number(7n), 0);
    for (const unknown of [8, -1, 4294967296, 2n ** 70n, -(2n ** 70n)]) {
      assert.equal(stream.number(unknown), -1);
    }
    for (const wrong of [7.5, '7', 2 ** 53, null])
      assert.throws(() => stream.number(wrong), TypeError);
  });

  test('u64, a bigint from 2^53 on', () => {
    const ids = [2n ** 64n - 1n, 5, 2n ** 53n, Number.MAX_SAFE_INTEGER],
      stream = open(2, ids.map(BigInt));
    roundTrip(stream, ids);
    assert.equal(stream.number(5n), 1);
    assert.throws(() => stream.number(2 ** 53), TypeError, 'it may stand for another id');
    assert.equal(stream.recommend({ history: [5, 2n ** 53n, 6] }).unknown, 1);
  });

  test('text, by bytes', () => {
    const ids = ['\ufeffé', 'B00\u{1f600}', 'ff', '\ufffd'],
      stream = open(3, ids);
    roundTrip(stream, ids);
    for (const unknown of ['', 'e\u0301', 'B00', '\ud800'])
      assert.equal(stream.number(unknown), -1);
    for (const wrong of [5, 5n, undefined]) assert.throws(() => stream.number(wrong), TypeError);
  });
});
