/** fetchStream against a small server with Range and If-Range. */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';

import { fetchStream, openStream } from '../elasticrec-device.js';
import { refused } from './expectations.js';
import { draw } from './sample-stream.js';
import { cutsOf, keyPair, write } from './stream-bytes.js';

const { privateKey, publicKey } = keyPair();
const sample = draw(40, { V: 60 }, 80),
  file = write(sample, privateKey),
  cuts = cutsOf(file);
const least = cuts[sample.least + 1],
  other = write(draw(41, { V: 60 }, 80));

/** What the server serves, how, and what it was asked for. */
const site = {};
const reset = () =>
  Object.assign(site, {
    file,
    etag: '"one"',
    ranges: true,
    pieces: 400,
    pause: 0,
    cut: Infinity,
    shift: 0,
    asked: [],
  });

/** A static file server, slow and faulty as `site` says. */
async function serve(request, response) {
  const { range, 'if-range': ifRange } = request.headers;
  site.asked.push([range, ifRange]);
  if (request.url === '/nothing') return response.writeHead(404).end('no');
  const { file: bytes, etag, pieces, pause } = site;
  const fits = site.ranges && range && (ifRange === undefined || ifRange === etag || site.ignores);
  const [, from, to] = fits ? /^bytes=(\d+)-(\d*)$/.exec(range) : [range, 0, ''];
  const first = Number(from) + site.shift,
    last = Math.min(Number(to || Infinity), bytes.length - 1);
  if (etag) response.setHeader('ETag', etag);
  if (fits) response.setHeader('Content-Range', `bytes ${first}-${last}/${bytes.length}`);
  response.writeHead(fits ? 206 : 200);
  for (let at = first; at <= last; at += pieces) {
    if (at - first >= site.cut) return response.destroy();
    response.write(bytes.subarray(at, Math.min(at + pieces, last + 1)));
    await new Promise((done) => setTimeout(done, pause));
  }
  return response.end();
}

describe('fetchStream', () => {
  const server = createServer(serve);
  let url;
  before(async () => {
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    url = `http://127.0.0.1:${server.address().port}/books.elastic`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const lists = (stream) => stream.recommend({ k: 60 });

  test('the stream ranks from least on, and grows', async () => {
    reset();
    Object.assign(site, { pause: 1 });
    const seen = [];
    const onPart = ({ stream, bytes, complete }) => {
      seen.push([bytes.length, complete]);
      assert(bytes.length >= least);
      assert.deepEqual(lists(stream), lists(openStream(file.slice(0, bytes.length))));
    };
    const fetched = await fetchStream(url, { onPart, every: 0 });
    assert(seen.length > 3);
    assert.deepEqual(seen.at(-1), [file.length, true]);
    assert.deepEqual([fetched.complete, fetched.etag], [true, '"one"']);
    assert.deepEqual(fetched.bytes, file);
    assert.deepEqual(lists(fetched.stream), lists(openStream(file)));
    assert.deepEqual(site.asked, [[undefined, undefined]]);
  });

  test('parts come no faster than asked for, the first and the last always', async () => {
    reset();
    Object.assign(site, { pause: 1 });
    let calls = 0;
    await fetchStream(url, {
      onPart: () => {
        calls++;
      },
      every: 60_000,
    });
    assert.equal(calls, 2);
  });

  test('a budget is a prefix, and an upgrade fetches what is missing', async () => {
    reset();
    const budget = least + 500,
      first = await fetchStream(url, { budget });
    assert.deepEqual([first.bytes.length, first.complete], [budget, false]);
    assert.deepEqual(lists(first.stream), lists(openStream(file.slice(0, budget))));
    assert.equal(
      await fetchStream(url, { budget, previous: first }).then(({ stream }) => stream),
      first.stream,
    );
    const second = await fetchStream(url, { budget: budget + 300, previous: first });
    assert.equal(second.stream, first.stream);
    const { bytes, etag } = second,
      kept = { bytes: bytes.slice(), etag }; // as from a database
    const third = await fetchStream(url, { previous: kept });
    assert.deepEqual(third.bytes, file);
    assert.deepEqual(lists(third.stream), lists(openStream(file)));
    assert.deepEqual(kept.bytes, file.slice(0, budget + 300));
    await fetchStream(url, { previous: third });
    assert.deepEqual(site.asked, [
      [`bytes=0-${budget - 1}`, undefined],
      [`bytes=${budget}-${budget + 299}`, '"one"'],
      [`bytes=${budget + 300}-`, '"one"'],
    ]);
  });

  test('another file is fetched as a whole, and the former stream stays as it was', async () => {
    for (const change of [{}, { ignores: true }, { ranges: false }]) {
      reset();
      const budget = least + 500,
        first = await fetchStream(url, { budget }),
        had = lists(first.stream);
      Object.assign(site, { file: other, etag: '"two"', ...change });
      const second = await fetchStream(url, { previous: first });
      assert.notEqual(second.stream, first.stream);
      assert.deepEqual(second.bytes, other);
      assert.deepEqual(first.bytes, file.slice(0, budget));
      assert.deepEqual(lists(first.stream), had);
      site.ignores = false;
    }
  });

  test('without a strong tag nothing is continued', async () => {
    for (const etag of [undefined, 'W/"one"']) {
      reset();
      site.etag = etag;
      const first = await fetchStream(url, { budget: least + 500 });
      assert.equal(first.etag, etag ?? null);
      assert.deepEqual((await fetchStream(url, { previous: first })).bytes, file);
      assert.deepEqual(site.asked[1], [undefined, undefined]);
    }
  });

  test('a server without ranges serves a budget too', async () => {
    reset();
    site.ranges = false;
    const { bytes } = await fetchStream(url, { budget: least + 7 });
    assert.deepEqual(bytes, file.slice(0, least + 7));
  });

  test('a broken connection is continued from its last part', async () => {
    reset();
    Object.assign(site, { cut: least + 900, pause: 1 });
    let last;
    const onPart = (fetched) => {
      last = fetched;
    };
    await assert.rejects(fetchStream(url, { onPart, every: 0 }), TypeError);
    site.cut = Infinity;
    const { bytes, stream } = await fetchStream(url, { previous: last });
    assert.deepEqual(bytes, file);
    assert.equal(stream, last.stream);
    assert.equal(site.asked[1][0], `bytes=${last.bytes.length}-`);
  });

  test('a signal stops it', async () => {
    reset();
    Object.assign(site, { pause: 5 });
    const stop = new AbortController(),
      onPart = () => stop.abort();
    const fetched = fetchStream(url, { onPart, signal: stop.signal });
    await assert.rejects(fetched, { name: 'AbortError' });
  });

  test('a key verifies each part', async () => {
    reset();
    const key = publicKey,
      unverified = await fetchStream(url, { budget: least });
    const first = await fetchStream(url, { budget: least, key });
    assert.equal(first.stream.info().signed, true);
    const second = await fetchStream(url, { previous: unverified, key });
    assert.deepEqual([second.stream.info().signed, second.complete], [true, true]);
    site.file = file.slice();
    site.file.set(other.slice(-50), file.length - 50);
    await refused(() => fetchStream(url, { previous: first, key }));
    await refused(() => fetchStream(url, { key: keyPair().publicKey }), 'signature');
    await refused(() => fetchStream(url, { key, minSequence: 5000 }), 'sequence number');
  });

  test('what is no stream, too short, too long or not there is an error', async () => {
    reset();
    await assert.rejects(
      fetchStream(new URL('/nothing', url)),
      /found status 404, expected 200 or 206/,
    );
    await refused(() => fetchStream(url, { budget: least - 1 }), `${least}`);
    site.shift = 3;
    await refused(() => fetchStream(url, { budget: 10_000 }), 'first bytes');
    site.shift = 0;
    site.file = new TextEncoder().encode(`<!doctype html>${'no stream'.repeat(400)}`);
    await refused(() => fetchStream(url), 'first bytes of the stream');
    site.file = new Uint8Array(Buffer.concat([file, file]));
    await refused(() => fetchStream(url), 'length of the');
    site.file = new Uint8Array(0);
    await refused(() => fetchStream(url), 'length of the stream: found 0');
    for (const budget of ['5MB', -1, NaN, 0]) {
      await assert.rejects(
        fetchStream(url, { budget }),
        /budget: found .*, expected a number of bytes/,
      );
    }
    await assert.rejects(
      fetchStream(url, { onpart: () => {} }),
      /fetchStream: found option onpart/,
    );
  });
});
