/**
 * Measures ranking from one bundle file on one core and prints JSON: milliseconds per person for
 * scoring, for the 100 best and for the full sorted list, and the process's peak memory.
 *
 *     node bench.js bundle.elastic [--people 50] [--history 50] [--vector person.vector]
 *     node bench.js --sample 5        a made-up bundle of that many MB for 91,599 items
 */

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { readBundle } from './elasticrec-device.js';
import { draw, generator, write } from './testing/sample-bundle.js';

const WARM_UP = 10;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    people: { type: 'string', default: '50' },
    history: { type: 'string', default: '50' },
    vector: { type: 'string' },
    sample: { type: 'string' },
  },
});

/** A made-up bundle of about so many megabytes: 4 neighbours, and as many planes as fit. */
function sample(megabytes) {
  const V = 91_599,
    N = 32,
    G = 32,
    sizes = Array.from(
      { length: G },
      (_, g) => Math.floor(((g + 1) * V) / G) - Math.floor((g * V) / G),
    );
  const planes = Math.max(1, Math.floor((megabytes * 1e6) / V - 4 * 2.625 - 1));
  const depths = sizes.map(() =>
    Array.from({ length: N }, (_, n) => Math.floor((planes + N - 1 - n) / N)),
  );
  return write(
    draw(1, {
      N,
      sizes,
      depths,
      neighbours: sizes.map(() => 4),
      withdrawn: [],
      map: undefined,
      person: 1,
    }),
  );
}

/** Milliseconds per call, on average over all people after a few to warm up. */
function measure(people, ask) {
  for (let i = 0; i < WARM_UP; i++) ask(people[i % people.length]);
  const start = performance.now();
  for (const person of people) ask(person);
  return (performance.now() - start) / people.length;
}

const file = values.sample
  ? sample(Number(values.sample))
  : new Uint8Array(readFileSync(positionals[0]));
const opening = performance.now(),
  bundle = readBundle(file),
  opened = performance.now() - opening;
const { items } = bundle.info(),
  rng = generator(1);
const user = values.vector ? new Uint8Array(readFileSync(values.vector)) : undefined;
const people = Array.from({ length: Number(values.people) }, () =>
  Array.from({ length: Number(values.history) }, () => bundle.id(rng.below(items))),
);

console.log(
  JSON.stringify({
    bytes: file.length,
    items,
    people: people.length,
    open_ms: opened,
    // the best item alone: nothing is sorted, and one list entry is made
    scoring_ms: measure(people, (history) => bundle.recommend({ history, user, k: 1 })),
    top100_ms: measure(people, (history) => bundle.recommend({ history, user, k: 100 })),
    full_sort_ms: measure(people.slice(0, 20), (history) =>
      bundle.recommend({ history, user, k: items }),
    ),
    rss_bytes: process.resourceUsage().maxRSS * 1024,
  }),
);
