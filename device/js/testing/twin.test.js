/** The runtime against its slow twin: equal lists and scores, whatever a stream holds. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { openStream } from '../elasticrec-device.js';
import { rank } from './plain-ranking.js';
import { draw, generator, stateOf } from './sample-stream.js';
import { cutsOf, vectorFile, withdrawnFile, write } from './stream-bytes.js';

const some = (rng, n, below) => Array.from({ length: n }, () => rng.below(below));

/** Item numbers of a history: each once, where it is last given. */
const lastMentions = (items) => items.filter((item, i) => items.indexOf(item, i + 1) < 0);

describe('against the slow twin', () => {
  test('lists, scores and reasons are equal, at every prefix', async () => {
    const seen = new Set();
    for (let seed = 0; seed < 120; seed++) {
      const sample = draw(seed),
        { head, chunks } = sample,
        file = write(sample),
        cuts = cutsOf(file);
      const rng = generator(seed + 1000),
        first = sample.least + 1;
      let stream = openStream(file.slice(0, cuts[first]));
      for (let n = first; n <= chunks.length; n += 1 + rng.below(9)) {
        const cut = cuts[n] + rng.below((cuts[n + 1] ?? cuts[n] + 1) - cuts[n]);
        if (rng.below(2)) await stream.refresh(file.slice(0, cut));
        else stream = openStream(file.slice(0, cut));
        const now = stateOf(head, chunks.slice(0, n)),
          known = head.idKind ? now.ids : head.V;
        const given = some(rng, [0, 1, 2, 9][rng.below(4)], head.V),
          k = rng.below(head.V + 2);
        const ask = {
          h: lastMentions(given.filter((item) => item < known)),
          halves: rng.below(3)
            ? undefined
            : some(rng, head.D, 0x7c00).map((x) => x | (rng.below(2) << 15)),
          k,
          exclude: some(rng, rng.below(3), head.V),
          only: rng.below(3) ? undefined : some(rng, 20, head.V),
          withdrawn: [...new Set(some(rng, rng.below(4), head.V))].sort((a, b) => a - b),
          repeat: rng.below(2) === 1,
        };
        await stream.withdraw(withdrawnFile(head, ask.withdrawn));
        const ids = (items) => items?.map((item) => head.ids[item]);
        const { items, unknown } = stream.recommend({
          history: ids(given),
          vector: ask.halves && vectorFile(head, ask.halves),
          k,
          exclude: ids(ask.exclude),
          only: ids(ask.only),
          repeat: ask.repeat,
          why: true,
        });
        const twin = rank(sample, now, ask).map(({ number, score, why }) => ({
          id: stream.id(number),
          number,
          score,
          why: why === null ? null : stream.id(why),
        }));
        assert.deepEqual(items, twin, `seed ${seed}, ${n} chunks`);
        assert.equal(unknown, given.filter((item) => item >= known).length);
        for (const { id, number } of items) assert.equal(String(id), String(head.ids[number]));
        seen.add([head.idKind, head.cosine, ask.halves === undefined].join());
      }
    }
    assert.equal(seen.size, 16, 'every kind was drawn');
  });

  test('more items than a tile, and more than 2^16', () => {
    const V = 70_000,
      rng = generator(3);
    const { head } = draw(1, { V, N: 1, idKind: 0, cosine: 1, ids: [] }, 0);
    const words = Array.from({ length: 32 }, () => some(rng, 8, 9).map((x) => x - 4));
    const columns = [15_000, 20_000, 30_000].map((gain) => ({
      codebook: 0,
      first: 0,
      scale: 3,
      gain,
      weights: [2 ** -10, 2 ** -9],
    }));
    const slots = (n, voted) =>
      Array.from({ length: n }, (_, i) => {
        const vote = Math.max(0, 15 - (i % 16) - voted);
        return { vote, number: vote && rng.below(V) };
      });
    const codes = (which, first, count) => ({
      kind: 3,
      which,
      first,
      count,
      codes: some(rng, count, 256),
    });
    const chunks = [
      { kind: 1, width: 1, which: 0, first: 0, count: 32, words },
      { kind: 2, which: 0, first: 0, count: 3, columns },
      codes(0, 0, 30_001),
      { kind: 4, which: 0, first: 100, count: 69_900, slots: slots(69_900, 0) },
      codes(1, 5, 5001),
      codes(0, 30_001, 7),
      { kind: 4, which: 1, first: 1001, count: 9, slots: slots(9, 9) },
    ];
    const sample = { head, chunks, least: 3 },
      stream = openStream(write(sample));
    const now = stateOf(head, chunks);
    const voted = now.slots
      .flat()
      .filter(({ vote }) => vote)
      .map(({ number }) => number);
    const low = voted
      .slice(0, 9)
      .map((number) => number ^ 65_536)
      .filter((number) => number < V);
    for (const h of [[], [3, 40_000, 69_999], lastMentions([...voted.slice(-20), ...low])]) {
      for (const k of [1, 1500, 70_000]) {
        const { items } = stream.recommend({ history: h, k });
        const twin = rank(sample, now, { h, k });
        assert.deepEqual(
          items,
          twin.map(({ number, score }) => ({ id: number, number, score })),
        );
      }
    }
  });
});
