// Titles: finds items of the catalogue by words of their titles and authors, spelled nearly right.

/** @typedef {{ids: string[], titles: (string | null)[] | null}} Catalogue by item number */
/** @typedef {{number: number, id: string, title: string | null}[]} Popular */

const BY = ' · '; // stands in a title before its author or brand

const fold = (/** @type {string} */ text) => (
  text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase());
const words = (/** @type {string} */ text) => fold(text).split(/[^\p{L}\p{N}]+/u).filter(Boolean);
/** Wrong letters that a word may have. @param {string} word */
const allowed = (word) => (word.length < 3 ? 0 : word.length < 8 ? 1 : 2);

/** The titles in a catalogue file; numbers where there is none.
 * @param {ArrayBuffer | null} file @param {number} n items */
export function readTitles(file, n) {
  if (file) return new Titles(JSON.parse(new TextDecoder().decode(file)));
  return new Titles({ ids: Array.from({ length: n }, (_, number) => `${number}`), titles: null });
}

/** The titles of the most popular items alone. @param {Popular} popular */
export function popularTitles(popular) {
  const ids = /** @type {string[]} */ ([]), titles = /** @type {(string | null)[]} */ ([]);
  for (const { number, id, title } of popular) [ids[number], titles[number]] = [id, title];
  return new Titles({ ids, titles });
}

/**
 * How many letters have to be left out, put in, changed or swapped with the next one to make a word
 * the beginning of another; more than `most` are not counted.
 * @param {string} word @param {string} other @param {number} most
 */
export function edits(word, other, most) {
  if (Math.min(word.length, other.length) + most < word.length) return most + 1;
  const wide = Math.min(other.length, word.length + most);
  let before = /** @type {number[]} */ ([]), last = Array.from({ length: wide + 1 }, (_, j) => j);
  for (let i = 1; i <= word.length; i++) {
    const row = [i];
    for (let j = 1; j <= wide; j++) {
      const same = word[i - 1] === other[j - 1];
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1));
      if (i > 1 && j > 1 && word[i - 1] === other[j - 2] && word[i - 2] === other[j - 1]) {
        row[j] = Math.min(row[j], before[j - 2] + 1);
      }
    }
    if (Math.min(...row) > most) return most + 1;
    [before, last] = [last, row];
  }
  return Math.min(...last, most + 1);
}

/** The titles of a catalogue, ready to be searched. */
export class Titles {
  #catalogue;
  #folded; // " the book thief markus zusak": every word behind a space
  #numbers = /** @type {Map<string, number> | undefined} */ (undefined);
  #places = /** @type {Map<string, number[]> | undefined} */ (undefined); // of each word

  /** @param {Catalogue} catalogue */
  constructor(catalogue) {
    this.#catalogue = catalogue;
    this.#folded = catalogue.ids.map((_, number) => ` ${words(this.#whole(number)).join(' ')}`);
  }

  /** @param {number} number */
  #whole(number) {
    return this.#catalogue.titles?.[number] ?? `No. ${this.#catalogue.ids[number]}`;
  }

  /** The title of an item, or its id where it has none. @param {number} number */
  title(number) {
    return this.#whole(number).split(BY)[0];
  }

  /** The author or brand of an item, or nothing. @param {number} number */
  by(number) {
    return this.#whole(number).split(BY).slice(1).join(BY);
  }

  /** The original id of an item as text. @param {number} number */
  id(number) {
    return this.#catalogue.ids[number];
  }

  /** The number of an item, -1 where the catalogue has no such id. @param {string} id */
  number(id) {
    if (!this.#numbers) {
      const numbers = this.#numbers = new Map();
      this.#catalogue.ids.forEach((each, number) => numbers.set(each, number));
    }
    return this.#numbers.get(id) ?? -1;
  }

  /**
   * Numbers of items that have words which begin like all of the given ones; if there are none, of
   * those that have words spelled nearly so, then of those that have them anywhere. Titles that
   * begin like the text come first, then small numbers, which are popular ones.
   * @param {string} text @param {number} most @param {Set<number>} without
   */
  search(text, most, without) {
    const wanted = words(text);
    if (!wanted.length) return [];
    const found = this.#holding(wanted.map((word) => ` ${word}`), most, without);
    if (found.length) return found;
    const near = [...this.#nearly(wanted, without), ...this.#holding(wanted, most, without)];
    return [...new Set(near)].slice(0, most);
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

  /** The least wrong come first. @param {string[]} wanted @param {Set<number>} without */
  #nearly(wanted, without) {
    let sums = /** @type {Map<number, number> | null} */ (null); // wrong letters of each item
    for (const word of wanted) {
      const least = /** @type {Map<number, number>} */ (new Map());
      for (const [each, numbers] of this.#words()) {
        const wrong = edits(word, each, allowed(word));
        if (wrong > allowed(word)) continue;
        for (const number of numbers) {
          const before = sums ? sums.get(number) : 0, best = least.get(number) ?? Infinity;
          if (before !== undefined) least.set(number, Math.min(best, before + wrong));
        }
      }
      sums = least;
    }
    return [...sums ?? []].filter(([number]) => !without.has(number))
      .sort((a, b) => a[1] - b[1] || a[0] - b[0]).map(([number]) => number);
  }

  /** Every word, and the items that have it. */
  #words() {
    if (this.#places) return this.#places;
    const places = this.#places = /** @type {Map<string, number[]>} */ (new Map());
    this.#folded.forEach((title, number) => {
      for (const word of title.slice(1).split(' ')) {
        const numbers = places.get(word);
        if (numbers) numbers.push(number);
        else places.set(word, [number]);
      }
    });
    return places;
  }
}
