// Ranks a catalogue on the device from one stream, every prefix of which is a recommender.
// For browsers and Node 20. Written from docs/stream-format.md; [n] names a section of that page.

/** @typedef {ArrayBuffer | Uint8Array<ArrayBuffer>} Bytes a file's bytes */
/** @typedef {Uint8Array<ArrayBuffer>} View bytes that are not copied */
/** @typedef {number | bigint | string} Id an item's id; integers from 2^53 on are bigints */
/** @typedef {{history?: Iterable<Id>, vector?: Bytes | null, k?: number, exclude?: Iterable<Id>,
 * only?: Iterable<Id> | null, repeat?: boolean, why?: boolean,
 * diversity?: number}} Ask as README.md explains */
/** @typedef {{id: Id, number: number, score: number, why?: Id | null}} Listed one item of a list */
/** @typedef {{items: Listed[], unknown: number}} List `unknown`: history ids that were skipped */
/** @typedef {{ids: string[], titles: (string | null)[] | null}} Catalogue by item number */
/** @typedef {{minSequence?: number | bigint}} OpenOptions refuse a smaller sequence number */
/** @typedef {{bytes: View, etag: string | null, stream: Stream, complete: boolean}} Fetched */
/** @typedef {OpenOptions & {onPart?: (fetched: Fetched) => unknown, every?: number, key?: View,
 * budget?: number, previous?: Partial<Fetched> | null, signal?: AbortSignal}} FetchOptions */
/** @typedef {ReturnType<typeof chunksOf> extends Generator<infer T> ? T : never} Chunk */
/** @typedef {{width: number, words: Int8Array, have: number}} Codebook `have` codewords so far */
/** @typedef {{book: Codebook, first: number, scale: number, gain: number,
 * weights: number[]}} Column */

/** A file breaks a rule of the format, is cut too short, or belongs to another model. */
export class StreamError extends Error { name = 'StreamError'; }

const MAGIC = '89454c4153544943', VECTOR = '89454c564543544f', WITHDRAWN = '89454c5749544844';
const CODEBOOK = 1, COLUMNS = 2, CODES = 3, NEIGHBOURS = 4, IDS = 5; // kinds of chunks
const TILE = 2048; // items scored at a time: their sums stay in the processor's cache
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }); // a mark is text too

/** @param {string} what @param {unknown} found @param {unknown} expected @returns {never} */
function refuse(what, found, expected) {
  throw new StreamError(`${what}: found ${found}, expected ${expected}`);
}
/** @param {unknown} found @param {unknown} expected @param {string} what */
const same = (found, expected, what) => found === expected || refuse(what, found, expected);
/** @param {number} value @param {number} least @param {number} most @param {string} what */
const within = (value, least, most, what) => (
  value >= least && value <= most ? value : refuse(what, value, `${least} to ${most}`));
/** @param {object} options @param {string} names @param {string} what */
function checkOptions(options, names, what) {
  const wrong = Object.keys(Object(options)).find((name) => !names.split(' ').includes(name));
  if (Object(options) === options && wrong === undefined) return;
  throw new TypeError(`${what}: found option ${wrong ?? options}, expected any of: ${names}`);
}
/** The bytes as they lie; never as a Buffer, whose slice is no copy. @param {Bytes} file */
function bytesOf(file) {
  if (file instanceof ArrayBuffer) return new Uint8Array(file);
  if (file instanceof Uint8Array) return new Uint8Array(file.buffer, file.byteOffset, file.length);
  throw new TypeError(`file: found ${typeof file}, expected an ArrayBuffer or a Uint8Array`);
}
/** @param {View} bytes */
const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
/** @param {Uint8Array} bytes */
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
/** A number, or from 2^53 on a bigint. @param {bigint} value */
const plain = (value) => (value > Number.MAX_SAFE_INTEGER ? value : Number(value));
/** Item numbers by rising id, none twice [5]; sorted, as ids can be made to collide in a Map.
 * @param {Id[]} ids */
function orderOf(ids) {
  const order = Uint32Array.from(ids.keys()).sort((a, b) => (ids[a] < ids[b] ? -1 : 1));
  const again = order.find((number, i) => i > 0 && ids[number] === ids[order[i - 1]]);
  return again === undefined ? order : refuse('ids', `${ids[again]} twice`, 'each once');
}
/** 1 at some item numbers below V, -1 being none. @param {number} V
 * @param {Iterable<number>} numbers */
function marksOf(V, numbers) {
  const marks = new Uint8Array(V);
  for (const i of numbers) if (i >= 0) marks[i] = 1;
  return marks;
}

const CRC = Uint32Array.from({ length: 256 }, (_, i) => {
  for (let bit = 0; bit < 8; bit++) i = (i >>> 1) ^ (i & 1 ? 0xedb88320 : 0);
  return i;
});
/** @param {Uint8Array} bytes */
function crc32(bytes) {
  let c = -1;
  for (let i = 0; i < bytes.length; i++) c = (c >>> 8) ^ CRC[(c ^ bytes[i]) & 255];
  return ~c >>> 0;
}

/** Checks how a file begins. @param {View} bytes @param {number} least its length at least
 * @param {string} magic @param {number} version @param {string} what */
function checkStart(bytes, least, magic, version, what) {
  within(bytes.length, least, 2 ** 40, `length of the ${what}`);
  same(hex(bytes.subarray(0, 8)), magic, `first bytes of the ${what}`);
  same(bytes[8] | (bytes[9] << 8), version, `version of the ${what}`);
  return viewOf(bytes);
}
/** @param {DataView} view @param {number} at @param {string} what */
const float = (view, at, what) => within(view.getFloat32(at, true), 0, 1e9, what);

/** The head [1]: what it says, and what ranking needs of it. @param {View} bytes */
function readHead(bytes) {
  const view = checkStart(bytes, 12, MAGIC, 4, 'stream');
  const N = within(view.getUint16(10, true), 1, 64, 'blocks of an item'), D = 8 * N, size = 276 + D;
  within(bytes.length, size, 2 ** 40, 'length of the stream');
  same(crc32(bytes.subarray(0, size - 4)), view.getUint32(size - 4, true), 'CRC of the head');
  same(view.getUint32(20, true), 0, 'reserved bytes of the head');
  const values = Array.from({ length: 16 }, (_, v) => view.getUint16(120 + 2 * v, true));
  same(values[0], 0, 'value of vote 0');
  values.reduce((last, value) => within(value, last, 65535, 'value of a vote'));
  const longs = [24, 32, 40, 48].map((at) => view.getBigUint64(at, true));
  const [, trained, least, length] = longs.map(Number), catalogue = hex(bytes.subarray(88, 120));
  const V = within(view.getUint32(12, true), 1, Math.min(2 ** 26, least), 'number of items');
  return {
    version: 4, modelId: hex(bytes.subarray(56, 88)), sequence: plain(longs[0]), items: V,
    least: within(least, size + 33, 2 ** 40, 'least'), dimensions: D, minSupport: bytes[19],
    length: within(length, least, 2 ** 40, 'length of the whole stream'),
    idKind: ['dense', 'u32', 'u64', 'text'][within(bytes[16], 0, 3, 'id kind')],
    score: ['dot', 'cosine'][within(bytes[17], 0, 1, 'score')],
    person: ['history', 'vector and history'][within(bytes[18], 0, 1, 'person')],
    trained: within(trained, 0, 253402300799, 'date of the training'),
    catalogue: /[^0]/.test(catalogue) ? catalogue : null, size, values,
    bits: Math.max(1, 32 - Math.clz32(V - 1)), popularity: bytes.slice(152, 180),
    unit: float(view, 180, 'unit'), recency: float(view, 184, 'recency'),
    weights: [188, 192].map((at) => float(view, at, 'vote weight')),
    mean: new Int8Array(bytes.slice(196, 196 + D).buffer),
    link: hex(bytes.subarray(196 + D, 208 + D)), signature: bytes.slice(208 + D, 272 + D),
  };
}

/** The complete chunks from a place on [2]. @param {DataView} view @param {number} start
 * @param {number} limit bytes that may be read @param {number} length of the whole stream */
function* chunksOf(view, start, limit, length) {
  for (let stop = start; start < Math.min(length, limit); start = stop) {
    within(start + 32, 0, length, 'end of the last chunk');
    if (start + 32 > limit) return;
    const field = (/** @type {number} */ i) => view.getUint32(start + 4 * i, true), at = start + 32;
    const [size, kinds, first, count, crc] = [0, 1, 2, 3, 4].map(field);
    const kind = kinds & 255, width = (kinds >> 8) & 255, which = kinds >>> 16;
    stop = within(at + size, 0, length, 'end of the last chunk');
    if (stop > limit) return;
    yield { start, stop, at, size, kind, width, which, first, count, crc, end: first + count };
  }
}

/** Checks fields of a chunk. @param {Chunk} chunk @param {number} width @param {number} which
 * @param {number} first @param {number} most of count @param {number} each bytes, 0 if they vary */
function checkChunk(chunk, width, which, first, most, each) {
  same(chunk.width, width, 'width'), same(chunk.which, which, 'which');
  same(chunk.first, first, 'first'), within(chunk.count, 1, most, 'count');
  if (each) same(chunk.size, each * chunk.count, 'length of the payload');
}

/** Chunks with any of some items. @param {Chunk[]} chunks @param {number} lo @param {number} hi */
const covering = (chunks, lo, hi) => chunks.filter(({ first, end }) => first < hi && end > lo);
/** A number of binary16. @param {number} bits */
function half(bits) {
  const power = (bits >> 10) & 31, whole = (power && 1024) + (bits & 1023);
  const size = whole * 2 ** (Math.max(1, power) - 25); // above 65,504 if it is not finite
  return within(bits & 0x8000 ? -size : size, -65504, 65504, 'number of the vector');
}
/** @param {View} bytes */
function textOf(bytes) {
  try { return utf8.decode(bytes); } catch { return refuse('text', 'other bytes', 'UTF-8'); }
}
function webCrypto() {
  if (globalThis.crypto?.subtle) return globalThis.crypto.subtle;
  throw new Error('found no WebCrypto, expected one: browsers offer it on https and on localhost');
}
/** @param {View} bytes */
const sha256 = async (bytes) => hex(new Uint8Array(await webCrypto().digest('SHA-256', bytes)));
/** @param {CryptoKey} key @param {View} signature @param {View} signed @param {string} what */
async function checkSignature(key, signature, signed, what) {
  const right = await webCrypto().verify('Ed25519', key, signature, signed);
  const found = signature.some((byte) => byte) ? 'a wrong one' : 'none';
  if (!right) refuse(`signature of the ${what}`, found, 'one by the key');
}

/** An open stream; made by `openStream`, `openSigned` or `fetchStream`. */
export class Stream {
  #bytes; #view; #head; #key; #link; #end; #covered; #withdrawn; #chunks = 0; #used = 0;
  #books = /** @type {Codebook[]} */ ([]); #columns = /** @type {Column[]} */ ([]);
  #codes = /** @type {Chunk[]} */ ([]); #slots = /** @type {Chunk[]} */ ([]);
  #ids = /** @type {Id[]} */ ([]); #order = /** @type {Uint32Array | null} */ (null); // by id
  #columnsOf; #slotsOf; #voteOf; #gains; // of each item; 1 more than the gain, 0: not known

  /** @param {View} bytes @param {OpenOptions} options @param {CryptoKey} [key] to be verified by */
  constructor(bytes, options, key) {
    checkOptions(options, 'minSequence', 'open');
    const { minSequence = 0 } = options, head = readHead(bytes), { items: V, sequence } = head;
    if (sequence < minSequence) refuse('sequence number', sequence, `${minSequence} or more`);
    this.#bytes = bytes, this.#view = viewOf(bytes), this.#head = head, this.#key = key;
    this.#link = head.link, this.#end = head.size, this.#withdrawn = new Uint8Array(V);
    this.#columnsOf = new Uint16Array(V), this.#slotsOf = new Uint8Array(V);
    this.#voteOf = new Uint8Array(V), this.#gains = new Uint16Array(V);
    this.#covered = new Uint16Array(head.dimensions / 8 + 1); // sums of scales, and of widths
    if (!key) this.#read(bytes, bytes.length);
  }

  /** What the head says, and what has arrived. */
  info() {
    const { size, values, bits, popularity, unit, recency, weights, mean, link, signature, ...about
    } = this.#head, [bytes, chunks, columns] = [this.#end, this.#chunks, this.#used];
    const listable = this.#columnsOf.filter((have, i) => have || this.#slotsOf[i]).length;
    return { ...about, bytes, chunks, columns, listable, signed: this.#key !== undefined };
  }

  /** The bytes that it ranks with, which are not to be changed. */
  get bytes() { return this.#bytes.subarray(0, this.#end); }
  get #dense() { return this.#head.idKind === 'dense'; }
  /** The ids that have arrived, by item number. @returns {Id[]} */
  get ids() { return this.#dense ? Array.from(this.#slotsOf, (_, i) => i) : [...this.#ids]; }
  /** The id of an item whose id has arrived. @param {number} number */
  id(number) { return this.#dense ? number : this.#ids[number]; }
  /** The number of an item, -1 if its id does not occur. @param {Id} id */
  number(id) {
    const { idKind } = this.#head, whole = typeof id === 'bigint' || Number.isSafeInteger(id);
    if (idKind === 'text' ? typeof id !== 'string' : !whole) {
      throw new TypeError(`id: found ${typeof id} ${String(id)}, expected one of kind ${idKind}`);
    }
    const key = typeof id === 'bigint' ? plain(id) : id;
    if (this.#dense) return Number(key) >= 0 && Number(key) < this.#head.items ? Number(key) : -1;
    const ids = this.#ids, order = this.#order ??= orderOf(ids);
    let low = 0, high = order.length;
    for (let middle; low < high;) {
      if (ids[order[middle = (low + high) >> 1]] < key) low = middle + 1;
      else high = middle;
    }
    return ids[order[low]] === key ? order[low] : -1;
  }

  /** Takes a longer prefix. If it is refused, the stream stays as it was before the wrong chunk.
   * @param {Bytes} file @returns {Promise<Stream>} */
  async refresh(file) {
    const bytes = bytesOf(file), old = this.#bytes, { length } = this.#head;
    let link = this.#link, end = this.#end;
    within(bytes.length, end, length, 'length of the longer prefix');
    if (bytes.buffer !== old.buffer || bytes.byteOffset !== old.byteOffset)
      for (let i = 0; i < end; i++) same(bytes[i], old[i], 'byte of the longer prefix');
    if (!this.#key) end = bytes.length;
    else for (const { start, stop } of chunksOf(viewOf(bytes), end, bytes.length, length)) {
      const found = await sha256(bytes.subarray(start, stop)); // [12]
      same(found.slice(0, 24), link, `SHA-256 of the chunk at byte ${start}`);
      [link, end] = [hex(bytes.subarray(start + 20, start + 32)), stop];
    }
    if (this.#key && end === length) same(link, '0'.repeat(24), 'link of the last chunk');
    this.#read(bytes, end);
    return this;
  }

  /** Reads the complete chunks up to a limit [2]. @param {View} bytes @param {number} limit */
  #read(bytes, limit) {
    const { least, length } = this.#head, view = viewOf(bytes);
    within(bytes.length, least, length, 'length of the prefix, from least to the whole');
    if (limit < this.#end) return; // a longer prefix came while this one was verified
    [this.#bytes, this.#view] = [bytes, view];
    for (const chunk of chunksOf(view, this.#end, limit, length)) {
      const { start, stop, crc } = chunk;
      try {
        same(crc32(bytes.slice(start, stop).fill(0, 16, 20)), crc, 'CRC');
        within(start, 4096 * (this.#chunks - 1024), length, 'start');
        if (start < least) within(stop, start, least, 'end, as least is the end of a chunk');
        this.#take(chunk);
      } catch (error) {
        if (!(error instanceof StreamError)) throw error;
        throw new StreamError(`chunk ${this.#chunks} at byte ${start}: ${error.message}`);
      }
      [this.#end, this.#link] = [stop, hex(bytes.subarray(start + 20, start + 32))];
      this.#chunks++;
    }
    within(this.#end, least, length, 'end of the last chunk, as least is the end of one');
  }

  /** Takes a chunk, or refuses it and changes nothing. @param {Chunk} chunk */
  #take(chunk) {
    const { kind, which, first, end } = chunk, { items: V } = this.#head;
    within(kind, CODEBOOK, IDS, 'kind');
    if (kind === CODEBOOK) return this.#takeCodebook(chunk);
    if (kind === COLUMNS) return this.#takeColumns(chunk);
    if (kind === IDS) return this.#takeIds(chunk);
    const codes = kind === CODES, of = codes ? this.#columnsOf : this.#slotsOf;
    checkChunk(chunk, 0, which, first, V - first, codes ? 1 : 0);
    within(end, 1, this.#dense ? V : this.#ids.length, 'end of the items, which have ids');
    within(which, 0, codes ? this.#columns.length - 1 : 63, 'column or slot');
    const other = of.subarray(first, end).findIndex((have) => have !== which);
    if (other >= 0) refuse(`column or slot of item ${first + other}`, which, of[first + other]);
    if (!codes) this.#takeVotes(chunk);
    for (let i = first; i < end; i++) of[i]++;
    if (codes) this.#used = Math.max(this.#used, which + 1), this.#gains.fill(0, first, end);
    (codes ? this.#codes : this.#slots).push(chunk);
  }

  /** @param {Chunk} chunk */
  #takeCodebook(chunk) {
    const { width, first, count, at, size } = chunk, books = this.#books;
    const open = books.find(({ have }) => have < 32), have = open?.have ?? 0;
    const number = within(books.length - (open ? 1 : 0), 0, 63, 'number of codebooks');
    within(width, 1, this.#head.dimensions / 8, 'width');
    checkChunk(chunk, open?.width ?? width, number, have, 32 - have, 8 * width);
    const book = open ?? { width, words: new Int8Array(256 * width), have };
    if (!open) books.push(book);
    book.words.set(new Int8Array(this.#bytes.slice(at, at + size).buffer), 8 * width * first);
    book.have += count;
  }

  /** @param {Chunk} chunk */
  #takeColumns(chunk) {
    const view = this.#view, covered = this.#covered.slice(), C = this.#columns.length;
    const N = covered.length - 1;
    checkChunk(chunk, 0, C, 0, 1024 - C, 16);
    const opened = Array.from({ length: chunk.count }, (_, c) => {
      const at = chunk.at + 16 * c, number = view.getUint16(at, true), book = this.#books[number];
      if (book?.have !== 32) refuse('codebook of a column', number, 'a complete one');
      const block = within(view.getUint16(at + 2, true), 0, N - book.width, 'block');
      const scale = within(view.getUint16(at + 4, true), 1, 16384, 'scale');
      const gain = within(view.getUint16(at + 6, true), 1, 32768, 'gain') / 32768;
      covered[N] = within(covered[N] + book.width - 1, 0, 16 * N, 'sum of widths, less 1');
      for (let n = block; n < block + book.width; n++)
        covered[n] = within(covered[n] + scale, 1, 16384, 'sum of the scales of a block');
      const weights = [8, 12].map((field) => float(view, at + field, 'vote weight'));
      return { book, first: 8 * block, scale, gain, weights };
    });
    [this.#columns, this.#covered] = [[...this.#columns, ...opened], covered];
  }

  /** @param {Chunk} chunk */
  #takeIds(chunk) {
    const { count, at, size } = chunk, view = this.#view, { idKind, items } = this.#head;
    const width = { u32: 4, u64: 8 }[idKind] ?? 0;
    if (this.#dense) refuse('kind', 'ids', 'none in a stream with dense ids');
    checkChunk(chunk, 0, 0, this.#ids.length, items - this.#ids.length, width);
    let from = at + (width || 2) * count;
    const ids = Array.from({ length: count }, (_, i) => {
      if (width === 4) return view.getUint32(at + 4 * i, true);
      if (width === 8) return plain(view.getBigUint64(at + 8 * i, true));
      within(from, at, at + size - 1, 'start of an id');
      const length = within(view.getUint16(at + 2 * i, true), 1, at + size - from, 'id length');
      return textOf(this.#bytes.subarray(from, from += length));
    });
    same(from, at + size, 'end of the ids');
    for (const id of ids) this.#ids.push(id);
    this.#order = null;
  }

  /** Checks a slot of some items [4] and keeps its votes. @param {Chunk} chunk */
  #takeVotes(chunk) {
    const { which, first, count, at, size } = chunk, { items: V, bits } = this.#head;
    const rest = (bits & 7) * ((count + 7) >> 3), half = (count + 1) >> 1, bytes = this.#bytes;
    same(size, (bits >> 3) * count + rest + half, 'length of the payload');
    const votes = new Uint8Array(count), last = at + size - half - 1; // byte of the last row
    let unused = count & 1 ? bytes[at + size - 1] >> 4 : 0;
    for (let row = 0; count & 7 && row < (bits & 7); row++) {
      unused |= bytes[last - row * ((count + 7) >> 3)] >> (count & 7);
    }
    same(unused, 0, 'unused bits of neighbours');
    for (let i = 0; i < count; i++) {
      const slot = this.#neighbour(chunk, i), vote = votes[i] = slot & 15, item = first + i;
      const most = which ? this.#voteOf[item] : 15, end = vote ? V : 1;
      if (vote > most) refuse(`vote of slot ${which} of item ${item}`, vote, `${most} or less`);
      if (slot >> 4 >= end) refuse(`neighbour of item ${item}`, slot >> 4, `less than ${end}`);
    }
    this.#voteOf.set(votes, first);
  }

  /** 16 · neighbour + vote of item i of a chunk [4]. @param {Chunk} chunk @param {number} i
   * @param {number} [number] its first bits, where they are known @param {number} [bit] how many */
  #neighbour({ at, count }, i, number = 0, bit = 0) {
    const bytes = this.#bytes, { bits } = this.#head, byte = i >> 3, row = (count + 7) >> 3;
    let from = at + (bit >> 3) * count;
    for (; bit + 8 <= bits; bit += 8, from += count) number |= bytes[from + i] << bit;
    for (; bit < bits; bit++, from += row) number |= ((bytes[from + byte] >> (i & 7)) & 1) << bit;
    return (number << 4) | ((bytes[from + (i >> 1)] >> (4 * (i & 1))) & 15);
  }

  /** Writes the vector of an item to y [3]; its length comes back. @param {number} number
   * @param {Chunk[]} codes chunks, among them the item's @param {Float64Array} y */
  #decode(number, codes, y) {
    let squares = 0;
    y.fill(0);
    for (const { which, at, first, end } of codes) {
      if (number < first || number >= end) continue;
      const { book: { width, words }, first: f, scale } = this.#columns[which], w = 8 * width;
      const b = this.#bytes[at + number - first], low = w * (b & 15), high = w * (16 + (b >> 4));
      for (let k = 0; k < w; k++) y[f + k] += scale * (words[low + k] + words[high + k]);
    }
    for (let k = 0; k < y.length; k++) squares += y[k] * y[k];
    return Math.sqrt(squares);
  }

  /** 1 more than the gain of an item [7], which is kept. @param {number} number
   * @param {Chunk[]} codes chunks, among them the item's @param {Float64Array} y to write on */
  #gainOf(number, codes, y) {
    const { popularity, unit, score } = this.#head, P = popularity[32 - Math.clz32(number + 1)];
    if (score === 'dot') return this.#gains[number] = 1 + P;
    const length = this.#decode(number, codes, y); // not 0 where there is a last column
    const worth = length && unit * P * this.#columns[this.#columnsOf[number] - 1].gain;
    return this.#gains[number] = 1 + (length && Math.min(255, Math.floor(worth / length + 0.5)));
  }

  /** Item numbers of ids, -1 for an unknown one. @param {Iterable<Id>} ids @param {string} what */
  #numbersOf(ids, what) {
    const list = typeof ids === 'object' && ids && Symbol.iterator in ids;
    if (list) return Array.from(ids, (id) => this.number(id));
    throw new TypeError(`${what}: found ${typeof ids} ${ids}, expected an array of ids`);
  }

  /** Checks a file that belongs to the stream [9, 10]. @param {View} bytes @param {number} least
   * @param {string} magic @param {number} version @param {number} width @param {string} what */
  #checkBeside(bytes, least, magic, version, width, what) {
    const view = checkStart(bytes, least, magic, version, what);
    same(view.getUint16(10, true), width, `dimensions or reserved bytes of the ${what}`);
    same(crc32(bytes.slice().fill(0, 12, 16)), view.getUint32(12, true), `CRC of the ${what}`);
    same(hex(bytes.subarray(16, 48)), this.#head.modelId, `model of the ${what}`);
    return view;
  }

  /** q of a person [6]. @param {number[]} h the oldest first @param {Bytes | null} [vector] */
  #personOf(h, vector) {
    const { recency, mean, dimensions: D } = this.#head, y = new Float64Array(D);
    let p = Float64Array.from(mean);
    if (vector) {
      const view = this.#checkBeside(bytesOf(vector), 48, VECTOR, 2, D, 'vector');
      same(view.byteLength, 48 + 2 * D, 'length of the vector');
      p = p.map((_, k) => half(view.getUint16(48 + 2 * k, true)));
    } else if (h.some((number) => this.#columnsOf[number])) {
      p.fill(0);
      h.forEach((number, i) => {
        const length = this.#decode(number, covering(this.#codes, number, number + 1), y);
        const t = 1 / (1 + recency * (h.length - 1 - i)) / length;
        for (let k = 0; length && k < D; k++) p[k] += y[k] * t;
      });
    }
    const m = p.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    return p.map((value) => (m ? Math.floor((value / m) * 32767 + 0.5) : 0));
  }

  /** Each column's table of 256 bytes, and what each vote is worth by number of columns [7].
   * @param {Float64Array} q @param {number} n items in the history @param {number} kind */
  #tablesOf(q, n, kind) {
    const columns = this.#columns.slice(0, this.#used), { unit, weights, values } = this.#head;
    const A = columns.map(({ book: { width, words }, first, scale }) => (
      Float64Array.from({ length: 32 }, (_, word) => {
        let sum = 0;
        for (let k = 0, w = 8 * width; k < w; k++) sum += words[w * word + k] * q[first + k];
        return scale * sum;
      })));
    const M = A.reduce((most, a) => a.reduce((so, x) => Math.max(so, Math.abs(x)), most), 0);
    const tables = A.map((a) => {
      const t = a.map((x) => (M ? Math.floor((x * 32767) / M + 0.5) : 0));
      return Int32Array.from({ length: 256 }, (_, b) => t[b & 15] + t[16 + (b >> 4)]);
    });
    const squares = q.reduce((sum, x) => sum + x * x, 0), root = Math.sqrt(n);
    const ρ = M ? Math.sqrt(squares) * (32767 / M) * (unit * 128) : 2 ** 20;
    const votes = [weights, ...columns.map((column) => column.weights)].map(({ [kind]: λ }) => (
      values.map((value) => Math.floor(Math.min((λ / root) * ρ * value, 2 ** 40) + 0.5))));
    return { tables, votes };
  }

  /** Adds what the history votes for items from lo on [7]. @param {Float64Array} sums
   * @param {number} lo @param {Chunk[]} slots @param {Uint8Array} held 1 for items of the history
   * @param {Uint8Array} low 1 for the lowest bits of such @param {number[][]} votes */
  #addVotes(sums, lo, slots, held, low, votes) {
    const bytes = this.#bytes, mask = low.length - 1, known = 8 * Math.min(2, this.#head.bits >> 3);
    for (const chunk of slots) {
      const { first, at, count, end } = chunk, next = mask > 255 ? at + count : at;
      for (let i = Math.max(lo, first), j = i - first; i < end && i < lo + sums.length; i++, j++) {
        const key = (bytes[at + j] | (bytes[next + j] << 8)) & mask;
        if (!low[key]) continue; // most are not held
        const slot = this.#neighbour(chunk, j, key, known);
        if (held[slot >> 4]) sums[i - lo] += votes[this.#columnsOf[i]][slot & 15];
      }
    }
  }

  /** The k best [7, 8]. @param {Float64Array} q @param {number[]} h @param {number} kind
   * @param {Uint8Array} skip @param {number} k */
  #best(q, h, kind, skip, k) {
    const { tables, votes } = this.#tablesOf(q, h.length, kind), V = skip.length, view = this.#view;
    const best = /** @type {{number: number, score: number}[]} */ ([]);
    let floor = k ? -Infinity : Infinity, y = q.slice(); // no score up to the floor is listed
    const held = marksOf(V, h), low = new Uint8Array(2 ** (8 * Math.min(2, this.#head.bits >> 3)));
    for (const number of h) low[number & (low.length - 1)] = 1;
    const cut = () => {
      best.sort((a, b) => b.score - a.score || a.number - b.number).splice(k);
      if (k && best.length === k) floor = best[k - 1].score;
    };
    for (let lo = 0; lo < V; lo += TILE) {
      const hi = Math.min(V, lo + TILE), codes = covering(this.#codes, lo, hi);
      const sums = new Int32Array(hi - lo), voted = new Float64Array(hi - lo);
      for (const { which, at, first, end } of codes) {
        let i = Math.max(lo, first), T = tables[which], last = Math.min(hi, end);
        for (; i + 4 <= last; i += 4) { // one read of four codes is faster than four reads
          const four = view.getUint32(at + i - first, true), j = i - lo;
          sums[j] += T[four & 255], sums[j + 1] += T[(four >>> 8) & 255];
          sums[j + 2] += T[(four >>> 16) & 255], sums[j + 3] += T[four >>> 24];
        }
        for (; i < last; i++) sums[i - lo] += T[view.getUint8(at + i - first)];
      }
      if (h.length) this.#addVotes(voted, lo, covering(this.#slots, lo, hi), held, low, votes);
      for (let i = lo; i < hi; i++) {
        if (skip[i] || !(this.#columnsOf[i] || this.#slotsOf[i])) continue;
        const gain = (this.#gains[i] || this.#gainOf(i, codes, y)) - 1;
        const score = sums[i - lo] * gain + voted[i - lo];
        if (score > floor && best.push({ number: i, score }) > 2 * k + 1000) cut();
      }
    }
    cut();
    return best;
  }

  /** Of items, best first, k that differ from those above them, too [8].
   * @param {{number: number, score: number}[]} best @param {number} k @param {number} δ */
  #varied(best, k, δ) {
    const low = best.at(-1)?.score ?? 0, span = Math.max(1, (best[0]?.score ?? 0) - low);
    const left = best.map(({ number, score }) => {
      const y = new Float64Array(this.#head.dimensions), r = (score - low) / span, s = 0;
      const length = this.#decode(number, covering(this.#codes, number, number + 1), y);
      return { number, score, y, length, r, s };
    });
    return best.slice(0, k).map(() => {
      const worth = left.map(({ r, s }) => (1 - δ) * r - δ * s);
      const [one] = left.splice(worth.indexOf(worth.reduce((a, b) => Math.max(a, b))), 1);
      for (const each of left) {
        const dot = each.y.reduce((sum, value, k) => sum + value * one.y[k], 0);
        each.s = Math.max(each.s, dot / Math.max(1, each.length * one.length));
      }
      return one;
    });
  }

  /** A history item that votes for an item [8]. @param {number} number @param {number[]} h */
  #why(number, h) {
    const chunks = covering(this.#slots, number, number + 1);
    const slots = chunks.map((chunk) => this.#neighbour(chunk, number - chunk.first));
    const slot = slots.find((each) => each & 15 && h.includes(each >> 4));
    return slot === undefined ? null : this.id(slot >> 4);
  }

  /** The k best items for a person, best first [8]. @param {Ask} [ask] @returns {List} */
  recommend(ask = {}) {
    checkOptions(ask, 'history vector k exclude only repeat why diversity', 'recommend');
    const { history = [], vector, k = 20, exclude = [], only, repeat = false, why = false } = ask;
    const { diversity: δ = 0 } = ask;
    if (!(typeof δ === 'number' && δ >= 0 && δ <= 1))
      throw new TypeError(`diversity: found ${typeof δ} ${δ}, expected a number from 0 to 1`);
    if (!(Number.isInteger(k) && k >= 0)) throw new TypeError(`k: found ${k}, expected 0, 1, …`);
    const numbers = this.#numbersOf(history, 'history'), { items: V } = this.#head;
    const known = numbers.filter((i) => i >= 0).reverse(), h = [...new Set(known)].reverse();
    const skip = marksOf(V, [...this.#numbersOf(exclude, 'exclude'), ...(repeat ? [] : h)]);
    const kept = only && marksOf(V, this.#numbersOf(only, 'only'));
    for (let i = 0; i < V; i++) skip[i] |= this.#withdrawn[i] | (kept ? 1 - kept[i] : 0);
    const best = this.#best(this.#personOf(h, vector), h, vector ? 1 : 0, skip, δ ? 5 * k : k);
    const items = (δ ? this.#varied(best, k, δ) : best).map(({ number, score }) => (
      { id: this.id(number), number, score, ...(why && { why: this.#why(number, h) }) }));
    return { items, unknown: numbers.length - known.length };
  }

  /** The items most like one [8]. @param {Id} id @param {{k?: number}} [options] @returns {List} */
  similar(id, options = {}) {
    checkOptions(options, 'k', 'similar');
    if (this.number(id) < 0) throw new RangeError(`similar: found ${id}, expected a known item`);
    return this.recommend({ history: [id], ...options });
  }

  /** Never lists the items of a file from now on [10]. @param {Bytes} file */
  async withdraw(file) {
    const bytes = bytesOf(file).slice(), signature = bytes.slice(56, 120), what = 'withdrawn list';
    const V = this.#head.items, view = this.#checkBeside(bytes, 120, WITHDRAWN, 1, 0, what);
    same(bytes.length % 4, 0, `bytes after the last item of the ${what}`);
    const items = Uint32Array.from({ length: bytes.length / 4 - 30 },
      (_, i) => view.getUint32(120 + 4 * i, true));
    items.reduce((last, item) => within(item, last + 1, V - 1, `item of the ${what}`), -1);
    bytes.fill(0, 12, 16).fill(0, 56, 120);
    if (this.#key) await checkSignature(this.#key, signature, bytes, what);
    this.#withdrawn = marksOf(V, items);
  }

  /** Ids and titles [11]. @param {string | Bytes} file @returns {Promise<Catalogue>} */
  async catalogue(file) {
    const bytes = typeof file === 'string' ? new TextEncoder().encode(file) : bytesOf(file);
    same(await sha256(bytes), this.#head.catalogue, 'SHA-256 of the catalogue');
    const json = await Promise.resolve(bytes).then(textOf).then(JSON.parse).catch(() => null);
    const { format, model_id: model, id_kind: kind, ids, titles = '', ...more } = Object(json);
    const texts = (/** @type {unknown} */ list, /** @type {unknown} */ none) => Array.isArray(list)
      && list.length === this.#head.items && list.every((t) => typeof t === 'string' || t === none);
    const good = format === 'elasticrec catalogue 1' && model === this.#head.modelId
      && ['integer', 'text'].includes(kind) && texts(ids, '') && texts(titles ?? ids, null);
    if (!good || Object.keys(more).length) refuse('catalogue', 'other JSON', 'that of section 11');
    return { ids, titles };
  }
}

/** An open stream, or a prefix of one. @param {Bytes} file @param {OpenOptions} [options] */
export const openStream = (file, options = {}) => new Stream(bytesOf(file), options);

/** An open stream whose signature and links are right by a public key for Ed25519 [12].
 * @param {Bytes} file @param {View} key 32 bytes @param {OpenOptions} [options] */
export async function openSigned(file, key, options = {}) {
  if (key?.length !== 32) throw new TypeError(`key: found ${key}, expected 32 bytes`);
  const imported = await webCrypto().importKey('raw', key, 'Ed25519', false, ['verify']).catch(
    (why) => { throw new Error(`key: this WebCrypto does not support Ed25519: ${why}`); });
  const bytes = bytesOf(file), { size, signature } = readHead(bytes);
  await checkSignature(imported, signature, bytes.subarray(0, size - 68), 'head');
  return new Stream(bytes, options, imported).refresh(bytes);
}

/** Fetches a stream, which ranks once its first part has arrived and grows from part to part. What
 * `previous` has is not fetched again, if its tag is a strong one and the file is still the same.
 * @param {string | URL} url @param {FetchOptions} [options] @returns {Promise<Fetched>} */
export async function fetchStream(url, options = {}) {
  checkOptions(options, 'onPart every budget previous signal key minSequence', 'fetchStream');
  const { onPart, every = 250, budget = Infinity, previous, signal, key, ...more } = options;
  if (!(budget > 0)) throw new TypeError(`budget: found ${budget}, expected a number of bytes`);
  const open = (/** @type {View} */ b) => (key ? openSigned(b, key, more) : openStream(b, more));
  const had = previous?.etag?.startsWith('"') ? previous : undefined;
  let buffer = had?.bytes ?? new Uint8Array(0), size = buffer.length, etag = had?.etag ?? null;
  let stream = had && (had.stream?.info().signed === !!key ? had.stream : await open(buffer));
  const fetched = (/** @type {Stream} */ of) => (
    { stream: of, bytes: buffer.subarray(0, size), etag, complete: size === of.info().length });
  if (stream && (size >= budget || fetched(stream).complete)) return fetched(stream);
  const headers = /** @type {Record<string, string>} */ (etag ? { 'If-Range': etag } : {});
  const last = budget < Infinity ? budget - 1 : '';
  if (size || budget < Infinity) headers.Range = `bytes=${size}-${last}`;
  const { ok, status, body, headers: found } = await fetch(url, { headers, signal });
  const start = Number(/\d+/.exec(found.get('content-range') ?? '')?.[0] ?? size);
  const other = status === 206 && (start !== size || found.get('etag') !== etag);
  if (had && other) return (await body?.cancel(), fetchStream(url, { ...options, previous: null }));
  if (!ok || !body) throw new Error(`${url}: found status ${status}, expected 200 or 206`);
  if (status === 200) [buffer, size, stream] = [new Uint8Array(0), 0, undefined];
  etag = found.get('etag');
  const reader = body.getReader();
  try {
    for (let told = -Infinity; ;) {
      const { done, value = new Uint8Array(0) } = await reader.read();
      const part = value.subarray(0, budget - size), needed = size + part.length;
      if (needed > buffer.length) { // twice as long: each byte is copied about once
        const most = Math.min(budget, stream?.info().length ?? Infinity), old = buffer;
        buffer = new Uint8Array(Math.max(needed, Math.min(2 * needed, most)));
        buffer.set(old);
      }
      buffer.set(part, size);
      const bytes = buffer.subarray(0, size = needed), end = done || size >= budget;
      const early = !stream && (size < 48 || viewOf(bytes).getBigUint64(40, true) > size); // least
      if (!end && (early || performance.now() < told + every)) continue;
      stream = stream ? await stream.refresh(bytes) : await open(bytes);
      await onPart?.(fetched(stream));
      if (end) return fetched(stream);
      told = performance.now();
    }
  } finally { reader.cancel().catch(() => {}); }
}
