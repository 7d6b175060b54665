// Ranks a stream of elasticrec-device by WebAssembly: the C runtime, with SIMD where there is some.

/** @typedef {import('./elasticrec-device.js').Stream} Stream an open stream */
/** @typedef {import('./elasticrec-device.js').Ask} Ask */
/** @typedef {import('./elasticrec-device.js').List} List */
/** @typedef {import('./elasticrec-device.js').Bytes} Bytes */
/** @typedef {Stream | FastStream} Ranker a stream that lists, plain or fast */
/** @typedef {Record<string, (...numbers: number[]) => number>} Calls what the module exports */

const ITEM = 24; // bytes of a listed item: score, number, why
const PAGE = 65536;
const OPTIONS = 'history vector k exclude only repeat why diversity'.split(' ');

/** The module, from beside this file. */
async function load() {
  const url = new URL('elasticrec.wasm', import.meta.url);
  if (url.protocol === 'file:') {
    const { readFile } = await import(/* webpackIgnore: true */ /** @type {any} */ ('node:fs/promises'));
    return WebAssembly.compile(await readFile(url));
  }
  return WebAssembly.compile(await (await fetch(url)).arrayBuffer());
}

/** @type {Promise<WebAssembly.Module> | undefined} compiled once, from the import on */
let compiled = load();
compiled.catch(() => {}); // `accelerate` tells

/** @param {Bytes} file */
const viewOf = (file) => (file instanceof ArrayBuffer ? new Uint8Array(file)
  : new Uint8Array(file.buffer, file.byteOffset, file.length));

/** A stream with the methods of the plain one, which it asks for all but lists. */
class FastStream {
  /** @type {Stream} */ #plain;
  /** @type {WebAssembly.Module} */ #module;
  /** @type {number} */ #items;
  #call = /** @type {Calls} */ ({});
  #memory = /** @type {WebAssembly.Memory | null} */ (null); #free = 0;
  #withdrawn = /** @type {Uint8Array | null} */ (null);

  /** @param {Stream} plain @param {WebAssembly.Module} module */
  constructor(plain, module) {
    [this.#plain, this.#module, this.#items] = [plain, module, plain.info().items];
  }
  get bytes() { return this.#plain.bytes; }
  get ids() { return this.#plain.ids; }
  info() { return this.#plain.info(); }
  /** @param {number} number */
  id(number) { return this.#plain.id(number); }
  /** @param {import('./elasticrec-device.js').Id} id */
  number(id) { return this.#plain.number(id); }
  /** @param {string | Bytes} file */
  catalogue(file) { return this.#plain.catalogue(file); }
  /** @param {Bytes} file */
  async refresh(file) {
    try {
      await this.#plain.refresh(file);
    } finally {
      this.#memory = null; // the next list opens what there is then
    }
    return this;
  }
  /** @param {Bytes} file */
  async withdraw(file) {
    await this.#plain.withdraw(file);
    this.#withdrawn = viewOf(file).slice(), this.#memory = null;
  }

  /** Room up to an address. @param {number} end */
  #grow(end) {
    const memory = /** @type {WebAssembly.Memory} */ (this.#memory);
    const more = Math.ceil((end - memory.buffer.byteLength) / PAGE);
    if (more > 0) memory.grow(more);
    return memory.buffer;
  }

  /** Opens what has arrived in an instance of its own. */
  #open() {
    const { exports } = new WebAssembly.Instance(this.#module), { bytes } = this.#plain;
    const { memory, __heap_base: base } = /** @type {any} */ (exports), data = (base.value + 15) & ~15;
    this.#call = /** @type {Calls} */ (/** @type {unknown} */ (exports)), this.#memory = memory;
    new Uint8Array(this.#grow(data + bytes.length)).set(bytes, data);
    const free = this.#call.plan(data, bytes.length) >>> 0;
    this.#grow(free + this.#call.work());
    let verdict = this.#call.open(data, bytes.length, free);
    if (this.#withdrawn && !verdict) {
      new Uint8Array(this.#grow(free + this.#withdrawn.length)).set(this.#withdrawn, free);
      verdict = this.#call.withdraw(free, this.#withdrawn.length);
    }
    if (verdict) throw new Error('the plain runtime takes what the fast one refuses');
    this.#free = free;
  }

  /** @param {Ask} [ask] @returns {List} */
  recommend(ask = {}) {
    const { history = [], vector, k = 20, exclude = [], only, repeat = false, why = false } = ask;
    const { diversity = 0 } = ask;
    const plain = this.#plain, lists = [history, exclude, only ?? []];
    const right = Number.isInteger(k) && k >= 0
      && typeof diversity === 'number' && diversity >= 0 && diversity <= 1
      && lists.every((list) => typeof list === 'object' && list && Symbol.iterator in list)
      && Object.keys(ask).every((name) => OPTIONS.includes(name));
    if (!right) return plain.recommend(ask); // which says what is wrong
    if (!this.#memory) this.#open();
    const numbers = lists.map((list) => Array.from(list, (id) => plain.number(id) >>> 0));
    const [h, e, o] = numbers.map(({ length }) => length), n = h + e + o;
    const file = vector ? viewOf(vector) : new Uint8Array(0), most = Math.min(k, this.#items);
    const given = [this.#free, h, e, only ? o : -1, file.length, most, diversity];
    const buffer = this.#grow(this.#call.ask_end(...given) >>> 0);
    new Uint32Array(buffer, this.#free, n).set(numbers.flat());
    new Uint8Array(buffer).set(file, this.#call.vector_at(this.#free, n));
    const at = this.#call.ask(...given, repeat ? 1 : 0, why ? 1 : 0) >>> 0;
    if (!at) return plain.recommend(ask); // the vector is refused
    const view = new DataView(buffer), items = Array.from({ length: this.#call.listed() }, (_, i) => {
      const number = view.getUint32(at + ITEM * i + 8, true), who = view.getUint32(at + ITEM * i + 12, true);
      const score = Number(view.getBigInt64(at + ITEM * i, true)), none = who === 0xffffffff;
      const because = why && { why: none ? null : plain.id(who) };
      return { id: plain.id(number), number, score, ...because };
    });
    return { items, unknown: numbers[0].filter((number) => number === 0xffffffff).length };
  }

  /** @param {import('./elasticrec-device.js').Id} id @param {{k?: number}} [options] @returns {List} */
  similar(id, options = {}) {
    const wrong = this.number(id) < 0 || Object.keys(options).some((name) => name !== 'k');
    return wrong ? this.#plain.similar(id, options) : this.recommend({ history: [id], ...options });
  }
}

/** The same stream, whose lists come faster; the stream itself where there is no WebAssembly with
 * SIMD. @param {Stream} stream @returns {Promise<Ranker>} */
export async function accelerate(stream) {
  try {
    return new FastStream(stream, await (compiled ??= load()));
  } catch { // no WebAssembly, none with SIMD, or the module is not to be had
    compiled = undefined;
    return stream;
  }
}
