// Ranks a catalogue on the device from one bundle: views on the file's bytes, codes stay packed.
// For browsers and Node 20. Written from docs/bundle-format.md; (n) names a section of that page.

/** @typedef {ArrayBuffer | Uint8Array<ArrayBuffer>} Bytes a file's bytes */
/** @typedef {Uint8Array<ArrayBuffer>} View some bytes of a file, not copied */
/** @typedef {Record<string, View | undefined>} Sections by name */
/** @typedef {number | bigint | string} Id an original id; integers from 2^53 on are bigint */
/**
 * @typedef {object} Ask
 * @property {Iterable<Id>} [history] what the person has; ids that do not occur are skipped
 * @property {Bytes | null} [user] her vector file from the server (13)
 * @property {number} [k] how many items to list, 20 unless told
 * @property {Iterable<Id>} [exclude] never list these
 * @property {Iterable<Id> | null} [only] list none but these
 * @property {boolean} [repeat] list items of the history too
 * @property {boolean} [why] name the history item with the largest vote for each listed one
 */
/** @typedef {{id: Id, number: number, score: number, why?: Id | null}} Listed one item of a list */
/** @typedef {{items: Listed[], unknown: number}} List `unknown`: history ids that were skipped */
/** @typedef {{ids: string[], titles: (string | null)[] | null}} Catalogue by item number */
/** @typedef {ReturnType<typeof readGroups>['groups'][number]} Group */
/** @typedef {{u: Float32Array, held: Uint32Array, isHeld: Uint8Array, kind: number}} Person (10) */
/** @typedef {(first: number, scores: Float32Array) => void} Take one stretch of items */

/** A file that breaks a rule of the format or belongs to another model, or an unknown item. */
export class BundleError extends Error { name = 'BundleError'; }

const MAGIC = '89454c4153544943', VECTOR = '89454c564543544f', PATCH = '89454c5041544348';
const KINDS = ' SHAPE META GROUPS MEANS DECODE CODES NEIGHBOURS MAP IDS WITHDRAWN WORDS'.split(' ');
const PREFIX = 64, ENTRY = 32, LARGEST = 1e6, STRETCH = 2048;
const UPPER = new Uint8Array(Uint16Array.of(1).buffer)[0]; // the half of a u64 that weighs more
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }); // a mark is text too
const word = new Uint32Array(1), float = new Float32Array(word.buffer), { fround } = Math;

/** @param {unknown} found @param {unknown} expected @param {string} what */
function same(found, expected, what) {
  if (found !== expected) throw new BundleError(`${what}: ${found}, expected ${expected}`);
}

/** @param {number} value @param {number} least @param {number} most @param {string} what */
function within(value, least, most, what) {
  if (value >= least && value <= most) return value;
  throw new BundleError(`${what}: ${value}, expected ${least} to ${most}`);
}

/** The bytes as they lie; never as a Buffer, whose slice is no copy. @param {Bytes} file */
const bytesOf = (file) => (ArrayBuffer.isView(file)
  ? new Uint8Array(file.buffer, file.byteOffset, file.byteLength) : new Uint8Array(file));
/** @param {View} bytes */
const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
/** @param {Uint8Array} bytes */
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
/** @param {Uint8Array} bytes @param {number} from @param {number} to */
const checkZero = (bytes, from, to) => (
  same(hex(bytes.subarray(from, to)), '00'.repeat(to - from), `reserved bytes from ${from}`));
/** A u64, beyond 2^53 rounded: beyond every limit. @param {DataView} view @param {number} at */
const u64 = (view, at) => view.getUint32(at + 4, true) * 2 ** 32 + view.getUint32(at, true);
/** Whether bit i is set. @param {Uint8Array} bits @param {number} i */
const has = (bits, i) => ((bits[i >> 3] >> (i & 7)) & 1) === 1;

/** Item numbers below V as bits. @param {number} V @param {Iterable<number>[]} sets */
function bitsOf(V, ...sets) {
  const bits = new Uint8Array(Math.ceil(V / 8));
  for (const set of sets) for (const i of set) bits[i >> 3] |= 1 << (i & 7);
  return bits;
}

/** Numbers of binary16, which are finite. @param {View} bytes @param {string} what */
function halves(bytes, what) {
  const view = viewOf(bytes);
  return Float32Array.from({ length: bytes.length / 2 }, (_, i) => {
    const half = view.getUint16(2 * i, true);
    word[0] = (half & 0x7fff) << 13; // the exponents' zero points are 112 apart
    return within((half & 0x8000 ? -float[0] : float[0]) * 2 ** 112, -65504, 65504, what);
  });
}

/** @param {Uint8Array} bytes @param {number} least @param {string} magic @param {string} what */
function checkStart(bytes, least, magic, what) {
  within(bytes.length, least, 2 ** 40, `length of the ${what}`);
  same(hex(bytes.subarray(0, 8)), magic, `first bytes of the ${what}`);
  same(bytes[8] | (bytes[9] << 8), magic === MAGIC ? 3 : 1, `version of the ${what}`);
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

/** @param {View} bytes @param {string} expected @param {string} what */
async function checkSha256(bytes, expected, what) {
  const subtle = globalThis.crypto?.subtle;
  if (!subtle) throw new Error('no WebCrypto: hashes are checked on https and localhost alone');
  const found = hex(new Uint8Array(await subtle.digest('SHA-256', bytes)));
  same(found, expected.toLowerCase(), `SHA-256 of the ${what}`);
}

/** The sections by kind (1). @param {View} bytes */
function readSections(bytes) {
  checkStart(bytes, PREFIX, MAGIC, 'bundle');
  const view = viewOf(bytes), count = within(view.getUint32(12, true), 6, 11, 'sections');
  const end = within(PREFIX + ENTRY * count, PREFIX, bytes.length, 'end of the section table');
  same(crc32(bytes.slice(0, end).fill(0, 24, 28)), view.getUint32(24, true), 'prefix checksum');
  same(u64(view, 16), bytes.length, 'length of the file, as it says');
  checkZero(bytes, 10, 12);
  checkZero(bytes, 28, 32);
  const sections = /** @type {Sections} */ ({});
  let last = 0, stop = end;
  for (let entry = PREFIX; entry < end; entry += ENTRY) {
    const kind = within(view.getUint32(entry, true), last + 1, 11, 'kind of a section');
    const at = u64(view, entry + 8), length = u64(view, entry + 16), name = KINDS[kind];
    same(at, Math.ceil(stop / 64) * 64, `offset of ${name}`);
    within(at + length, at, bytes.length, `end of ${name}`);
    checkZero(bytes, entry + 24, entry + ENTRY);
    checkZero(bytes, stop, at);
    [last, stop] = [kind, at + length];
    const section = sections[name] = bytes.subarray(at, stop);
    same(crc32(section), view.getUint32(entry + 4, true), `checksum of ${name}`);
  }
  same(stop, bytes.length, 'end of the last section');
  return sections;
}

/** @param {Sections} sections @param {string} name @param {number | undefined} length if there */
function need(sections, name, length) {
  same(sections[name]?.length, length, `length of ${name}`);
  return sections[name] ?? new Uint8Array(0);
}

/** @template T @param {() => T} act @param {string} failed */
function attempt(act, failed) {
  try { return act(); } catch { throw new BundleError(failed); }
}

/** @param {Uint8Array} bytes @param {string} what @returns {Record<string, any>} */
function readObject(bytes, what) {
  const value = attempt(() => JSON.parse(utf8.decode(bytes)), `${what}: no JSON in UTF-8`);
  same(Object.prototype.toString.call(value), '[object Object]', what);
  return value;
}

/** Bytes of one slot of a group (7). @param {number} size @param {number} bits of a number */
const slotBytes = (size, bits) => (
  (bits >> 3) * size + (bits & 7) * Math.ceil(size / 8) + Math.ceil(size / 2));

/** The groups (4). @param {View} bytes @param {number} G @param {number} V @param {number} bits */
function readGroups(bytes, G, V, bits) {
  const view = viewOf(bytes), N = bytes.length / G - 16, groups = [];
  let first = 0, codesAt = 0, slotsAt = 0;
  for (let g = 0; g < G; g++) {
    const at = 16 * g, depths = bytes.subarray(16 * G + N * g, 16 * G + N * (g + 1));
    const size = within(view.getUint32(at, true), 1, V - first, `size of group ${g}`);
    const neighbours = within(bytes[at + 4], 0, 64, `neighbours of group ${g}`);
    checkZero(bytes, at + 5, at + 8);
    const weights = [8, 12].map((field) => (
      within(view.getFloat32(at + field, true), 0, LARGEST, `vote weight of group ${g}`)));
    const columns = depths.reduce((sum, b) => sum + within(b, 0, 8, `depth in group ${g}`), 0);
    groups.push({ g, first, size, depths, columns, codesAt, neighbours, slotsAt, weights });
    first += size;
    codesAt += columns && size * (1 + columns);
    slotsAt += neighbours * slotBytes(size, bits);
  }
  same(first, V, 'items of all groups');
  return { groups, codesLength: codesAt, slotsLength: slotsAt };
}

/** Below 0 where a comes first. @param {Uint8Array} a @param {Uint8Array} b */
function compare(a, b) {
  for (let i = 0; i < a.length && i < b.length; i++) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
}

/** A vector divided by its length, where that is above 0. @param {Float64Array<ArrayBuffer>} x */
function unit(x) {
  const length = Math.sqrt(x.reduce((sum, value) => sum + value * value, 0));
  return length > 0 ? x.map((value) => value / length) : x;
}

/** Bits of a score, in an order that rises as it falls; and back. @param {number} bits */
const turned = (bits) => (bits >>> 31 ? bits : bits ^ 0x7fffffff);

/**
 * Adds four columns to sums, in order (11.3), four items at a time and none that are left over.
 * @param {Float32Array} sums @param {DataView} codes @param {number} a where the first starts
 * @param {number} size from one to the next @param {number} last where the last of all starts
 * @param {Float32Array} A @param {Float32Array} B @param {Float32Array} C @param {Float32Array} D
 */
function addFour(sums, codes, a, size, last, A, B, C, D) {
  const b = Math.min(a + size, last), c = Math.min(b + size, last), d = Math.min(c + size, last);
  for (let i = 0, end = sums.length - 3; i < end; i += 4) {
    const e = codes.getUint32(a + i, true), f = codes.getUint32(b + i, true);
    const g = codes.getUint32(c + i, true), h = codes.getUint32(d + i, true);
    let s = fround(sums[i] + A[e & 255]), t = fround(sums[i + 1] + A[(e >>> 8) & 255]);
    let u = fround(sums[i + 2] + A[(e >>> 16) & 255]), v = fround(sums[i + 3] + A[e >>> 24]);
    s = fround(s + B[f & 255]), t = fround(t + B[(f >>> 8) & 255]);
    u = fround(u + B[(f >>> 16) & 255]), v = fround(v + B[f >>> 24]);
    s = fround(s + C[g & 255]), t = fround(t + C[(g >>> 8) & 255]);
    u = fround(u + C[(g >>> 16) & 255]), v = fround(v + C[g >>> 24]);
    sums[i] = s + D[h & 255], sums[i + 1] = t + D[(h >>> 8) & 255];
    sums[i + 2] = u + D[(h >>> 16) & 255], sums[i + 3] = v + D[h >>> 24];
  }
}

/** An open bundle; made by `openBundle` or `readBundle`. */
export class Bundle {
  #V; #N; #D; #K; #kind; #scaled; #about; #scales; #steps; #gains; #votes; #means;
  #words; #bits; #groups; #codes; #slots; #map; #ids; #idView;
  #order = /** @type {Uint32Array | undefined} */ (undefined); // item numbers by rising key
  #withdrawn = /** @type {number[]} */ ([]); #T = /** @type {Float32Array[]} */ ([]); // tables

  /** @param {View} bytes */
  constructor(bytes) {
    const sections = readSections(bytes), shape = need(sections, 'SHAPE', 64), view = viewOf(shape);
    const most = Math.min(2 ** 26, 8 * bytes.length), catalogue = shape.subarray(24, 56);
    const V = this.#V = within(view.getUint32(0, true), 1, most, 'items');
    const G = within(view.getUint16(4, true), 1, Math.min(V, 4096), 'groups');
    const N = this.#N = within(view.getUint16(6, true), 1, 256, 'blocks per item');
    const D = this.#D = 8 * N, kind = this.#kind = within(shape[9], 0, 3, 'id kind');
    this.#scaled = within(shape[11], 0, 1, 'vote scale');
    const K = this.#K = within(view.getUint16(12, true), 0, N, 'lists of words');
    same(shape[8], 8, 'numbers per block');
    for (const [from, to] of [[14, 16], [56, 64]]) checkZero(shape, from, to);
    const decode = viewOf(need(sections, 'DECODE', 12 * N + 1232)), E = 3 * N;
    const floats = Float32Array.from({ length: E + 308 }, (_, i) => within(
      decode.getFloat32(4 * i, true), i >= E && i < E + 36 ? -LARGEST : 0, LARGEST, 'DECODE'));
    this.#scales = floats.subarray(0, E), this.#steps = floats.subarray(E, E + 36);
    this.#gains = floats.subarray(E + 36, E + 292), this.#votes = floats.subarray(E + 292);
    same(this.#votes[0], 0, 'vote of weight 0');
    const words = need(sections, 'WORDS', K ? 32 * D * K + 2048 : undefined);
    this.#words = new Int8Array(words.buffer, words.byteOffset, words.length);
    this.#means = halves(need(sections, 'MEANS', 2 * (G + 1) * D), 'MEANS');
    this.#map = sections.MAP && halves(need(sections, 'MAP', 2 * D * D), 'MAP');
    this.#bits = Math.max(1, 32 - Math.clz32(V - 1)); // of an item number
    const read = readGroups(need(sections, 'GROUPS', G * (16 + N)), G, V, this.#bits);
    this.#codes = need(sections, 'CODES', read.codesLength);
    this.#slots = need(sections, 'NEIGHBOURS', read.slotsLength || undefined);
    for (const group of this.#groups = read.groups) this.#checkSlots(group);
    const outLength = sections.WITHDRAWN && Math.max(4, sections.WITHDRAWN.length & ~3);
    const out = viewOf(need(sections, 'WITHDRAWN', outLength));
    for (let at = 0, last = -1; at < out.byteLength; at += 4) this.#withdrawn.push(
      last = within(out.getUint32(at, true), last + 1, V - 1, 'withdrawn item'));
    this.#ids = need(sections, 'IDS', kind < 3 ? 4 * kind * V || undefined : sections.IDS?.length);
    this.#idView = viewOf(this.#ids);
    if (kind === 3) this.#checkTexts();
    this.#about = {
      version: 3, bytes: bytes.length, modelId: hex(bytes.subarray(32, 64)), items: V, wordLists: K,
      dimensions: D, trained: within(u64(view, 16), 0, 253402300799, 'date of the training'),
      catalogue: catalogue.some((byte) => byte) ? hex(catalogue) : null,
      person: ['history', 'vector+history'][within(shape[10], 0, 1, 'person')],
      idKind: ['dense', 'u32', 'u64', 'string'][kind], withdrawn: this.#withdrawn.length,
      voteScale: ['none', '1/sqrt(n)'][this.#scaled], hasMap: this.#map !== undefined,
      meta: readObject(need(sections, 'META', 512), 'META'),
    };
  }

  /** What the file says of itself. */
  info() {
    return { ...this.#about, groups: this.#groups.map(({ size, depths, neighbours, weights }) => (
      { size, depths: [...depths], neighbours, weights: [...weights] })) };
  }

  /** The k best items for a person, best first (12). @param {Ask} ask @returns {List} */
  recommend({ history = [], user, k = 20, exclude = [], only, repeat = false, why = false } = {}) {
    const { held, unknown } = this.#known(history), person = this.#personOf(held, user);
    const skip = bitsOf(this.#V, this.#withdrawn, this.#known(exclude).held, repeat ? [] : held);
    if (only) bitsOf(this.#V, this.#known(only).held).forEach((kept, i) => { skip[i] |= ~kept; });
    return { items: this.#list(person, skip, { k, why }), unknown };
  }

  /** The k items most like one (12). @param {Id} item @returns {List} */
  similar(item, k = 20) {
    const number = within(this.number(item), 0, this.#V, `number of item ${item}, -1 if unknown`);
    const u = Float32Array.from(this.#direction(number)), held = Uint32Array.of(number);
    const isHeld = bitsOf(this.#V, held), skip = bitsOf(this.#V, this.#withdrawn, held);
    return { items: this.#list({ u, held, isHeld, kind: 1 }, skip, { k }), unknown: 0 };
  }

  /** Ids and titles (14). @param {string | Bytes} file @returns {Promise<Catalogue>} */
  async catalogue(file) {
    const bytes = typeof file === 'string' ? new TextEncoder().encode(file) : bytesOf(file);
    await checkSha256(bytes, this.#about.catalogue ?? 'none', 'catalogue');
    const { format, model_id: model, ids, titles } = readObject(bytes, 'catalogue');
    same(format, 'elasticrec catalogue 1', 'format of the catalogue');
    same(model, this.#about.modelId, 'model of the catalogue');
    same(ids?.length, this.#V, 'ids in the catalogue');
    if (titles !== null) same(titles?.length, this.#V, 'titles in the catalogue');
    return { ids, titles };
  }

  /** The original id of an item (9). @param {number} number @returns {Id} */
  id(number) {
    if (this.#kind === 0) return number;
    const key = this.#key(number);
    if (this.#kind === 3) return utf8.decode(key);
    if (this.#kind === 1) return viewOf(key).getUint32(0, true);
    const id = viewOf(key).getBigUint64(0, true);
    return id > Number.MAX_SAFE_INTEGER ? id : Number(id);
  }

  /** The number of an item, -1 where its id does not occur. @param {Id} id @returns {number} */
  number(id) {
    const text = typeof id === 'string', whole = typeof id === 'bigint' || Number.isSafeInteger(id);
    if (text ? this.#kind !== 3 : this.#kind === 3 || !whole) return -1;
    if (this.#kind === 0) return Number(id) >= 0 && Number(id) < this.#V ? Number(id) : -1;
    const key = text ? new TextEncoder().encode(id) : Uint8Array.from({ length: 4 * this.#kind },
      (_, i) => Number(BigInt.asUintN(8, BigInt(id) >> BigInt(8 * i))));
    const order = this.#order ??= this.#sorted();
    let low = 0, high = order.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compare(this.#key(order[middle]), key) < 0) low = middle + 1; else high = middle;
    }
    return low < order.length && this.id(order[low]) == id ? order[low] : -1; // 5n == 5
  }

  /** The bytes of an id, by which they are sorted. @param {number} i */
  #key(i) {
    const width = 4 * this.#kind, text = 4 * (this.#V + 1), view = this.#idView;
    if (this.#kind < 3) return this.#ids.subarray(width * i, width * (i + 1));
    const [from, to] = [view.getUint32(4 * i, true), view.getUint32(4 * i + 4, true)];
    return this.#ids.subarray(text + from, text + to);
  }

  #checkTexts() {
    const V = this.#V, length = within(this.#ids.length - 4 * (V + 1), V, 2 ** 32, 'length of ids');
    for (let i = 0, end = 0; i <= V; i++) {
      const least = i === V ? length : end + Math.min(i, 1), most = i ? length : 0;
      end = within(this.#idView.getUint32(4 * i, true), least, most, 'end of an id');
    }
    for (let i = 0; i < V; i++) attempt(() => utf8.decode(this.#key(i)), 'IDS: an id is no UTF-8');
  }

  /** Item numbers by rising key; refuses an id that occurs twice. */
  #sorted() {
    const V = this.#V, ids = this.#ids, width = this.#kind < 3 ? 4 * this.#kind : 0;
    let order = Uint32Array.from({ length: V }, (_, i) => i);
    if (!width) order.sort((a, b) => compare(this.#key(a), this.#key(b)));
    for (let digit = width - 1; digit >= 0; digit--) { // numbers byte by byte: far faster
      const places = new Uint32Array(257), sorted = new Uint32Array(V);
      for (let i = digit; i < ids.length; i += width) places[ids[i] + 1]++;
      for (let i = 0; i < 256; i++) places[i + 1] += places[i];
      for (const i of order) sorted[places[ids[width * i + digit]]++] = i;
      order = sorted;
    }
    const again = order.find((i, at) => at > 0 && !compare(this.#key(order[at - 1]), this.#key(i)));
    if (again !== undefined) throw new BundleError(`item ${again}: its id occurs twice`);
    return order;
  }

  /** Distinct item numbers, rising, and how many ids do not occur. @param {Iterable<Id>} ids */
  #known(ids) {
    const found = Array.from(ids, (id) => this.number(id)), known = found.filter((i) => i >= 0);
    return { held: Uint32Array.from(new Set(known)).sort(), unknown: found.length - known.length };
  }

  /** The group of an item. @param {number} number */
  #groupOf(number) {
    return this.#groups[this.#groups.findLastIndex(({ first }) => first <= number)];
  }

  /** A slot of item i (7). @param {Group} group @param {number} slot @param {number} i */
  #neighbour({ size, slotsAt }, slot, i) {
    const slots = this.#slots, bits = this.#bits, plane = (size + 7) >> 3;
    let at = slotsAt + slot * slotBytes(size, bits), number = 0, bit = 0;
    for (; bit + 8 <= bits; bit += 8, at += size) number |= slots[at + i] << bit;
    for (; bit < bits; bit++, at += plane) number |= ((slots[at + (i >> 3)] >> (i & 7)) & 1) << bit;
    return { number, weight: (slots[at + (i >> 1)] >> (4 * (i & 1))) & 15 };
  }

  /** @param {Group} group */
  #checkSlots(group) {
    const { first, size, neighbours, slotsAt } = group, slots = this.#slots, bits = this.#bits;
    for (let i = 0; neighbours && i < size; i++) {
      for (let slot = 0, before = 15; slot < neighbours; slot++) {
        const { number, weight } = this.#neighbour(group, slot, i);
        if (weight > before || number >= (weight ? this.#V : 1)) same(`${number}, weight ${weight}`,
          `0 to ${this.#V - 1}, weight 0 to ${before}`, `slot ${slot} of item ${first + i}`);
        before = weight;
      }
    }
    const plane = Math.ceil(size / 8), half = Math.ceil(size / 2), left = size & 7;
    for (let slot = 1; slot <= neighbours; slot++) {
      const end = slotsAt + slot * slotBytes(size, bits), start = end - half - (bits & 7) * plane;
      let unused = size & 1 ? slots[end - 1] >> 4 : 0;
      for (let at = end - half; left && at > start; at -= plane) unused |= slots[at - 1] >> left;
      same(unused, 0, `unused bits in slot ${slot - 1} behind item ${first + size - 1}`);
    }
  }

  /** x of an item (6), divided by its length (10). @param {number} number */
  #direction(number) {
    const { g, first, size, depths, columns, codesAt } = this.#groupOf(number), D = this.#D;
    const codes = this.#codes, start = codesAt + number - first, t = new Float64Array(D);
    for (const signs of [false, true]) { // first all words, then letters and signs of each block
      for (let n = 0, at = start + size; n < this.#N; at += size * depths[n++]) {
        const wide = Number(n < this.#K), r = depths[n] - wide, c = r - Math.min(this.#K, 1);
        const v = codes[at], low = (32 * n + (v & 15)) * D, high = (32 * n + 16 + (v >> 4)) * D;
        const W = this.#words, ω = signs || !wide || r < 0 ? 0 : this.#scales[3 * n];
        for (let k = 0; ω && k < D; k++) t[k] += ω * (W[low + k] + W[high + k]);
        for (let q = c - r, a = at + wide * size; signs && q < c; q++, a += size) {
          const b = codes[a], i = 32 * D * this.#K + 8 * b, ν = this.#scales[3 * n + 1];
          const s = this.#steps[(c * (c - 1)) / 2 + q] * this.#scales[3 * n + 2];
          for (let j = 0; j < 8; j++) t[8 * n + j] += q < 0 ? ν * W[i + j] : (b >> j) & 1 ? s : -s;
        }
      }
    }
    const gain = columns && this.#gains[codes[start]];
    return unit(t.map((sum, k) => this.#means[g * D + k] + sum * gain));
  }

  /** Who asks (10). @param {Uint32Array} held @param {Bytes | null} [user] */
  #personOf(held, user) {
    const D = this.#D, map = this.#map, isHeld = bitsOf(this.#V, held);
    if (user) return { u: this.#readVector(bytesOf(user)), held, isHeld, kind: 0 };
    if (!held.length) return { u: this.#means.subarray(-D), held, isHeld, kind: 1 };
    const sum = new Float64Array(D), mapped = new Float64Array(D);
    for (const i of held) this.#direction(i).forEach((value, k) => { sum[k] += value; });
    const s = unit(sum);
    for (let j = 0; map && j < D; j++) {
      for (let k = 0; k < D; k++) mapped[k] += s[j] * map[j * D + k];
    }
    return { u: Float32Array.from(map ? mapped : s), held, isHeld, kind: 1 };
  }

  /** A person's vector from its file (13). @param {View} bytes */
  #readVector(bytes) {
    checkStart(bytes, 48, VECTOR, 'vector file');
    const view = viewOf(bytes), crc = crc32(bytes.slice().fill(0, 12, 16));
    same(view.getUint16(10, true), this.#D, 'dimensions of the vector file');
    same(bytes.length, 48 + 2 * this.#D, 'length of the vector file');
    same(crc, view.getUint32(12, true), 'checksum of the vector file');
    same(hex(bytes.subarray(16, 48)), this.#about.modelId, 'model of the vector file');
    return halves(bytes.subarray(48), 'a number of the vector file');
  }

  /**
   * The tables of a group's columns (11.2), then zeros up to a multiple of four.
   * @param {Uint8Array} depths @param {Float32Array} u @param {Set<Float32Array>} made for u
   */
  #tablesOf(depths, u, made) {
    const N = this.#N, D = this.#D, letters = this.#words.subarray(32 * D * this.#K), tables = [];
    for (let n = 0; n < N; n++) {
      const c = depths[n] - Number(n < this.#K) - Math.min(this.#K, 1), words = 32 * n * D;
      for (let q = c - depths[n]; q < c; q++) {
        const step = q < 0 ? 36 + Number(q < -1) : (c * (c - 1)) / 2 + q;
        const T = tables[tables.length] = this.#T[step * N + n] ??= new Float32Array(256);
        if (made.has(T) || !made.add(T.fill(0))) continue;
        const A = Float32Array.from({ length: q < -1 ? 32 : 0 }, (_, w) => this.#scales[3 * n]
          * u.reduce((sum, value, k) => sum + value * this.#words[words + w * D + k], 0));
        for (let v = 0; q < -1 && v < 256; v++) T[v] = A[v & 15] + A[16 + (v >> 4)];
        const ν = this.#scales[3 * n + 1], s = fround(this.#steps[step] * this.#scales[3 * n + 2]);
        for (let j = 0; q >= -1 && j < 8; j++) {
          const w = fround(u[8 * n + j] * (q < 0 ? ν : s)), half = 1 << j;
          for (let v = 0; q < 0 && v < 256; v++) T[v] += fround(letters[8 * v + j] * w);
          for (let v = 0; q >= 0 && v < half; v++) T[v + half] = T[v] + w, T[v] -= w;
        }
      }
    }
    while (tables.length % 4) tables.push(this.#T[38 * N] ??= new Float32Array(256));
    return tables;
  }

  /**
   * Adds c times what the history votes for items of a group, from one on (11.4).
   * @param {Float32Array} sums @param {Group} group @param {number} from @param {number} c
   * @param {Uint8Array} isHeld @param {Uint8Array} low the lower 16 bits of the history
   */
  #addVotes(sums, group, from, c, isHeld, low) {
    const { size, neighbours, slotsAt } = group, n = sums.length, voted = new Float32Array(n);
    const bytes = slotBytes(size, this.#bits), view = viewOf(this.#slots);
    for (let slot = 0; slot < neighbours; slot++) {
      for (let i = 0, at = slotsAt + slot * bytes + from; i < n; i += 4, at += 4) {
        if (this.#bits >= 16 && i + 4 <= n) { // most neighbours are not in the history
          const a = view.getUint32(at, true), b = view.getUint32(at + size, true);
          if (!(low[(a & 255) | ((b << 8) & 0xff00)] | low[((a >>> 8) & 255) | (b & 0xff00)]
            | low[((a >>> 16) & 255) | ((b >>> 8) & 0xff00)]
            | low[(a >>> 24) | ((b >>> 16) & 0xff00)])) continue;
        }
        for (let j = i; j < i + 4 && j < n; j++) {
          const { number, weight } = this.#neighbour(group, slot, from + j);
          if (has(isHeld, number)) voted[j] += this.#votes[weight];
        }
      }
    }
    for (let i = 0; i < n; i++) sums[i] += fround(c * voted[i]);
  }

  /** The scores (11) of what keeps something. @param {Person} person @param {Take} take */
  #score({ u, held, isHeld, kind }, take) {
    const codes = this.#codes, view = viewOf(codes), gains = this.#gains, D = this.#D;
    const root = this.#scaled && held.length ? Math.sqrt(held.length) : 1, made = new Set();
    const buffer = new Float32Array(STRETCH), low = new Uint8Array(65536);
    for (const i of held) low[i & 65535] = 1;
    for (const group of this.#groups) {
      const { g, first, size, columns, codesAt, neighbours, weights } = group;
      const offset = fround(u.reduce((sum, value, k) => sum + value * this.#means[g * D + k], 0));
      const T = this.#tablesOf(group.depths, u, made), c = fround(weights[kind] / root);
      for (let from = 0; (columns || neighbours) && from < size; from += STRETCH) {
        const n = Math.min(STRETCH, size - from), sums = buffer.subarray(0, n).fill(0);
        const at = codesAt + from, last = at + size * columns;
        for (let j = 0, a = at + size; j < columns; j += 4, a += 4 * size) {
          addFour(sums, view, a, size, last, T[j], T[j + 1], T[j + 2], T[j + 3]);
        }
        for (let i = n & ~3; i < n; i++) {
          for (let j = 0; j < columns; j++) sums[i] += T[j][codes[at + size * (j + 1) + i]];
        }
        for (let i = 0; i < n; i++) {
          sums[i] = offset + (columns && fround(sums[i] * gains[codes[at + i]]));
        }
        if (neighbours && held.length) this.#addVotes(sums, group, from, c, isHeld, low);
        take(first + from, sums);
      }
    }
  }

  /** The list (12). @param {Person} person @param {Uint8Array} skip @param {Ask} ask */
  #list(person, skip, { k = 20, why = false }) {
    if (!Number.isInteger(k) || k < 0) throw new RangeError(`k: ${k}, expected a whole number`);
    const keys = new BigUint64Array(Math.min(this.#V + 1, Math.max(2 * k, 1024)));
    const parts = new Uint32Array(keys.buffer); // of each key, the score and the number
    let used = 0, floor = -Infinity; // a score that is not above the floor cannot be listed
    const cut = () => {
      keys.subarray(0, used).sort();
      used = Math.min(used, k);
      word[0] = turned(parts[2 * used - 2 + UPPER]);
      if (used === k) floor = used ? float[0] : Infinity;
    };
    this.#score(person, (first, scores) => {
      for (let i = 0, at = first; i < scores.length; i++, at++) {
        if (!(scores[i] > floor) || has(skip, at)) continue;
        float[0] = scores[i] + 0; // -0 is 0
        parts[2 * used + UPPER] = turned(word[0]);
        parts[2 * used + 1 - UPPER] = at;
        if (++used === keys.length) cut();
      }
    });
    cut();
    return Array.from({ length: used }, (_, i) => {
      word[0] = turned(parts[2 * i + UPPER]);
      const number = parts[2 * i + 1 - UPPER], score = float[0], id = this.id(number);
      return { id, number, score, ...(why && { why: this.#why(number, person.isHeld) }) };
    });
  }

  /** The history item with the largest vote. @param {number} number @param {Uint8Array} isHeld */
  #why(number, isHeld) {
    const group = this.#groupOf(number);
    let largest = -1, who = -1;
    for (let slot = 0; slot < group.neighbours; slot++) {
      const { number: other, weight } = this.#neighbour(group, slot, number - group.first);
      const vote = weight && has(isHeld, other) ? this.#votes[weight] : -1;
      if (vote > largest || (vote === largest && other < who)) [largest, who] = [vote, other];
    }
    return who < 0 ? null : this.id(who);
  }
}

/** An open bundle; its checksums are checked, its SHA-256 is not. @param {Bytes} file */
export const readBundle = (file) => new Bundle(bytesOf(file));

/** An open bundle, the whole file checked. @param {Bytes} file @param {{sha256?: string}} [hash] */
export async function openBundle(file, { sha256 } = {}) {
  if (sha256 !== undefined) await checkSha256(bytesOf(file), sha256, 'bundle');
  return readBundle(file);
}

/** The new file of an old one (15). @param {Bytes} oldFile @param {Bytes} patchFile */
export async function applyPatch(oldFile, patchFile) {
  const old = bytesOf(oldFile), patch = bytesOf(patchFile), view = viewOf(patch);
  checkStart(patch, 96, PATCH, 'patch');
  checkZero(patch, 10, 12);
  same(u64(view, 16), old.length, 'length of the old file');
  const end = within(96 + 16 * view.getUint32(12, true), 96, patch.length, 'end of the operations');
  await checkSha256(old, hex(patch.subarray(32, 64)), 'old file');
  let made = new Uint8Array(0);
  for (const copying of [false, true]) {
    let copied = 0, inserted = end, total = 0;
    for (let at = 96; at < end; at += 16) {
      const insert = view.getBigUint64(at, true) === 2n ** 64n - 1n, source = insert ? patch : old;
      const from = insert ? inserted : within(u64(view, at), copied, old.length, 'start of a copy');
      const to = from + within(u64(view, at + 8), 1, source.length - from, 'length of a part');
      if (copying) made.set(source.subarray(from, to), total);
      if (insert) inserted = to; else copied = to;
      total += to - from;
    }
    same(total, u64(view, 24), 'length of the new file');
    same(inserted, patch.length, 'end of the inserts');
    if (!copying) made = new Uint8Array(total);
  }
  await checkSha256(made, hex(patch.subarray(64, 96)), 'new file');
  return made.buffer;
}
