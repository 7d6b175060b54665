/**
 * Says of each case on the standard input what the runtime makes of it, as one line. Cases and lines
 * are those of `tests/device/mutations.py` and `tests/device/verdicts.py`.
 */

import { readFileSync } from 'node:fs';

import { openSigned, openStream, StreamError } from '../elasticrec-device.js';

const shown = (value) => {
  if (value === null || value === undefined) return '-';
  return typeof value === 'string' ? `x${Buffer.from(value).toString('hex')}` : String(value);
};
const listed = ({ items, unknown }) =>
  [unknown, ...items.map(({ id, score, why }) => [shown(id), score, shown(why)].join(':'))].join(' ');

/** What becomes of a file beside the stream. */
async function beside(file, act) {
  try {
    return file.length ? await act(file) : '-';
  } catch (error) {
    if (error instanceof StreamError) return 'refused';
    throw error;
  }
}

/** The line of one case. */
async function verdict({ cut, minSequence, key, file, vector, withdrawn, catalogue }) {
  let said = 'refused';
  try {
    const first = cut ? file.slice(0, cut) : file,
      options = { minSequence };
    const stream = key.length ? await openSigned(first, key, options) : openStream(first, options);
    if (cut) {
      stream.recommend();
      said = 'refused growing';
      try {
        await stream.refresh(file);
      } catch (error) {
        stream.recommend(); // what came before the wrong chunk still ranks
        throw error;
      }
    }
    const { bytes, idKind } = stream.info();
    const found = stream.recommend({ k: 5, why: true }),
      ids = found.items.map(({ id }) => id);
    const unknown = idKind === 'text' ? 'nobody' : 2 ** 40;
    const history = [...ids.slice(0, 3), unknown, ...ids.slice(0, 1)];
    const fields = [
      bytes,
      listed(found),
      listed(stream.recommend({ history, k: 8, why: true, repeat: true })),
      await beside(vector, () => listed(stream.recommend({ history, vector, k: 5, why: true }))),
      await beside(withdrawn, async () => {
        await stream.withdraw(withdrawn);
        return listed(stream.recommend({ k: 5, why: true }));
      }),
      await beside(catalogue, async () => {
        const { titles } = await stream.catalogue(catalogue);
        const { items } = stream.recommend({ k: 1 });
        return ['taken', ...items.map(({ number }) => shown(titles?.[number]))].join(' ');
      }),
    ];
    return fields.join('\t');
  } catch (error) {
    if (!(error instanceof StreamError)) return String(error.stack).replaceAll('\n', ' ');
    return /\n/.test(error.message) || error.message.length > 200
      ? `a long refusal: ${JSON.stringify(error.message)}`
      : said;
  }
}

/** The cases in some bytes. */
function* casesOf(all) {
  for (let at = 0; at < all.length;) {
    const names = ['key', 'file', 'vector', 'withdrawn', 'catalogue'],
      found = { cut: all.readUInt32LE(at), minSequence: all.readBigUInt64LE(at + 4) };
    let start = at + 32;
    names.forEach((name, i) => {
      const end = start + all.readUInt32LE(at + 12 + 4 * i);
      found[name] = new Uint8Array(all.subarray(start, end));
      start = end;
    });
    yield found;
    at = start;
  }
}

for (const each of casesOf(readFileSync(0))) console.log(await verdict(each));
