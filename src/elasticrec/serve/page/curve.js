// Curve: size against estimated quality, drawn by hand as SVG; a click on it chooses a size.

import { bytesText } from './words.js';

/** @typedef {import('./service.js').Point} Point */

const WIDTH = 400, HEIGHT = 210, LEFT = 40, RIGHT = 12, TOP = 12, BOTTOM = 28;

/** @param {string} name @param {Record<string, string | number>} attributes @param {string} [text] */
function drawn(name, attributes, text) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, `${value}`);
  if (text !== undefined) element.textContent = text;
  return element;
}

/** Round numbers from 0 up to a highest one. @param {number} high */
function roundSteps(high) {
  const unit = 10 ** Math.floor(Math.log10(high));
  const step = [0.1, 0.2, 0.5, 1].map((part) => part * unit).find((each) => high / each < 5) ?? unit;
  return Array.from({ length: Math.floor(high / step) + 1 }, (_, i) => i * step);
}

/** Round sizes between two, about six at most. @param {number} low @param {number} high */
function roundSizes(low, high) {
  const parts = high / low > 100 ? [1] : high / low > 20 ? [1, 3] : [1, 2, 5];
  const powers = Array.from({ length: 10 }, (_, power) => 10 ** power);
  return powers.flatMap((power) => parts.map((part) => part * power))
    .filter((size) => size >= low && size <= high);
}

/** The picture. */
export class Curve {
  #svg;
  #points = /** @type {Point[]} */ ([]);
  #marker = drawn('g', { class: 'marker' });

  /** @param {SVGSVGElement} svg @param {(index: number) => void} choose */
  constructor(svg, choose) {
    this.#svg = svg;
    svg.addEventListener('click', ({ clientX }) => {
      const { left, width } = svg.getBoundingClientRect();
      const x = ((clientX - left) / width) * WIDTH;
      const far = this.#points.map((point) => Math.abs(this.#x(point.budget_bytes) - x));
      choose(far.indexOf(Math.min(...far)));
    });
  }

  /** @param {Point[]} points by rising size */
  draw(points) {
    this.#points = points;
    const line = points.map((point) => `${this.#x(point.budget_bytes)},${this.#y(point.estimate)}`);
    const [low, high] = [points[0].budget_bytes, points[points.length - 1].budget_bytes];
    const floor = HEIGHT - BOTTOM, ends = [this.#x(high), this.#x(low)].map((x) => `${x},${floor}`);
    this.#svg.replaceChildren(
      ...roundSteps(this.#most).flatMap((value) => [
        drawn('path', { class: 'grid', d: `M${LEFT} ${this.#y(value)}H${WIDTH - RIGHT}` }),
        drawn('text', { x: LEFT - 6, y: this.#y(value) + 4, 'text-anchor': 'end' }, `${+value.toFixed(3)}`),
      ]),
      ...roundSizes(low, high).map((size) => (
        drawn('text', { x: this.#x(size), y: HEIGHT - 8, 'text-anchor': 'middle' }, bytesText(size)))),
      drawn('polygon', { class: 'area', points: [...line, ...ends].join(' ') }),
      drawn('polyline', { class: 'line', points: line.join(' ') }),
      ...points.map((point) => (
        drawn('circle', { class: 'step', cx: this.#x(point.budget_bytes), cy: this.#y(point.estimate), r: 2 }))),
      this.#marker,
    );
  }

  /** Put the marker on a point. @param {Point} point */
  mark(point) {
    const x = this.#x(point.budget_bytes), y = this.#y(point.estimate);
    this.#marker.replaceChildren(
      drawn('path', { class: 'drop', d: `M${x} ${HEIGHT - BOTTOM}V${y}H${LEFT}` }),
      drawn('circle', { class: 'point', cx: x, cy: y, r: 6 }),
    );
  }

  get #most() {
    return Math.max(...this.#points.map((point) => point.estimate), 1e-9);
  }

  /** @param {number} size */
  #x(size) {
    const low = this.#points[0].budget_bytes, high = this.#points[this.#points.length - 1].budget_bytes;
    const share = high > low ? Math.log(size / low) / Math.log(high / low) : 0.5;
    return +(LEFT + 6 + share * (WIDTH - LEFT - RIGHT - 12)).toFixed(1);
  }

  /** @param {number} quality */
  #y(quality) {
    return +(HEIGHT - BOTTOM - (quality / (1.06 * this.#most)) * (HEIGHT - BOTTOM - TOP)).toFixed(1);
  }
}
