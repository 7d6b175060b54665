// Device: the bundle that this browser holds, and the lists that it ranks from it.

import { applyPatch, openBundle, readBundle } from './elasticrec-device.js';
import { Away } from './service.js';

/** @typedef {import('./service.js').About} About */
/** @typedef {import('./service.js').Watch} Watch */
/** @typedef {{how: 'held' | 'kept' | 'patch' | 'file', bytes: number}} Move what a size cost */

const CAN_HASH = globalThis.crypto?.subtle !== undefined; // browsers do so on https and localhost

/** Holds one bundle at a time. */
export class Device {
  #service;
  #file = new ArrayBuffer(0);
  /** @type {import('./elasticrec-device.js').Bundle | undefined} */
  bundle;
  /** @type {About | undefined} */
  about;

  /** @param {import('./service.js').Service} service */
  constructor(service) {
    this.#service = service;
  }

  /**
   * Hold another bundle: what this browser has, else what the one held lacks of it, else the file.
   * @param {About} about @param {Watch} watch @returns {Promise<Move>}
   */
  async moveTo(about, watch) {
    if (about.sha256 === this.about?.sha256) return { how: 'held', bytes: 0 };
    const got = await this.#kept(about) ?? await this.#patched(about, watch)
      ?? await this.#whole(about, watch);
    const bundle = await opened(got.file, about);
    watch.signal?.throwIfAborted();
    [this.bundle, this.about, this.#file] = [bundle, about, got.file];
    await this.#service.keep(about.url, got.file);
    return { how: got.how, bytes: got.bytes };
  }

  /** @param {About} about */
  async #kept(about) {
    const file = await this.#service.kept(about.url);
    return file && { how: /** @type {const} */ ('kept'), bytes: 0, file };
  }

  /** @param {About} about @param {Watch} watch */
  async #patched(about, watch) {
    if (!CAN_HASH || this.about?.model_id !== about.model_id) return undefined;
    const url = `${this.about.url}/upgrade?to=${about.sha256}`;
    try {
      const patch = await this.#service.download(url, watch, about.file_bytes);
      const file = await applyPatch(this.#file, patch);
      return { how: /** @type {const} */ ('patch'), bytes: patch.byteLength, file };
    } catch (error) {
      if (watch.signal?.aborted || error instanceof Away) throw error;
      return undefined; // the server has forgotten the old one, or a patch is no use
    }
  }

  /** @param {About} about @param {Watch} watch */
  async #whole(about, watch) {
    const file = await this.#service.download(about.url, watch);
    return { how: /** @type {const} */ ('file'), bytes: file.byteLength, file };
  }

  /** Ids and titles by item number, checked where the browser can. @param {ArrayBuffer} file */
  async catalogue(file) {
    if (!this.bundle) throw new Error('no bundle is held');
    return CAN_HASH ? this.bundle.catalogue(file) : JSON.parse(new TextDecoder().decode(file));
  }

  /** The best items for a history of item numbers, and how long that took.
   * @param {number[]} numbers @param {number} k */
  recommend(numbers, k) {
    const { bundle } = this;
    if (!bundle) return { items: [], ms: 0 };
    const history = numbers.map((number) => bundle.id(number)), start = performance.now();
    const { items } = bundle.recommend({ history, k, why: true });
    const ms = performance.now() - start;
    return { items: items.map(({ number, why }) => (
      { number, why: why == null ? -1 : bundle.number(why) })), ms };
  }

  /** Bytes that ranking holds: the file, and what the runtime makes of it. */
  get memoryBytes() {
    if (!this.bundle) return 0;
    const { dimensions: D, groups, items: V, hasMap } = this.bundle.info();
    const tables = 4 * 256 * (1 + (36 * D) / 8), means = 4 * D * (groups.length + 1);
    const marks = 2 * Math.ceil(V / 8), stretch = 3 * 4 * 2048;
    return this.#file.byteLength + tables + means + (hasMap ? 4 * D * D : 0) + marks + stretch;
  }
}

/** @param {ArrayBuffer} file @param {About} about */
function opened(file, { sha256 }) {
  return CAN_HASH ? openBundle(file, { sha256 }) : readBundle(file);
}
