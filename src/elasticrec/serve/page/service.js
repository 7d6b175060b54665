// Service: what the server offers, and what this browser keeps of it for when there is no network.

/**
 * @typedef {object} Model one model, as /v1/models tells
 * @property {string} name
 * @property {string} model_id
 * @property {number} n_items
 * @property {number} full_bytes
 * @property {number[]} steps
 * @property {string} metric
 * @property {string} person
 * @property {{sha256: string, url: string}} catalogue
 * @property {string} curve
 * @property {string} bundles
 */
/**
 * @typedef {object} Point one size, as /v1/models/…/curve tells
 * @property {number} budget_bytes
 * @property {number} file_bytes
 * @property {number} estimate
 * @property {boolean} searched whether the estimate is final
 */
/**
 * @typedef {object} About one bundle, as /v1/models/…/bundles tells
 * @property {string} model_id
 * @property {number} step_bytes
 * @property {number} file_bytes
 * @property {string} sha256
 * @property {string} url
 * @property {number} estimate
 * @property {{sha256: string, url: string}} catalogue
 * @property {{group_sizes: number[], depths: number[][], neighbours: number[]}} composition
 */
/** @typedef {{signal?: AbortSignal, progress?: (done: number, all: number) => void}} Watch */

const FILES = 'elasticrec-files-1', DOCUMENTS = 'elasticrec-documents-1';
const MOST_BYTES = 60e6; // of the bundles that are kept

/** The server answered, but not with what was asked for. */
export class Refused extends Error { name = 'Refused'; }

/** There is no network, or no server. */
export class Away extends Error {
  name = 'Away';

  constructor() {
    super('the server cannot be reached');
  }
}

/** Talks to the server; nothing else on this page does. */
export class Service {
  /** @param {() => void} expect called before every request */
  constructor(expect) {
    this.expect = expect;
  }

  /** @returns {Promise<Model[]>} */
  async models() {
    return (await this.#document('v1/models')).models;
  }

  /** @param {Model} model @returns {Promise<Point[]>} */
  async curve(model) {
    return (await this.#document(model.curve)).points;
  }

  /** @param {Model} model @param {number} step @param {Watch} watch @returns {Promise<About>} */
  bundle(model, step, watch) {
    return this.#document(`${model.bundles}?budget=${step}`, watch);
  }

  /** The catalogue; others that were kept are forgotten. @param {{url: string}} link */
  async catalogue({ url }) {
    const kept = await this.kept(url);
    if (kept) return kept;
    const bytes = await this.download(url);
    await this.keep(url, bytes, 0);
    return bytes;
  }

  /** A file that this browser has, else undefined. @param {string} url */
  async kept(url) {
    const found = await opened(FILES)?.then((cache) => cache.match(url));
    return found?.arrayBuffer();
  }

  /**
   * A file from the server.
   * @param {string} url @param {Watch} [watch] @param {number} [below] refuse as many bytes or more
   */
  async download(url, { signal, progress } = {}, below = Infinity) {
    const response = await this.#asked(url, { signal });
    const length = Number(response.headers.get('content-length'));
    if (length >= below) {
      await response.body?.cancel();
      throw new Refused(`${length} bytes, expected fewer than ${below}`);
    }
    return read(response, length, progress);
  }

  /**
   * Keep a file called by its hash for later, and those like it that were used last.
   * @param {string} url @param {ArrayBuffer} bytes @param {number} [room] bytes for others like it
   */
  async keep(url, bytes, room = MOST_BYTES - bytes.byteLength) {
    const cache = await opened(FILES);
    if (!cache) return;
    const folder = new URL('.', new URL(url, document.baseURI)).href;
    await cache.delete(url); // the newest come last
    const headers = { 'content-length': `${bytes.byteLength}` };
    await cache.put(url, new Response(bytes, { headers }));
    const alike = (await cache.keys()).filter((request) => request.url.startsWith(folder));
    for (const request of alike.reverse().slice(1)) {
      room -= Number((await cache.match(request))?.headers.get('content-length'));
      if (room < 0) await cache.delete(request);
    }
  }

  /**
   * What the server says now; what it said before, where it cannot be reached.
   * @param {string} url @param {Watch} [watch] @returns {Promise<any>}
   */
  async #document(url, { signal } = {}) {
    const cache = await opened(DOCUMENTS);
    try {
      const response = await this.#asked(url, { signal, headers: { accept: 'application/json' } });
      await cache?.put(url, response.clone());
      return await response.json();
    } catch (error) {
      const kept = error instanceof Away && await cache?.match(url, { ignoreVary: true });
      if (kept) return kept.json();
      throw error;
    }
  }

  /** The server's answer, if it is a good one. @param {string} url @param {RequestInit} how */
  async #asked(url, how) {
    this.expect();
    const response = await fetch(url, { ...how, cache: 'no-cache' }).catch((error) => {
      throw how.signal?.aborted ? error : new Away();
    });
    if (response.ok) return response;
    const problem = await response.json().catch(() => ({}));
    throw new Refused(problem.detail ?? `the server answered ${response.status}`);
  }
}

/** A cache by name; undefined where the browser offers none (plain http).
 * @param {string} name @returns {Promise<Cache> | undefined} */
function opened(name) {
  return globalThis.caches?.open(name);
}

/**
 * The body of a response.
 * @param {Response} response @param {number} length @param {Watch['progress']} progress
 */
async function read(response, length, progress) {
  if (!progress || !length || !response.body) return response.arrayBuffer();
  const bytes = new Uint8Array(length), reader = response.body.getReader();
  for (let at = 0; ;) {
    const { done, value } = await reader.read();
    if (done && at === length) return bytes.buffer;
    if (done || at + value.length > length) throw new Error(`${at} of ${length} bytes arrived`);
    bytes.set(value, at);
    at += value.length;
    progress(at, length);
  }
}
