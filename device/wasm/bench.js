/** Milliseconds of a question, by WebAssembly and by plain JavaScript: `node bench.js FILE`. */

import { readFileSync } from 'node:fs';

import { openStream } from '../js/elasticrec-device.js';
import { accelerate } from './elasticrec-wasm.js';

const bytes = new Uint8Array(readFileSync(process.argv[2])), plain = openStream(bytes);
const fast = await accelerate(plain), { items } = plain.info();
const history = Array.from({ length: 45 }, (_, i) => plain.id((i * 7919) % items));
const found = { plain: [], fast: [] };
for (let turn = 0; turn < 30; turn++)
  for (const [name, stream] of Object.entries({ plain, fast })) {
    const start = process.cpuUsage().user;
    stream.recommend({ history, k: 100 });
    if (turn > 4) found[name].push((process.cpuUsage().user - start) / 1000);
  }
const [js, wasm] = [found.plain, found.fast].map((each) => each.sort((a, b) => a - b)[each.length >> 1]);
console.log(JSON.stringify({ javascript: js, webassembly: wasm, ratio: js / wasm }));
