/**
 * Ranking as docs/stream-format.md prints it, one item after the other, from what a sample holds:
 * the slow twin whose lists and scores the runtime must equal.
 */

const list = (n, make) => Array.from({ length: n }, (_, i) => make(i));
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const binaryDigits = (number) => number.toString(2).length;

/** The value of a binary16, as its definition says. */
export function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1,
    exponent = (bits >> 10) & 31,
    fraction = bits & 1023;
  return exponent
    ? sign * 2 ** (exponent - 15) * (1 + fraction / 1024)
    : sign * 2 ** -24 * fraction;
}

/** The two codewords that a byte names. */
const pair = (book, byte) => [book.words[byte % 16], book.words[16 + Math.floor(byte / 16)]];

/** The vector y of an item (section 3). */
function vector({ D }, now, item) {
  return list(D, (k) =>
    sum(
      now.codes[item].map((byte, c) => {
        const { codebook, first, scale } = now.columns[c],
          book = now.books[codebook];
        const at = k - 8 * first;
        if (at < 0 || at >= 8 * book.width) return 0;
        return scale * sum(pair(book, byte).map((word) => word[at]));
      }),
    ),
  );
}

const lengthOf = (y) => Math.sqrt(sum(y.map((value) => value * value)));

/** The whole numbers q of a person (section 6); `halves` is a server vector. */
function personOf(head, now, h, halves) {
  let p = list(head.D, (k) => head.mean[k]);
  if (halves) p = list(head.D, (k) => half(halves[k]));
  else if (h.some((item) => now.codes[item].length)) {
    p = list(head.D, () => 0);
    h.forEach((item, i) => {
      const y = vector(head, now, item),
        length = lengthOf(y),
        after = h.length - 1 - i;
      if (length === 0) return;
      const t = 1 / (1 + head.recency * after) / length;
      p = p.map((value, k) => value + y[k] * t);
    });
  }
  const m = Math.max(...p.map(Math.abs));
  return p.map((value) => (m === 0 ? 0 : Math.floor((value / m) * 32767 + 0.5)));
}

/** The list for a person (sections 7 and 8), each item with its score and reason. */
export function rank({ head }, now, { h, halves, k, exclude = [], only, withdrawn = [], repeat }) {
  const q = personOf(head, now, h, halves),
    kind = halves ? 1 : 0;
  const used = Math.max(...now.codes.map((codes) => codes.length));
  const A = now.columns
    .slice(0, used)
    .map(({ codebook, first, scale }) =>
      now.books[codebook].words.map(
        (word) => scale * sum(word.map((w, at) => w * q[8 * first + at])),
      ),
    );
  const M = Math.max(0, ...A.flat().map(Math.abs));
  const t = A.map((row) => row.map((a) => (M === 0 ? 0 : Math.floor((a * 32767) / M + 0.5))));
  const ρ =
    M === 0 ? 2 ** 20 : Math.sqrt(sum(q.map((x) => x * x))) * (32767 / M) * (head.unit * 128);
  const scoreOf = (item) => {
    const codes = now.codes[item],
      factor = head.popularity[binaryDigits(item + 1)];
    const S = sum(codes.map((byte, c) => t[c][byte % 16] + t[c][16 + Math.floor(byte / 16)]));
    const length = lengthOf(vector(head, now, item)),
      last = now.columns[codes.length - 1];
    let g = factor;
    if (head.cosine && length === 0) g = 0;
    else if (head.cosine) {
      const G = last.gain / 32768;
      g = Math.min(255, Math.floor((head.unit * factor * G) / length + 0.5));
    }
    const λ = (last ?? head).weights[kind];
    const W = (vote) =>
      Math.floor(Math.min((λ / Math.sqrt(h.length)) * ρ * head.values[vote], 2 ** 40) + 0.5);
    const voting = now.slots[item].filter(({ number }) => h.includes(number));
    return S * g + sum(voting.map(({ vote }) => W(vote)));
  };
  const why = (item) =>
    now.slots[item].find(({ number, vote }) => vote > 0 && h.includes(number))?.number ?? null;
  return list(head.V, (item) => item)
    .filter((item) => now.codes[item].length || now.slots[item].length)
    .filter((item) => !withdrawn.includes(item) && !exclude.includes(item))
    .filter((item) => (!only || only.includes(item)) && (repeat || !h.includes(item)))
    .map((item) => ({ number: item, score: scoreOf(item) + 0, why: why(item) }))
    .sort((a, b) => b.score - a.score || a.number - b.number)
    .slice(0, k);
}
