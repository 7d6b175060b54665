// Which sizes the slider offers, and where it starts.

/** @typedef {import('./service.js').Model} Model */
/** @typedef {import('./service.js').Point & {step_bytes: number}} Point and the size to ask for */

const LEAST = 0.5e6, MOST = 25e6;
const SMALL = 5e6; // models below it are offered from their smallest size on
const GOOD = 0.97; // of the quality of the largest size

/**
 * The points between 0.5 and 25 MB; smaller ones too, where the model is small. All if none is.
 * Each is the best of what fits: a file that was made for less room may be better.
 * @param {Model} model @param {import('./service.js').Point[]} curve by rising size
 * @returns {Point[]}
 */
export function sizesOf(model, curve) {
  const least = model.full_bytes < SMALL ? 0 : LEAST;
  const within = curve.filter(({ budget_bytes: size }) => size >= least && size <= MOST);
  const points = within.length ? within : curve;
  let [best] = points;
  return points.map((point) => {
    if (point.estimate > best.estimate) best = point;
    return { ...best, budget_bytes: point.budget_bytes, step_bytes: best.budget_bytes };
  });
}

/**
 * The number of the size that was last used here, else of the smallest that is nearly as good as
 * the largest.
 * @param {Model} model @param {Point[]} points
 */
export function startingSize(model, points) {
  const last = points.findIndex(({ budget_bytes: size }) => `${size}` === stored(place(model)));
  const enough = GOOD * points[points.length - 1].estimate;
  return last >= 0 ? last : points.findIndex(({ estimate }) => estimate >= enough);
}

/** Start with this size next time, as it is here then. @param {Model} model @param {Point} point */
export function rememberSize(model, { budget_bytes: size }) {
  try {
    localStorage.setItem(place(model), `${size}`);
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
