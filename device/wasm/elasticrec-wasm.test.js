/** The WebAssembly runtime against the golden files and the plain one. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { openSigned, openStream, StreamError } from '../js/elasticrec-device.js';
import { expected, idOf, load, unhex } from '../js/testing/expectations.js';
import { accelerate } from './elasticrec-wasm.js';

const { streams, questions, foreign_vector: foreign, public_key: key } = expected('conformance');
const file = (name) => load('conformance', name);

/** The fast stream of the first bytes of a golden file. */
async function open({ file: name, signed }, bytes) {
  const prefix = file(name).subarray(0, bytes);
  const plain = await (signed ? openSigned(prefix, unhex(key)) : openStream(prefix));
  const fast = await accelerate(plain);
  assert.notEqual(fast, plain, 'this machine has no WebAssembly with SIMD');
  return fast;
}

/** Asks a stream a golden question. */
async function check(stream, { ids: kind }, question) {
  const ids = (list) => list.map((text) => idOf(kind, text));
  const { history, vector, k, exclude, only, repeat, diversity, withdrawn } = question;
  if (withdrawn) await stream.withdraw(file(withdrawn));
  const { items, unknown } = stream.recommend({
    history: ids(history), vector: vector && file(vector), k, exclude: ids(exclude),
    only: only && ids(only), repeat, diversity, why: true,
  });
  assert.deepEqual(items.map(({ id }) => String(id)), question.items);
  assert.deepEqual(items.map(({ score }) => score), question.scores);
  assert.deepEqual(items.map(({ why }) => (why === null ? null : String(why))), question.why);
  assert.equal(unknown, question.unknown);
}

for (const entry of streams) {
  const asked = (bytes) => questions.filter(({ stream, bytes: n }) => stream === entry.file && n === bytes)
    .sort((a, b) => (a.withdrawn ? 1 : 0) - (b.withdrawn ? 1 : 0));
  describe(entry.file, () => {
    test('answers as expected', async () => {
      const stream = await open(entry);
      for (const question of asked(null)) await check(stream, entry, question);
    });
    test('answers as expected while it grows', async () => {
      const stream = await open(entry, entry.cuts[0]);
      for (const cut of [...entry.cuts, null]) {
        await stream.refresh(file(entry.file).subarray(0, cut ?? undefined));
        for (const question of asked(cut)) await check(stream, entry, question);
      }
      assert.equal(stream.info().bytes, stream.info().length);
    });
    test('refuses what the plain runtime refuses', async () => {
      const stream = await open(entry);
      assert.throws(() => stream.recommend({ vector: file(foreign) }), StreamError);
      for (const wrong of [{ k: -1 }, { history: 'abc' }, { color: 1 }, { only: 5 }])
        assert.throws(() => stream.recommend(wrong), TypeError);
      const [first] = stream.ids;
      assert.deepEqual(stream.similar(first, { k: 3 }), stream.recommend({ history: [first], k: 3 }));
    });
  });
}

test('a machine without WebAssembly keeps the plain stream', async () => {
  const kept = globalThis.WebAssembly, bytes = file('dense.elastic'), plain = openStream(bytes);
  const fresh = await import(`./elasticrec-wasm.js?fresh=${Date.now()}`);
  try {
    delete globalThis.WebAssembly;
    assert.equal(await fresh.accelerate(plain), plain);
  } finally {
    globalThis.WebAssembly = kept;
  }
});
