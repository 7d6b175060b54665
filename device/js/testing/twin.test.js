/** The runtime against its slow twin: equal bit by bit, whatever a bundle holds. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { readBundle } from '../elasticrec-device.js';
import { bits, distinct } from './expectations.js';
import { listOf, personOf, scoresOf, vector, whyOf } from './plain-ranking.js';
import { draw, generator, vectorFile, write } from './sample-bundle.js';

/** The score of every item by its number; of those that are never listed, what the twin says. */
const allScores = (bundle, known, twin) => {
  const scores = twin.slice(),
    { items } = bundle.recommend({ ...known, k: twin.length, repeat: true });
  for (const { number, score } of items) scores[number] = score;
  return scores;
};
describe('against the slow twin', () => {
  test('scores are equal bit by bit, lists and reasons too', () => {
    const drawn = new Set();
    for (let seed = 0; seed < 80; seed++) {
      const spec = draw(seed),
        bundle = readBundle(write(spec)),
        rng = generator(seed + 1000);
      drawn.add(spec.K === 0 ? 'signs' : spec.K < spec.N ? 'some words' : 'a list per block');
      for (const length of [0, 1, 2, 7]) {
        const history = Array.from({ length }, () => rng.below(spec.V)),
          held = distinct(history);
        const halves = rng.below(2)
          ? Uint16Array.from({ length: spec.D }, () => 0x3000 + rng.below(0x800))
          : undefined;
        const known = { history, user: halves && vectorFile(spec, halves) };
        const scores = scoresOf(spec, personOf(spec, held, halves), held, halves !== undefined);
        assert.deepEqual(
          Array.from(allScores(bundle, known, scores), bits),
          Array.from(scores, (score) => bits(score + 0)),
          `seed ${seed}`,
        );
        const exclude = [rng.below(spec.V)],
          k = 1 + rng.below(spec.V),
          repeat = rng.below(2) === 1;
        const { items } = bundle.recommend({ ...known, k, exclude, repeat, why: true });
        assert.deepEqual(
          items.map(({ number }) => number),
          listOf(spec, scores, k, repeat ? exclude : [...held, ...exclude]),
        );
        for (const { number, score, why } of items) {
          assert.equal(score, scores[number] + 0);
          assert.equal(why, whyOf(spec, number, held));
        }
      }
    }
    assert.equal(drawn.size, 3);
  });

  test('first planes name words where there are lists, the others hold signs', () => {
    const depths = [
        [1, 3, 2, 8],
        [1, 1, 0, 1],
        [2, 3, 8, 0],
      ],
      held = [3, 20, 41],
      lists = new Set();
    for (const K of [0, 1, 2, 3, 4]) {
      const spec = draw(12, { N: 4, K, sizes: [17, 9, 30], depths, withdrawn: [] }),
        bundle = readBundle(write(spec)),
        scores = scoresOf(spec, personOf(spec, held), held, false);
      assert.equal(bundle.info().wordLists, K);
      assert.deepEqual(
        Array.from(allScores(bundle, { history: held }, scores), bits),
        Array.from(scores, (score) => bits(score + 0)),
        `${K} lists`,
      );
      const { items } = bundle.similar(20, 5);
      lists.add(JSON.stringify([items.map(({ number, score }) => [number, bits(score)])]));
    }
    assert.equal(lists.size, 5, 'every number of lists gives other scores');
  });

  test('groups longer than a stretch, and lists longer than what is kept at once', () => {
    const spec = draw(5, {
      N: 1,
      sizes: [4500, 3, 2049],
      depths: [[3], [0], [2]],
      neighbours: [2, 1, 0],
    });
    const bundle = readBundle(write(spec)),
      held = [7, 4400, 4501];
    const scores = scoresOf(spec, personOf(spec, held), held, false);
    assert.deepEqual(allScores(bundle, { history: held }, scores), scores);
    for (const k of [1, 100, 1500, 6552, 10_000]) {
      const { items } = bundle.recommend({ history: held, k });
      assert.deepEqual(
        items.map(({ number }) => number),
        listOf(spec, scores, k, held),
      );
    }
  });

  test('neighbours among many items are told apart by more than their lower bits', () => {
    const spec = draw(6, {
      N: 1,
      sizes: [30_001, 3, 40_002],
      depths: [[1], [0], [2]],
      neighbours: [3, 2, 1],
      scaled: 1,
      withdrawn: [],
    });
    const bundle = readBundle(write(spec)),
      voted = [0, 700, 9001, 29_999, 30_000].flatMap((i) => spec.slots[0][i]);
    voted.push(...spec.slots[2].slice(-9).flat(), { number: 1 }); // some are left over by fours
    const others = voted.map(({ number }) => number ^ 65_536).filter((number) => number < spec.V);
    assert(others.length > 1);
    const rising = distinct([...voted.slice(9).map(({ number }) => number), ...others]);
    const scores = scoresOf(spec, personOf(spec, rising), rising, false);
    assert.deepEqual(
      Array.from(allScores(bundle, { history: rising }, scores), bits),
      Array.from(scores, (score) => bits(score + 0)),
    );
  });

  test('equal scores come by rising number', () => {
    const flat = {
      N: 1,
      sizes: [3000, 50],
      depths: [[0], [0]],
      neighbours: [1, 1],
      weights: [
        [0, 0],
        [0, 0],
      ],
      withdrawn: [],
    };
    const spec = draw(1, { ...flat, means: Array.from({ length: 3 }, () => new Uint16Array(8)) });
    const { items } = readBundle(write(spec)).recommend({ k: 2500 });
    assert.deepEqual(
      items.map(({ number }) => number),
      Array.from({ length: 2500 }, (_, i) => i),
    );
  });

  test('similar items are those of the direction of the item', () => {
    for (let seed = 0; seed < 20; seed++) {
      const spec = draw(seed),
        item = seed % spec.V,
        x = vector(spec, item);
      const length = Math.sqrt(x.reduce((sum, value) => sum + value * value, 0));
      const u = Float32Array.from(x, (value) => (length > 0 ? value / length : value));
      const list = listOf(spec, scoresOf(spec, u, [item], false), 10, [item]);
      assert.deepEqual(
        readBundle(write(spec))
          .similar(item, 10)
          .items.map(({ number }) => number),
        list,
      );
    }
  });
});
