// Drawing: elements of pictures, round numbers on their axes, and places where names cross nothing.

/** @typedef {Record<string, string | number>} Attributes */
/** @typedef {{x: number, y: number}} Place */
/** @typedef {{left: number, right: number, top: number, bottom: number}} Box */

/** An SVG element. @param {string} name @param {Attributes} attributes @param {string} [text] */
export function drawn(name, attributes, text) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, `${value}`);
  if (text !== undefined) element.textContent = text;
  return element;
}

/** Round numbers from 0 up to a highest one, about four. @param {number} high */
export function roundSteps(high) {
  const unit = 10 ** Math.floor(Math.log10(high)), parts = [0.1, 0.2, 0.5, 1, 2, 5];
  const step = parts.map((part) => part * unit).find((each) => high / each < 5) ?? unit;
  return Array.from({ length: Math.floor(high / step + 1e-9) + 1 }, (_, i) => i * step);
}

/** Round sizes between two, about six at most. @param {number} low @param {number} high */
export function roundSizes(low, high) {
  const wide = high / low, fine = [1, 1.5, 2, 3, 4, 6, 8];
  const parts = wide > 100 ? [1] : wide > 20 ? [1, 3] : wide > 6 ? [1, 2, 5] : fine;
  const powers = Array.from({ length: 13 }, (_, power) => 10 ** power);
  return powers.flatMap((power) => parts.map((part) => part * power))
    .filter((size) => size >= low && size <= high);
}

/** The first of some boxes that neither a line nor another box crosses; else the first one.
 * @param {Box[]} boxes @param {Place[]} line by rising x @param {Box[]} taken */
export function freeBox(boxes, line, taken) {
  const apart = (/** @type {Box} */ a, /** @type {Box} */ b) => (
    a.right < b.left || b.right < a.left || a.bottom < b.top || b.bottom < a.top);
  const heights = (/** @type {Box} */ { left, right }) => {
    const inside = line.filter(({ x }) => x > left && x < right).map(({ y }) => y);
    return [heightAt(line, left), ...inside, heightAt(line, right)];
  };
  return boxes.find((box) => {
    const found = heights(box);
    const clear = found.every((y) => y < box.top) || found.every((y) => y > box.bottom);
    return clear && taken.every((other) => apart(box, other));
  }) ?? boxes[0];
}

/** The height of a line. @param {Place[]} line by rising x @param {number} x */
function heightAt(line, x) {
  const next = line.findIndex((point) => point.x >= x);
  if (next <= 0) return line.at(next)?.y ?? 0;
  const [a, b] = [line[next - 1], line[next]];
  return a.y + (b.y - a.y) * (x - a.x) / (b.x - a.x);
}
