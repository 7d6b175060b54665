// Curve: size against measured quality, drawn by hand as SVG; a click on it chooses a size.

import { bytesText } from './words.js';

/** @typedef {{bytes: number, quality: number}} Point */
/** @typedef {{name: string, quality: number}} Level a quality to compare with */

const WIDTH = 400, HEIGHT = 210, LEFT = 44, RIGHT = 12, TOP = 12, BOTTOM = 30;

/** @typedef {Record<string, string | number>} Attributes */

/** @param {string} name @param {Attributes} attributes @param {string} [text] */
function drawn(name, attributes, text) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, `${value}`);
  if (text !== undefined) element.textContent = text;
  return element;
}

/** Round numbers from 0 up to a highest one. @param {number} high */
function roundSteps(high) {
  const unit = 10 ** Math.floor(Math.log10(high)), parts = [0.1, 0.2, 0.5, 1];
  const step = parts.map((part) => part * unit).find((each) => high / each < 5) ?? unit;
  return Array.from({ length: Math.floor(high / step) + 1 }, (_, i) => i * step);
}

/** Round sizes between two, about six at most. @param {number} low @param {number} high */
function roundSizes(low, high) {
  const parts = high / low > 100 ? [1] : high / low > 20 ? [1, 3] : [1, 2, 5];
  const powers = Array.from({ length: 13 }, (_, power) => 10 ** power);
  return powers.flatMap((power) => parts.map((part) => part * power))
    .filter((size) => size >= low && size <= high);
}

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
    const line = points.map((point) => `${this.#x(point.bytes)},${this.#y(point.quality)}`);
    const [low, high] = [points[0].bytes, points[points.length - 1].bytes];
    const floor = HEIGHT - BOTTOM, ends = [this.#x(high), this.#x(low)].map((x) => `${x},${floor}`);
    this.#svg.replaceChildren(
      ...roundSteps(this.#most).flatMap((value) => this.#line(value)),
      ...roundSizes(low, high).map((size) => (
        drawn('text', { x: this.#x(size), y: HEIGHT - 8, class: 'size' }, bytesText(size)))),
      ...this.#plateau(enough),
      ...levels.flatMap((level) => this.#level(level)),
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

  /** A quality to compare with. @param {Level} level */
  #level({ name, quality }) {
    const y = this.#y(quality);
    return [
      drawn('path', { class: 'level', d: `M${LEFT} ${y}H${WIDTH - RIGHT}` }),
      drawn('text', { x: LEFT + 4, y: y - 4, class: 'named' }, name),
    ];
  }

  /** Put the marker on a point. @param {Point} point */
  mark(point) {
    const x = this.#x(point.bytes), y = this.#y(point.quality);
    this.#marker.replaceChildren(
      drawn('path', { class: 'drop', d: `M${x} ${HEIGHT - BOTTOM}V${y}H${LEFT}` }),
      drawn('circle', { class: 'point', cx: x, cy: y, r: 6 }),
    );
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
