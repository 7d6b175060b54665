// Which sizes the slider offers, where it starts, and where more bytes stop helping.

import { sizeText } from './words.js';

/** @typedef {import('./models.js').Model} Model */
/** @typedef {Record<string, number> & {bytes: number}} CurvePoint metrics by name */
/** @typedef {{part: string, users: number, metric: string, measured?: string, person?: string,
 * points: CurvePoint[], full?: Record<string, number>, itemknn?: Record<string, number>,
 * popularity?: Record<string, number>}} MeasuredCurve */
/** @typedef {{bytes: number, quality: number | null}} Point null where nothing was measured */

const HELPS = 1.005; // less than half a per cent is within the noise of a few thousand users
const ROUND = [1, 1.5, 2, 3, 5, 7];

/**
 * The measured sizes, rising; round ones where there is no curve.
 * @param {Model} model @param {MeasuredCurve | null} curve @returns {Point[]}
 */
export function sizesOf(model, curve) {
  const measured = (curve?.points ?? []).filter(({ bytes }) => bytes <= model.bytes)
    .map((point) => ({ bytes: point.bytes, quality: point[curve?.metric ?? ''] ?? null }));
  if (measured.length) return measured.sort((a, b) => a.bytes - b.bytes);
  const round = Array.from({ length: 12 }, (_, n) => ROUND.map((each) => each * 10 ** n)).flat()
    .filter((size) => size > model.least_bytes && size < model.bytes);
  return [model.least_bytes, ...round, model.bytes].map((bytes) => ({ bytes, quality: null }));
}

/** The number of the first size that no larger one beats clearly. @param {Point[]} points */
export function enough(points) {
  const best = points.map((_, n) => Math.max(0, ...points.slice(n + 1).map((p) => p.quality ?? 0)));
  const found = points.findIndex(
    ({ quality }, n) => quality !== null && best[n] <= quality * HELPS);
  return found < 0 ? points.length - 1 : found;
}

/** @param {Point[]} points */
export function enoughText(points) {
  const number = enough(points), { bytes, quality } = points[number];
  if (quality === null || number === points.length - 1) return '';
  return `Bigger does not help beyond ${sizeText(bytes)}: no larger size measured better by half a `
    + 'per cent.';
}

/** What the sizes may be compared with: name and quality. @param {MeasuredCurve} curve */
export function levelsOf({ metric, full, itemknn, popularity }) {
  const found = { 'trained vectors alone': full, 'counting pairs (ItemKNN)': itemknn,
    'one list for all': popularity };
  return Object.entries(found).flatMap(([name, measured]) => (
    measured?.[metric] === undefined ? [] : [{ name, quality: measured[metric] }]));
}

/** The number of the size that was last used here, else of the one that is enough.
 * @param {Model} model @param {Point[]} points */
export function startingSize(model, points) {
  const last = points.findIndex(({ bytes }) => sizeText(bytes) === stored(place(model)));
  return last >= 0 ? last : enough(points);
}

/** Start with this size next time. @param {Model} model @param {Point} point */
export function rememberSize(model, { bytes }) {
  try {
    localStorage.setItem(place(model), sizeText(bytes));
  } catch { /* the page starts as if it were new */ }
}

const place = (/** @type {Model} */ { name }) => `elasticrec size of ${name}`;

/** @param {string} key */
function stored(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
