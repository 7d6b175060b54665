// Traffic: every request that this page makes, as the browser itself reports them.

/** Counts requests, in all and since a moment. */
export class Traffic {
  #seen = /** @type {number[]} */ ([]); // when each request began
  #since = Infinity;
  #changed;

  /** @param {() => void} changed called after every new request */
  constructor(changed) {
    this.#changed = changed;
    const observer = new PerformanceObserver((list) => this.#note(list.getEntries()));
    observer.observe({ type: 'resource', buffered: true });
  }

  /** From now on requests count as new: nothing that is still expected is under way. */
  settle() {
    this.#since = performance.now();
    this.#changed();
  }

  /** Requests may come: one was asked for. */
  expect() {
    this.#since = Infinity;
  }

  /** Requests in all, those for the page's own files included. */
  get total() {
    return this.#seen.length;
  }

  /** Requests since the last download. */
  get since() {
    return this.#seen.filter((start) => start > this.#since).length;
  }

  /** @param {PerformanceEntryList} entries */
  #note(entries) {
    this.#seen.push(...entries.map((entry) => entry.startTime));
    this.#changed();
  }
}
