// Titles: finds items of the catalogue by words of their titles.

/** @typedef {{ids: string[], titles: (string | null)[] | null}} Catalogue by item number */

const fold = (/** @type {string} */ text) => (
  text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase());
const words = (/** @type {string} */ text) => fold(text).split(/[^\p{L}\p{N}]+/u).filter(Boolean);

/** The titles in a catalogue file; numbers where there is none.
 * @param {ArrayBuffer | null} file @param {number} n items */
export function readTitles(file, n) {
  if (file) return new Titles(JSON.parse(new TextDecoder().decode(file)));
  return new Titles({ ids: Array.from({ length: n }, (_, number) => `${number}`), titles: null });
}

/** The titles of a catalogue, ready to be searched. */
export class Titles {
  #catalogue;
  #folded; // " the book thief": every word behind a space
  #numbers = /** @type {Map<string, number> | undefined} */ (undefined);

  /** @param {Catalogue} catalogue */
  constructor(catalogue) {
    this.#catalogue = catalogue;
    this.#folded = catalogue.ids.map((_, number) => ` ${words(this.title(number)).join(' ')}`);
  }

  /** The title of an item, or its id where it has none. @param {number} number */
  title(number) {
    return this.#catalogue.titles?.[number] ?? `No. ${this.#catalogue.ids[number]}`;
  }

  /** The original id of an item as text. @param {number} number */
  id(number) {
    return this.#catalogue.ids[number];
  }

  /** The number of an item, -1 where the catalogue has no such id. @param {string} id */
  number(id) {
    this.#numbers ??= new Map(this.#catalogue.ids.map((each, number) => [each, number]));
    return this.#numbers.get(id) ?? -1;
  }

  /**
   * Numbers of items whose titles have words that begin like all of the given ones; if there are
   * none, of those that have them anywhere. Titles that begin like the text come first, then small
   * numbers, which are popular ones.
   * @param {string} text @param {number} most @param {Set<number>} without
   */
  search(text, most, without) {
    const wanted = words(text);
    if (!wanted.length) return [];
    const found = this.#holding(wanted.map((word) => ` ${word}`), most, without);
    return found.length ? found : this.#holding(wanted, most, without);
  }

  /** @param {string[]} parts @param {number} most @param {Set<number>} without */
  #holding(parts, most, without) {
    const start = parts.join(''), first = /** @type {number[]} */ ([]);
    const others = /** @type {number[]} */ ([]);
    for (let number = 0; number < this.#folded.length && first.length < most; number++) {
      const title = this.#folded[number];
      if (without.has(number) || !parts.every((part) => title.includes(part))) continue;
      (title.startsWith(start) ? first : others).push(number);
    }
    return [...first, ...others].slice(0, most);
  }
}
