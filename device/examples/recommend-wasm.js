// Lists ten items for three liked ones, by WebAssembly: node recommend-wasm.js STREAM ID ID ID.
import { readFileSync } from 'node:fs';

import { openStream } from '../js/elasticrec-device.js';
import { accelerate } from '../wasm/elasticrec-wasm.js';

const [file, ...likes] = process.argv.slice(2);
const stream = await accelerate(openStream(new Uint8Array(readFileSync(file))));
const { items } = stream.recommend({ history: likes.map(Number), k: 10, why: true });
for (const { id, score, why } of items) console.log(id, score, ...(why === null ? [] : ['because of', why]));
