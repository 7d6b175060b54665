// Holding: as much of a model's stream as this browser has. More is fetched, less is cut.
// What is here whole ranks by WebAssembly where there is some, all else by the plain runtime.

import { Away, opened } from './models.js';

/** @typedef {import('./models.js').Model} Model */
/** @typedef {import('./elasticrec-wasm.js').Ranker} Stream */
/** @typedef {{signal?: AbortSignal, arrived?: (stream: Stream, bytes: number) => void}} Watch */

const runtime = () => import('./elasticrec-device.js'); // after what is seen first
const faster = () => import('./elasticrec-wasm.js').catch(() => null);
const STREAMS = 'elasticrec-streams-2', SHA256 = 'x-stream-sha256';
const PART_MS = 150; // between two rankings while a stream arrives

/** The beginning of one model's stream. */
export class Holding {
  #model; #withdrawn;
  #last = /** @type {Promise<unknown>} */ (Promise.resolve());
  #held = /** @type {{bytes: Uint8Array<ArrayBuffer>, etag: string | null} | null} */ (null);

  /** @param {Model} model @param {ArrayBuffer | null} withdrawn its list */
  constructor(model, withdrawn) {
    this.#model = model;
    this.#withdrawn = withdrawn;
  }

  /** Bytes that this browser has. */
  get bytes() {
    return this.#held?.bytes.length ?? 0;
  }

  /** The beginning of what this browser has. @param {number} size */
  part(size) {
    return this.#held?.bytes.subarray(0, size) ?? null;
  }

  get #key() {
    return new URL(`held/${this.#model.name}`, document.baseURI).href;
  }

  /** Take up the bytes of an earlier visit, unless they are of another stream. */
  async remember() {
    const found = await (await opened(STREAMS))?.match(this.#key);
    if (found?.headers.get(SHA256) !== this.#model.sha256) return;
    const bytes = new Uint8Array(await found.arrayBuffer());
    this.#held = { bytes, etag: found.headers.get('etag') };
  }

  /**
   * The recommender of a size; one is fetched after the other.
   * @param {number} size @param {Watch} [watch]
   */
  get(size, watch = {}) {
    const turn = this.#last.catch(() => {}).then(() => this.#get(size, watch));
    this.#last = turn;
    return turn;
  }

  /**
   * The recommender of a size, and how many bytes were fetched for it: those that were missing.
   * @param {number} size @param {Watch} watch `arrived` gets every part that ranks already
   */
  async #get(size, { signal, arrived }) {
    const before = this.bytes;
    if (before >= size) {
      const { openStream } = await runtime();
      const bytes = /** @type {any} */ (this.#held).bytes.subarray(0, size);
      return { stream: await this.#faster(openStream(bytes)), fetched: 0 };
    }
    let start = before;
    const { fetchStream } = await runtime();
    faster(); // while the stream arrives
    const onPart = async (/** @type {any} */ { stream, bytes, etag }) => {
      if (stream.info().modelId !== this.#model.model_id) {
        throw new Error('the model was replaced meanwhile, so load this page again');
      }
      if (etag !== this.#held?.etag) start = 0; // the file was another one
      this.#held = { bytes, etag };
      arrived?.(await this.#withdraw(stream), bytes.length);
    };
    const how = { budget: size, previous: this.#held, signal, onPart, every: PART_MS };
    const { stream } = await fetchStream(this.#model.files.stream, how).catch((error) => {
      throw error instanceof TypeError ? new Away() : error;
    });
    await this.#keep();
    return { stream: await this.#faster(stream), fetched: this.bytes - start };
  }

  /** The stream as it ranks fastest here.
   * @param {import('./elasticrec-device.js').Stream} stream */
  async #faster(stream) {
    return this.#withdraw(await (await faster())?.accelerate(stream) ?? stream);
  }

  /** @param {Stream} stream */
  async #withdraw(stream) {
    if (this.#withdrawn) await stream.withdraw(this.#withdrawn);
    return stream;
  }

  async #keep() {
    const cache = await opened(STREAMS);
    if (!cache || !this.#held) return;
    const { bytes, etag } = this.#held;
    const headers = { [SHA256]: this.#model.sha256, ...(etag ? { etag } : {}) };
    await cache.put(this.#key, new Response(bytes, { headers })).catch(() => {}); // no room
  }
}
