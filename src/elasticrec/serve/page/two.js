// Two: the lists of two sizes side by side, and what changed from the one to the other.

import { compared, comparedText } from './compare.js';
import { showCompared } from './lists.js';
import { sizeText } from './words.js';

/** @typedef {import('./elasticrec-wasm.js').Ranker} Stream */
/** @typedef {import('./sizes.js').Point} Point */

/** Two chosen sizes; the smaller one counts as the earlier one. */
export class Two {
  #at = /** @type {(id: string) => any} */ (() => {});
  #get; #list; #name;
  #points = /** @type {Point[]} */ ([]);
  #streams = /** @type {Map<number, Stream>} */ (new Map());
  #turn = 0;

  /**
   * @param {(id: string) => any} at finds an element
   * @param {(size: number) => Promise<{stream: Stream}>} get
   * @param {(stream: Stream) => {number: number}[]} list @param {(number: number) => string} name
   */
  constructor(at, get, list, name) {
    this.#at = at;
    this.#get = get;
    this.#list = list;
    this.#name = name;
    for (const side of ['left', 'right']) {
      at(side).addEventListener('change', () => this.show());
    }
  }

  /** Offer the sizes of a model. @param {Point[]} points @param {number} chosen */
  offer(points, chosen) {
    [this.#points, this.#streams] = [points, new Map()];
    for (const [side, number] of Object.entries({ left: 0, right: chosen })) {
      const select = this.#at(side);
      select.replaceChildren(...points.map(({ bytes }) => new Option(sizeText(bytes))));
      [select.selectedIndex, select.disabled] = [number, false];
    }
    return this.show();
  }

  /** Rank with both sizes, and show what changed. */
  async show() {
    const turn = ++this.#turn, sides = ['left', 'right'];
    const sizes = sides.map((side) => this.#points[this.#at(side).selectedIndex]?.bytes);
    if (sizes.includes(/** @type {any} */ (undefined))) return;
    try {
      const streams = [];
      for (const size of sizes) streams.push(await this.#stream(size));
      if (turn !== this.#turn) return;
      const lists = streams.map((stream) => this.#list(stream).map(({ number }) => number));
      const later = sizes[1] >= sizes[0] ? 1 : 0;
      sides.forEach((side, n) => showCompared(this.#at(`${side}-list`),
        compared(lists[n], lists[1 - n], n === later), this.#name));
      this.#at('compared').textContent = comparedText(lists[1 - later], lists[later]);
    } catch (error) {
      const reason = error instanceof Error ? error.message : `${error}`;
      if (turn !== this.#turn) return;
      this.#at('compared').textContent = `The sizes cannot be compared now: ${reason}.`;
    }
  }

  /** The stream of a size, which is opened once. @param {number} size */
  async #stream(size) {
    const found = this.#streams.get(size) ?? (await this.#get(size)).stream;
    this.#streams.set(size, found);
    return found;
  }
}
