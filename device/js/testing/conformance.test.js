/** The runtime against the golden files, which every runtime shares. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';

import { applyPatch, BundleError, openBundle, readBundle } from '../elasticrec-device.js';
import { bits, folder, load, refused } from './expectations.js';

describe('golden files', () => {
  const expected = JSON.parse(
    readFileSync(new URL('expected.json', folder('conformance')), 'utf8'),
  );
  const idOf = (entry, id) => (entry.ids === 'strings' ? id : BigInt(id));

  for (const entry of expected.bundles) {
    test(`${entry.file}: ${entry.teaches}`, async () => {
      const bundle = await openBundle(load('conformance', entry.file), { sha256: entry.sha256 });
      const ids = (list) => list?.map((id) => idOf(entry, id)) ?? undefined;
      for (const q of entry.questions) {
        const answer =
          q.ask === 'similar'
            ? bundle.similar(idOf(entry, q.item), q.k)
            : bundle.recommend({
                history: ids(q.history),
                user: q.vector ? load('conformance', q.vector) : undefined,
                k: q.k,
                exclude: ids(q.exclude),
                only: ids(q.only),
                repeat: q.repeat,
                why: true,
              });
        assert.deepEqual(
          answer.items.map(({ id }) => String(id)),
          q.items,
        );
        assert.deepEqual(
          answer.items.map(({ score }) => bits(score).replace('80000000', '00000000')),
          q.scores.map((score) => score.replace('80000000', '00000000')),
        );
        if (q.ask === 'similar') continue;
        assert.equal(answer.unknown, q.unknown);
        assert.deepEqual(
          answer.items.map(({ why }) => (why === null ? null : String(why))),
          q.why,
        );
      }
      refused(() => bundle.recommend({ user: load('conformance', expected.foreign_vector) }));
    });
  }

  test('catalogues belong to one bundle', async () => {
    const named = expected.bundles.filter(({ catalogue }) => catalogue);
    assert(named.length > 0);
    for (const { catalogue } of named) {
      for (const { file, catalogue: own } of expected.bundles) {
        const taken = readBundle(load('conformance', file)).catalogue(
          load('conformance', catalogue),
        );
        if (own === catalogue) assert((await taken).ids.length > 0);
        else await assert.rejects(taken, BundleError);
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
