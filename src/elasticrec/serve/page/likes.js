// Likes: what the person likes, by original ids, kept in this browser and nowhere else.

const PLACE = 'elasticrec likes';

/** Original ids as text, in the order they were chosen. */
export class Likes {
  #ids = /** @type {string[]} */ ([]);
  #changed;

  /** @param {() => void} changed called after every change */
  constructor(changed) {
    this.#changed = changed;
    try {
      const stored = JSON.parse(localStorage.getItem(PLACE) ?? '[]');
      if (Array.isArray(stored)) this.#ids = stored.filter((id) => typeof id === 'string');
    } catch { /* nothing stored, or storing is not allowed: start with nothing */ }
  }

  /** @returns {readonly string[]} */
  get ids() {
    return this.#ids;
  }

  /** @param {string} id */
  add(id) {
    this.#set([...this.#ids.filter((other) => other !== id), id]);
  }

  /** @param {string} id */
  remove(id) {
    this.#set(this.#ids.filter((other) => other !== id));
  }

  clear() {
    this.#set([]);
  }

  /** @param {string[]} ids */
  #set(ids) {
    this.#ids = ids;
    try {
      localStorage.setItem(PLACE, JSON.stringify(ids));
    } catch { /* they are forgotten when the page is left */ }
    this.#changed();
  }
}
