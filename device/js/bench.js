/**
 * Measures ranking from one bundle file and prints JSON: milliseconds per person, on average and in
 * the middle (`_median`), for scoring, for the 100 best and for the full sorted list, each from a
 * history to a list of ids; and the peak memory of the process, before the full lists and with them.
 *
 *     node bench.js bundle.elastic [--people 50] [--history 50] [--vector person.vector]
 *     node bench.js --sample 5        a made-up bundle of that many MB for 91,599 items
 */

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { readBundle } from './elasticrec-device.js';
import { draw, generator, write } from './testing/sample-bundle.js';

const WARM_UP = 20;

/** A made-up bundle of about so many megabytes: 4 neighbours, as many planes as fit, words. */
function sample(megabytes) {
  const V = 91_599,
    N = 32,
    G = 32;
  const upTo = (g) => Math.floor((g * V) / G);
  const sizes = Array.from({ length: G }, (_, g) => upTo(g + 1) - upTo(g));
  const planes = Math.max(1, Math.floor((megabytes * 1e6) / V - 4 * 2.625 - 1));
  const depths = Array.from({ length: N }, (_, n) => Math.floor((planes + N - 1 - n) / N));
  return write(
    draw(1, {
      N,
      K: Math.floor(V / (32 * 8 * N)),
      sizes,
      depths: sizes.map(() => depths),
      neighbours: sizes.map(() => 4),
      withdrawn: [],
      map: undefined,
    }),
  );
}

/** Milliseconds per person, on average and in the middle, after some to warm up. */
function measure(name, people, ask) {
  for (let i = 0; i < WARM_UP; i++) ask(people[i % people.length]);
  const times = people.map((person) => {
    const start = performance.now();
    ask(person);
    return performance.now() - start;
  });
  const median = times.slice().sort((a, b) => a - b)[times.length >> 1];
  const mean = times.reduce((sum, time) => sum + time) / times.length;
  return { [`${name}_ms`]: mean, [`${name}_median_ms`]: median };
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    people: { type: 'string', default: '50' },
    history: { type: 'string', default: '50' },
    vector: { type: 'string' },
    sample: { type: 'string' },
  },
});
const file = values.sample
  ? sample(Number(values.sample))
  : new Uint8Array(readFileSync(positionals[0]));
const start = performance.now();
const bundle = readBundle(file);
const opened = performance.now() - start;
const { items } = bundle.info();
const rng = generator(1);
const user = values.vector ? new Uint8Array(readFileSync(values.vector)) : undefined;
const people = Array.from({ length: Number(values.people) }, () =>
  Array.from({ length: Number(values.history) }, () => bundle.id(rng.below(items))),
);
const list = (k) => (history) => bundle.recommend({ history, user, k });
const peak = () => process.resourceUsage().maxRSS * 1024;

console.log(
  JSON.stringify({
    bytes: file.length,
    items,
    people: people.length,
    open_ms: opened,
    ...measure('scoring', people, list(1)), // every item is scored, nothing is sorted
    ...measure('top100', people, list(100)),
    rss_bytes: peak(),
    ...measure('full_sort', people, list(items)),
    rss_full_sort_bytes: peak(),
  }),
);
