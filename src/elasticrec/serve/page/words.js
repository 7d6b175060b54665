// Numbers as people read them. A megabyte is 10^6 bytes.

const ROUND = [1, 1.5, 2, 3, 5, 7]; // times powers of ten: the sizes at which curves are measured
const SPENT = 0.94; // a prefix of whole chunks is a little smaller than its budget

/** Whether this page opens without a network. */
export const OFFLINE = {
  safe: 'Once loaded, this page works without a network.',
  unkept: 'This browser does not keep pages, so this one needs the network to open.',
  unsafe: 'Over plain http a browser keeps no files, so the page needs the network each time. '
    + 'On https and localhost it works without one.',
};

/** @param {number} n bytes */
export function bytesText(n) {
  if (n < 1000) return `${n} B`;
  const [size, unit] = n < 999_500 ? [1e3, 'KB'] : n < 999.5e6 ? [1e6, 'MB'] : [1e9, 'GB'];
  return `${Number((n / size).toPrecision(3))} ${unit}`;
}

/** The round size that a prefix was cut for, else its own. @param {number} n bytes */
export function sizeText(n) {
  const power = 10 ** Math.floor(Math.log10(n));
  const round = [...ROUND, 10].map((each) => each * power).find((each) => each >= n) ?? n;
  return bytesText(n >= SPENT * round ? round : n);
}

/** @param {number} ms */
export function millisecondsText(ms) {
  return `${ms.toFixed(ms < 100 ? 1 : 0)} ms`; // clocks of browsers are no finer
}

/** @param {number} share of 1 */
export function percentText(share) {
  const percent = 100 * share;
  return `${percent >= 99.95 || percent < 0.05 ? Math.round(percent) : percent.toFixed(1)} %`;
}

/** @param {number} n @param {string} noun @param {string} [several] */
export function countText(n, noun, several = `${noun}s`) {
  return `${n.toLocaleString('en')} ${n === 1 ? noun : several}`;
}

/**
 * What the quality of a curve means, and on whom it was measured.
 * @param {import('./sizes.js').MeasuredCurve} curve
 */
export function metricText({ metric, part, users, person, measured }) {
  const [kind, k] = metric.split('@');
  const meaning = /** @type {Record<string, string>} */ ({
    recall: `the share of what people took next that is among the first ${k} of their lists`,
    hit: `the share of people who took next one of the first ${k} of their lists`,
    ndcg: `how high in the first ${k} of their lists is what people took next`,
  })[kind];
  const whom = person === 'vector' ? ' who also have a vector from the server' : '';
  return `${metric}${meaning ? ` is ${meaning}` : ''}, measured on ${countText(users, 'user')}`
    + `${whom} of the ${part} part${measured ? `, ${measured}` : ''}.`;
}
