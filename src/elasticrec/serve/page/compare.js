// Compares two lists: what is new, gone, higher or lower.

/** @typedef {{number: number, mark: string, words: string}} Row an item and how it moved */

/**
 * The rows of a list beside another one.
 * @param {number[]} items @param {number[]} other
 * @param {boolean} isLater whether `other` is the one before
 * @returns {Row[]}
 */
export function compared(items, other, isLater) {
  return items.map((number, place) => {
    const before = other.indexOf(number);
    if (before < 0 && isLater) return { number, mark: 'new', words: 'new' };
    if (before < 0) return { number, mark: 'gone', words: 'only here' };
    if (!isLater || before === place) return { number, mark: '', words: '' };
    const steps = Math.abs(before - place);
    if (before > place) return { number, mark: 'up', words: `▲ ${steps}` };
    return { number, mark: 'down', words: `▼ ${steps}` };
  });
}

/** @param {number[]} left @param {number[]} right */
export function comparedText(left, right) {
  const both = right.filter((number) => left.includes(number)).length;
  if (left.length === right.length && left.every((number, n) => number === right[n])) {
    return 'Both sizes give the same list.';
  }
  return `${both} of ${right.length} titles are in both lists.`;
}
