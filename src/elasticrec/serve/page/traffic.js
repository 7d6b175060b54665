// Traffic: every request that this page makes, as the browser itself reports them.

/** Counts requests since the last download. */
export class Traffic {
  #seen = /** @type {number[]} */ ([]); // when each request began
  #since = Infinity;
  #expected = 0;
  #changed;

  /** @param {() => void} changed called after every new request */
  constructor(changed) {
    this.#changed = changed;
    const observer = new PerformanceObserver((list) => {
      this.#seen.push(...list.getEntries().map((entry) => entry.startTime));
      this.#changed();
    });
    observer.observe({ type: 'resource', buffered: true });
  }

  /** Requests are expected while this work goes on. @template T @param {Promise<T>} work */
  async during(work) {
    this.#expected++;
    try {
      return await work;
    } finally {
      this.#expected--;
      this.#since = performance.now();
      this.#changed();
    }
  }

  /** Requests since the last download; infinite while one goes on. */
  get since() {
    if (this.#expected || this.#since === Infinity) return Infinity;
    return this.#seen.filter((start) => start > this.#since).length;
  }
}
