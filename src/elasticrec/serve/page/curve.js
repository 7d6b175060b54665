// Curve: size against measured quality, drawn by hand as SVG; a click on it chooses a size.

import { drawn, freeBox, roundSizes, roundSteps } from './drawing.js';
import { bytesText } from './words.js';

/** @typedef {{bytes: number, quality: number}} Point */
/** @typedef {{name: string, quality: number}} Level a quality to compare with */
/** @typedef {import('./drawing.js').Place} Place */
/** @typedef {import('./drawing.js').Box} Box */

const WIDTH = 400, HEIGHT = 210, LEFT = 44, RIGHT = 12, TOP = 12, BOTTOM = 30;
const LETTER = 8.2, TALL = 17; // of a name on a phone, where it is largest

/** The picture. */
export class Curve {
  #svg;
  #points = /** @type {Point[]} */ ([]);
  #most = 1;
  #marker = drawn('g', { class: 'marker' });

  /** @param {SVGSVGElement} svg @param {(index: number) => void} choose */
  constructor(svg, choose) {
    this.#svg = svg;
    svg.addEventListener('click', ({ clientX }) => {
      const { left, width } = svg.getBoundingClientRect();
      const x = ((clientX - left) / width) * WIDTH;
      const far = this.#points.map((point) => Math.abs(this.#x(point.bytes) - x));
      choose(far.indexOf(Math.min(...far)));
    });
  }

  /**
   * @param {Point[]} points by rising size @param {Level[]} levels
   * @param {number} enough the number of the size beyond which none is clearly better
   */
  draw(points, levels, enough) {
    this.#points = points;
    this.#most = Math.max(...[...points, ...levels].map(({ quality }) => quality), 1e-9);
    const places = points.map((point) => ({ x: this.#x(point.bytes), y: this.#y(point.quality) }));
    const line = places.map(({ x, y }) => `${x},${y}`), named = this.#lines(levels);
    const [low, high] = [points[0].bytes, points[points.length - 1].bytes];
    const floor = HEIGHT - BOTTOM, ends = [this.#x(high), this.#x(low)].map((x) => `${x},${floor}`);
    this.#svg.replaceChildren(
      ...roundSteps(this.#most).flatMap((value) => this.#line(value)),
      ...roundSizes(low, high).map((size) => (
        drawn('text', { x: this.#x(size), y: HEIGHT - 8, class: 'size' }, bytesText(size)))),
      ...this.#plateau(enough),
      ...levels.flatMap((level) => this.#level(level, places, named)),
      drawn('polygon', { class: 'area', points: [...line, ...ends].join(' ') }),
      drawn('polyline', { class: 'line', points: line.join(' ') }),
      ...points.map(({ bytes, quality }) => (
        drawn('circle', { class: 'step', cx: this.#x(bytes), cy: this.#y(quality), r: 2.2 }))),
      this.#marker,
    );
  }

  /** A line at a quality, and its name. @param {number} quality */
  #line(quality) {
    const y = this.#y(quality), text = `${Number(quality.toFixed(3))}`;
    return [
      drawn('path', { class: 'grid', d: `M${LEFT} ${y}H${WIDTH - RIGHT}` }),
      drawn('text', { x: LEFT - 6, y: y + 4, class: 'quality' }, text),
    ];
  }

  /** Where more bytes stop helping. @param {number} enough */
  #plateau(enough) {
    if (enough >= this.#points.length - 1) return [];
    const x = this.#x(this.#points[enough].bytes), width = WIDTH - RIGHT - x;
    return [drawn('rect', { class: 'plateau', x, y: TOP, width, height: HEIGHT - BOTTOM - TOP })];
  }

  /** Where the lines of levels run. @param {Level[]} levels @returns {Box[]} */
  #lines(levels) {
    const heights = levels.map(({ quality }) => this.#y(quality));
    return heights.map((y) => ({ left: LEFT, right: WIDTH - RIGHT, top: y, bottom: y }));
  }

  /** A quality to compare with, named above or below its line where nothing is crossed.
   * @param {Level} level @param {Place[]} places of the curve
   * @param {Box[]} named names and lines so far */
  #level({ name, quality }, places, named) {
    const y = this.#y(quality), wide = LETTER * name.length, end = WIDTH - RIGHT - 2;
    const boxes = [end - wide, LEFT + 8, (LEFT + end - wide) / 2].flatMap((left) => (
      [y - TALL - 2, y + 3].map((top) => ({ left, right: left + wide, top, bottom: top + TALL }))));
    const box = freeBox(boxes, places, named);
    named.push(box);
    return [
      drawn('path', { class: 'level', d: `M${LEFT} ${y}H${WIDTH - RIGHT}` }),
      drawn('text', { x: box.left, y: box.bottom - 3, class: 'named' }, name),
    ];
  }

  /** Put the marker on a point. @param {Point} point */
  mark(point) {
    const x = this.#x(point.bytes), y = this.#y(point.quality);
    this.#marker.replaceChildren(drawn('circle', { class: 'point', cx: x, cy: y, r: 6 }));
  }

  /** @param {number} size */
  #x(size) {
    const low = this.#points[0].bytes, high = this.#points[this.#points.length - 1].bytes;
    const share = high > low ? Math.log(size / low) / Math.log(high / low) : 0.5;
    return +(LEFT + 6 + share * (WIDTH - LEFT - RIGHT - 12)).toFixed(1);
  }

  /** @param {number} quality */
  #y(quality) {
    const share = quality / (1.08 * this.#most);
    return +(HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)).toFixed(1);
  }
}
