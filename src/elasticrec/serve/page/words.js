// Numbers as people read them. A megabyte is 10^6 bytes.

/** @param {number} n bytes */
export function bytesText(n) {
  if (n < 1000) return `${n} B`;
  const [size, unit] = n < 999_500 ? [1e3, 'KB'] : [1e6, 'MB'];
  return `${Number((n / size).toPrecision(3))} ${unit}`;
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
 * What a metric such as `recall@50` says, and of whom.
 * @param {string} metric @param {string} person
 */
export function metricWords(metric, person) {
  const [kind, k] = metric.split('@'), whom = person === 'history' ? ''
    : ' Estimated for people of whom the server sends a vector; this page goes by likes alone.';
  return ({
    recall: `${metric}: how much of what people took next is among the first ${k} of their lists.`,
    hit: `${metric}: how often the first ${k} of a list hold something that its person took next.`,
    ndcg: `${metric}: how high in the first ${k} of their lists is what people took next.`,
  }[kind] ?? '') + whom;
}
