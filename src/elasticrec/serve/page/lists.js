// The lists: what the person likes, what is recommended, and two sizes side by side.

/** @typedef {{number: number, why?: number | null}} Listed an item, and the liked one behind it */
/** @typedef {(number: number) => string} Name */
/** @typedef {Pick<import('./titles.js').Titles, 'title' | 'by'>} Titles */

/** @param {string} label @param {string} text @param {() => void} act */
function button(label, text, act) {
  const element = document.createElement('button');
  element.type = 'button';
  element.textContent = text;
  element.setAttribute('aria-label', label);
  element.addEventListener('click', act);
  return element;
}

/** @param {string} className @param {string} text */
function span(className, text) {
  const element = document.createElement('span');
  element.className = className;
  element.textContent = text;
  return element;
}

/**
 * Replace the entries of a list; a focused button's place in it keeps the focus.
 * @param {HTMLElement} list @param {HTMLLIElement[]} entries @param {HTMLElement} otherwise gets
 * the focus where no entry is left
 */
function refill(list, entries, otherwise) {
  const buttons = () => [...list.querySelectorAll('button')];
  const focused = buttons().findIndex((each) => each === document.activeElement);
  list.replaceChildren(...entries);
  if (focused < 0) return;
  const now = buttons();
  (now[Math.min(focused, now.length - 1)] ?? otherwise).focus({ preventScroll: true });
}

/**
 * Show what is liked.
 * @param {HTMLElement} list @param {number[]} numbers @param {Name} name
 * @param {(number: number) => void} remove @param {HTMLElement} otherwise
 */
export function showLikes(list, numbers, name, remove, otherwise) {
  refill(list, numbers.map((number) => {
    const entry = document.createElement('li'), title = name(number);
    const gone = button(`Remove ${title}`, '×', () => remove(number));
    entry.append(span('title', title), gone);
    return entry;
  }), otherwise);
}

/**
 * Show what is recommended; items that were not listed before are marked.
 * @param {HTMLElement} list @param {Listed[]} items @param {Titles} titles
 * @param {(number: number) => void} like @param {Set<number>} before @param {HTMLElement} otherwise
 */
export function showListed(list, items, titles, like, before, otherwise) {
  refill(list, items.map(({ number, why }) => {
    const entry = document.createElement('li'), title = titles.title(number);
    const words = span('words', ''), by = titles.by(number);
    entry.dataset.number = `${number}`;
    entry.classList.toggle('new', before.size > 0 && !before.has(number));
    words.append(span('title', title));
    if (by) words.append(span('by', by));
    if (why != null) words.append(span('why', `because of ${titles.title(why)}`));
    const heart = button(`Like ${title}`, '♥', () => like(number));
    heart.className = 'like';
    entry.append(words, heart);
    return entry;
  }), otherwise);
}

/** Show one of two lists. @param {HTMLElement} list @param {import('./compare.js').Row[]} rows
 * @param {Name} name */
export function showCompared(list, rows, name) {
  list.replaceChildren(...rows.map(({ number, mark, words }) => {
    const entry = document.createElement('li');
    entry.append(span('title', name(number)), span(`mark ${mark}`, words));
    return entry;
  }));
}
