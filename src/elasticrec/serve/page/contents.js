// Contents: what the bytes of a stream give its items, in plain words and as a picture.

import { bytesText, countText } from './words.js';
import { drawn, roundSteps } from './drawing.js';

/** @typedef {{first: number, end: number, columns: number, slots: number}} Run items that have the
 * same: bytes that say what they are like, and other items that go with them */
/** @typedef {{items: number, runs: Run[], slotBytes: number}} Contents */

const CODES = 3, NEIGHBOURS = 4; // kinds of chunks that items have
const WIDTH = 400, HEIGHT = 160, LEFT = 54, RIGHT = 12, TOP = 12, BOTTOM = 32;

/** What the complete chunks of a stream hold; docs/stream-format.md says where it stands.
 * @param {Uint8Array} bytes @returns {Contents} */
export function contentsOf(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const items = view.getUint32(12, true), have = [new Uint16Array(items), new Uint8Array(items)];
  for (let at = 276 + 8 * view.getUint16(10, true), stop = at; at + 32 <= bytes.length; at = stop) {
    const [size, kinds, first, count] = [0, 4, 8, 12].map((by) => view.getUint32(at + by, true));
    stop = at + 32 + size;
    if (stop > bytes.length) break;
    const which = [CODES, NEIGHBOURS].indexOf(kinds & 255);
    if (which >= 0) have[which].fill((kinds >>> 16) + 1, first, first + count);
  }
  const runs = /** @type {Run[]} */ ([]), [columns, slots] = have;
  for (let i = 0; i < items; i++) {
    const last = runs[runs.length - 1];
    if (last?.columns === columns[i] && last.slots === slots[i]) last.end = i + 1;
    else runs.push({ first: i, end: i + 1, columns: columns[i], slots: slots[i] });
  }
  return { items, runs, slotBytes: Math.max(1, 32 - Math.clz32(items - 1)) / 8 + 0.5 };
}

/** @param {Contents} contents */
export function contentsText({ runs }) {
  const [most, ...rest] = runs, others = runs[runs.length - 1].end - most.end;
  const [bytes, titles] = hasTexts([most]);
  const [whom, are, them] = rest.length
    ? [`The ${countText(most.end, 'most popular title')} have`, 'they are', 'them']
    : ['Every title has', 'it is', 'it'];
  const start = `${whom} ${bytes} about what ${are} like`
    + `${titles && `, and ${titles} to go with ${them}`}`;
  if (!rest.length) return `${start}.`;
  const left = hasTexts(rest).filter(Boolean).join(' and ');
  return `${start}; the other ${others.toLocaleString('en')} have ${left}.`;
}

/** Bytes and titles that items have. @param {Run[]} runs */
function hasTexts(runs) {
  const range = (/** @type {number[]} */ values, /** @type {string} */ noun) => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return high ? (low < high ? `${low} to ` : '') + countText(high, noun) : '';
  };
  return [range(runs.map(({ columns }) => columns), 'byte') || 'no bytes',
    range(runs.map(({ slots }) => slots), 'title')];
}

/** Show in plain words and as a picture what the bytes in use hold.
 * @param {(id: string) => any} at finds an element @param {Uint8Array | null} bytes */
export function showContents(at, bytes) {
  at('kept').toggleAttribute('hidden', !bytes);
  if (!bytes) return;
  const contents = contentsOf(bytes);
  drawContents(at('contents'), contents);
  at('held').textContent = contentsText(contents);
}

/** Draw bytes of an item, from the most to the least popular. @param {SVGSVGElement} svg
 * @param {Contents} contents */
function drawContents(svg, { items, runs, slotBytes }) {
  const high = Math.max(...runs.map(({ columns, slots }) => columns + slots * slotBytes), 1);
  const floor = HEIGHT - BOTTOM, right = WIDTH - RIGHT;
  const x = (/** @type {number} */ item) => +(LEFT + item / items * (right - LEFT)).toFixed(1);
  const y = (/** @type {number} */ size) => +(floor - size / high * (floor - TOP)).toFixed(1);
  /** @param {string} name @param {(run: Run) => number[]} part its lower and upper end */
  const area = (name, part) => drawn('path', { class: name, d: runs.map((run) => {
    const [low, top] = part(run);
    return `M${x(run.first)} ${y(low)}V${y(top)}H${x(run.end)}V${y(low)}z`;
  }).join('') });
  svg.replaceChildren(
    area('likeness', ({ columns }) => [0, columns]),
    area('company', ({ columns, slots }) => [columns, columns + slots * slotBytes]),
    ...roundSteps(high).flatMap((size) => [
      drawn('path', { class: 'grid', d: `M${LEFT} ${y(size)}H${right}` }),
      drawn('text', { class: 'quality', x: LEFT - 6, y: y(size) + 4 }, bytesText(size)),
    ]),
    drawn('text', { x: LEFT, y: HEIGHT - 9 }, 'most popular'),
    drawn('text', { class: 'quality', x: right, y: HEIGHT - 9 }, 'least popular'),
  );
}
