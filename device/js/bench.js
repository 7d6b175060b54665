/**
 * Measures ranking from a stream and prints JSON lines: milliseconds to open it, of the first list
 * (which computes the gains of all items), and per person, on average and in the middle
 * (`_median`), for the 20 best and for the full sorted list; and the peak memory of the process.
 *
 *     node bench.js watch.elastic [--people 50] [--history 50] [--vector person.vector]
 *     node bench.js                   made-up streams of 8,828, 40,981 and 91,599 items
 */

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { openStream } from './elasticrec-device.js';
import { generator, largeSample } from './testing/sample-stream.js';

const SIZES = [8_828, 40_981, 91_599];
const WARM_UP = 10;

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

/** Measures one stream. */
function bench(file, options) {
  const opening = performance.now(),
    stream = openStream(file),
    opened = performance.now();
  stream.recommend();
  const first = performance.now(),
    { items, dimensions, columns, ids } = stream.info();
  const rng = generator(1),
    known = stream.ids.length;
  const vector = options.vector ? new Uint8Array(readFileSync(options.vector)) : undefined;
  const people = Array.from({ length: Number(options.people) }, () =>
    Array.from({ length: Number(options.history) }, () => stream.id(rng.below(known))),
  );
  const list = (k) => (history) => stream.recommend({ history, vector, k });
  return {
    bytes: file.length,
    items,
    dimensions,
    columns,
    ids,
    people: people.length,
    open_ms: opened - opening,
    first_list_ms: first - opened,
    ...measure('top20', people, list(20)),
    ...measure('full_sort', people, list(items)),
    rss_bytes: process.resourceUsage().maxRSS * 1024,
  };
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    people: { type: 'string', default: '50' },
    history: { type: 'string', default: '50' },
    vector: { type: 'string' },
  },
});
const files = positionals.length
  ? positionals.map((path) => () => new Uint8Array(readFileSync(path)))
  : SIZES.map((items) => () => largeSample(items));
for (const file of files) console.log(JSON.stringify(bench(file(), values)));
