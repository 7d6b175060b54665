/**
 * Says of each file on the standard input (its length as u32, then its bytes) what the runtime makes
 * of it, as a line of JSON: "refused", or the lists of nobody and of someone who has what was listed.
 */

import { readFileSync } from 'node:fs';

import { openStream, StreamError } from '../elasticrec-device.js';

const plain = ({ items, unknown }) => ({
  items: items.map(({ id, score, why }) => [String(id), score, why === null ? null : String(why)]),
  unknown,
});

/** What the runtime says of a file. */
function verdict(file) {
  try {
    const stream = openStream(file),
      first = stream.recommend({ k: 5, why: true });
    const history = first.items.slice(0, 3).map(({ id }) => id);
    history.push(stream.info().idKind === 'text' ? 'nobody' : 2n ** 40n, ...history.slice(0, 1));
    const second = stream.recommend({ history, k: 8, why: true, repeat: true });
    return [plain(first), plain(second), stream.info().bytes];
  } catch (error) {
    if (error instanceof StreamError) return 'refused';
    return String(error.stack);
  }
}

const all = readFileSync(0);
for (let at = 0; at < all.length;) {
  const end = at + 4 + all.readUInt32LE(at);
  console.log(JSON.stringify(verdict(new Uint8Array(all.subarray(at + 4, end)))));
  at = end;
}
