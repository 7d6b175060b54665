/**
 * Ranking as docs/bundle-format.md prints it, one item after the other, from what a sample holds:
 * the slow twin that the runtime must equal bit by bit.
 */

import { half } from './sample-bundle.js';

const f = Math.fround;

/** The group of an item, and its place in it. */
function place(spec, number) {
  let g = 0;
  for (; number >= spec.sizes[g]; g++) number -= spec.sizes[g];
  return { g, i: number };
}

/** The step a(c, q). */
const step = (spec, c, q) => spec.steps[(c * (c - 1)) / 2 + q];

/** The bytes of an item in block n of its group, by plane. */
function planes(spec, g, i, n) {
  const before = spec.depths[g].slice(0, n).reduce((a, b) => a + b, 0);
  return Array.from({ length: spec.depths[g][n] }, (_, p) => spec.columns[g][before + p][i]);
}

/** The bytes of words and letters of an item in block n, if there are any, and those of signs. */
function split(spec, g, i, n) {
  const signs = planes(spec, g, i, n);
  const words = n < spec.K ? signs.shift() : undefined;
  return { words, letter: spec.K ? signs.shift() : undefined, signs };
}

/** Number k of word w of list n. */
const word = (spec, n, w, k) => spec.words[n][w * spec.D + k];

/** +1 where a bit is set, else -1. */
const sign = (byte, j) => ((byte >> j) & 1 ? 1 : -1);

/** Divided by its length. */
function normal(x) {
  const length = Math.sqrt(x.reduce((sum, value) => sum + value * value, 0));
  return length > 0 ? x.map((value) => value / length) : x;
}

/** The vector of an item (section 6). */
export function vector(spec, number) {
  const { g, i } = place(spec, number);
  return Array.from({ length: spec.D }, (_, k) => {
    if (spec.columns[g].length === 0) return half(spec.means[g][k]);
    let sum = 0;
    for (let n = 0; n < spec.N; n++) {
      const { words } = split(spec, g, i, n);
      if (words === undefined) continue;
      const both = word(spec, n, words % 16, k) + word(spec, n, 16 + (words >> 4), k);
      sum += spec.scales[3 * n] * both;
    }
    const { letter, signs } = split(spec, g, i, k >> 3),
      [, ν, σ] = spec.scales.subarray(3 * (k >> 3));
    if (letter !== undefined) sum += ν * spec.letters[8 * letter + (k & 7)];
    signs.forEach((byte, q) => {
      sum += step(spec, signs.length, q) * σ * sign(byte, k & 7);
    });
    return half(spec.means[g][k]) + sum * spec.gains[spec.q[g][i]];
  });
}

/** The person's vector (section 10); `held` rising and distinct, `halves` a server vector. */
export function personOf(spec, held, halves) {
  if (halves) return Float32Array.from(halves, half);
  if (held.length === 0) return Float32Array.from(spec.means[spec.G], half);
  const sum = held
    .map((number) => normal(vector(spec, number)))
    .reduce((total, x) => total.map((value, k) => value + x[k]), Array(spec.D).fill(0));
  const s = normal(sum);
  if (!spec.map) return Float32Array.from(s);
  return Float32Array.from({ length: spec.D }, (_, k) =>
    s.reduce((total, value, j) => total + value * half(spec.map[j * spec.D + k]), 0),
  );
}

/** The score of an item (section 11), -Infinity where its group keeps nothing. */
export function scoreOf(spec, number, u, held, byVector) {
  const { g, i } = place(spec, number),
    coded = spec.columns[g].length > 0;
  if (!coded && spec.neighbours[g] === 0) return -Infinity;
  let score = f(u.reduce((sum, value, k) => sum + value * half(spec.means[g][k]), 0));
  if (coded) {
    let t = 0;
    for (let n = 0; n < spec.N; n++) {
      const { words, letter, signs } = split(spec, g, i, n);
      if (words !== undefined) {
        const says = (w) =>
          f(u.reduce((sum, value, k) => sum + value * word(spec, n, w, k), 0) * spec.scales[3 * n]);
        t = f(t + f(says(words % 16) + says(16 + (words >> 4))));
      }
      if (letter !== undefined) {
        const products = Array.from({ length: 8 }, (_, j) =>
          f(spec.letters[8 * letter + j] * f(u[8 * n + j] * spec.scales[3 * n + 1])),
        );
        t = f(t + products.reduce((sum, value) => f(sum + value)));
      }
      signs.forEach((byte, q) => {
        const s = f(step(spec, signs.length, q) * spec.scales[3 * n + 2]);
        const products = Array.from({ length: 8 }, (_, j) => sign(byte, j) * f(u[8 * n + j] * s));
        t = f(t + products.reduce((sum, value) => f(sum + value)));
      });
    }
    score = f(score + f(t * spec.gains[spec.q[g][i]]));
  }
  if (spec.neighbours[g] === 0) return score;
  const v = spec.slots[g][i].reduce(
    (sum, { number: other, weight }) => (held.includes(other) ? f(sum + spec.votes[weight]) : sum),
    0,
  );
  let c = spec.weights[g][byVector ? 0 : 1];
  if (spec.scaled && held.length) c = f(c / Math.sqrt(held.length));
  return f(score + f(c * v));
}

/** All scores. */
export function scoresOf(spec, u, held, byVector) {
  return Float32Array.from({ length: spec.V }, (_, i) => scoreOf(spec, i, u, held, byVector));
}

/** The list (section 12) of item numbers. */
export function listOf(spec, scores, k, skipped) {
  return Array.from(scores.keys())
    .filter((i) => scores[i] > -Infinity && !skipped.includes(i) && !spec.withdrawn.includes(i))
    .sort((a, b) => scores[b] - scores[a] || a - b)
    .slice(0, k);
}

/** The history item with the largest vote for an item (section 12), or null. */
export function whyOf(spec, number, held) {
  const { g, i } = place(spec, number);
  const votes = spec.slots[g][i]
    .filter((slot) => held.includes(slot.number) && spec.votes[slot.weight] > 0)
    .sort((a, b) => spec.votes[b.weight] - spec.votes[a.weight] || a.number - b.number);
  return votes.length ? votes[0].number : null;
}
