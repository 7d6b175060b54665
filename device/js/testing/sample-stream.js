/**
 * Streams for the tests and the benchmark: what is in their chunks is drawn first, by the rules of
 * docs/stream-format.md, so that a test knows every number without reading the file.
 */

import { write } from './stream-bytes.js';

/** A generator of numbers in [0, 1), the same for the same seed (xorshift). */
export function generator(seed) {
  let state = (seed * 2654435761 + 1) >>> 0 || 1;
  const next = () => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
  next.below = (n) => Math.floor(next() * n);
  return next;
}

const list = (n, make) => Array.from({ length: n }, (_, i) => make(i));

/** The facts of a head; `changes` replace what would be drawn. */
function drawHead(rng, changes) {
  const N = changes.N ?? 1 + rng.below(3),
    V = changes.V ?? 1 + rng.below(90);
  const f32 = (scale) => Math.fround(rng() * scale);
  const idKind = changes.idKind ?? rng.below(4);
  const id = [
    (i) => i,
    (i) => (i * 2654435761 + 5) >>> 0,
    (i) => (i % 3 ? 2n ** 63n + BigInt(i) * 977n : BigInt(i) * 2n ** 40n + 9n),
    (i) => `${['x', 'é', '本', '\u{1f600}', '\ufeff'][i % 5]}${i}`,
  ][idKind];
  return {
    N,
    D: 8 * N,
    V,
    idKind,
    ids: list(V, id),
    cosine: rng.below(2),
    person: rng.below(2),
    minSupport: rng.below(9),
    sequence: BigInt(rng.below(1000)),
    trained: 1_700_000_000n,
    modelId: Uint8Array.from({ length: 32 }, () => rng.below(256)),
    catalogue: new Uint8Array(32),
    values: list(16, (v) => (v ? rng.below(4000) : 0)).sort((a, b) => a - b),
    popularity: Uint8Array.from({ length: 28 }, () => rng.below(256)),
    unit: f32(rng.below(2) ? 50 : 5000),
    recency: rng.below(2) ? f32(1) : 0,
    weights: [f32(0.01), f32(0.02)],
    mean: Int8Array.from({ length: 8 * N }, () => rng.below(256) - 128),
    ...changes,
  };
}

/** Draws one chunk that may come next, or nothing; `now` is what the chunks so far have made. */
function drawChunk(rng, head, now) {
  const { N, V, idKind, ids } = head,
    open = now.books.find(({ words }) => words.length < 32);
  const known = idKind ? now.ids : V;
  const stretch = (counts, most) => {
    if (!known) return undefined;
    const first = rng.below(known),
      which = counts[first];
    let end = first + 1;
    while (end < known && counts[end] === which && rng() > 0.02) end++;
    return which < most && { first, which, count: end - first };
  };
  switch (rng.below(8)) {
    case 0: {
      if (!idKind || now.ids === V) return undefined;
      const count = 1 + rng.below(Math.min(V - now.ids, 1 + rng.below(V)));
      return { kind: 5, which: 0, first: now.ids, count, ids: ids.slice(now.ids, now.ids + count) };
    }
    case 1: {
      if (!open && now.books.length > 5) return undefined;
      const width = open?.width ?? 1 + rng.below(N),
        first = open?.words.length ?? 0;
      const which = now.books.length - (open ? 1 : 0);
      const count = rng.below(2) ? 32 - first : 1 + rng.below(32 - first);
      const words = list(count, () => list(8 * width, () => rng.below(256) - 128));
      return { kind: 1, width, which, first, count, words };
    }
    case 2: {
      const complete = now.books.filter(({ words }) => words.length === 32);
      const columns = list(complete.length && 1 + rng.below(2), () => {
        const codebook = rng.below(complete.length);
        return {
          codebook,
          first: rng.below(N - complete[codebook].width + 1),
          scale: rng.below(9) ? 1 + rng.below(12) : 1 + rng.below(1000),
          gain: [32768, 9000, 16384, 30001, 1][(now.columns.length + codebook) % 5],
          weights: [Math.fround(rng() / 100), Math.fround(rng() / 50)],
        };
      });
      if (!columns.length || now.columns.length > 12) return undefined;
      return { kind: 2, which: now.columns.length, first: 0, count: columns.length, columns };
    }
    case 3:
    case 4:
    case 5: {
      const place = stretch(
        now.codes.map((codes) => codes.length),
        now.columns.length,
      );
      return place && { kind: 3, ...place, codes: list(place.count, () => rng.below(256)) };
    }
    default: {
      const place = stretch(
        now.slots.map((slots) => slots.length),
        6,
      );
      return (
        place && {
          kind: 4,
          ...place,
          slots: list(place.count, (i) => {
            const last = now.slots[place.first + i].at(-1)?.vote ?? 15,
              vote = rng.below(last + 1);
            return { vote, number: vote ? rng.below(V) : 0 };
          }),
        }
      );
    }
  }
}

/** What the first n chunks of a stream make, by its description alone. */
export function stateOf(head, chunks) {
  const now = {
    ids: 0,
    books: [],
    columns: [],
    codes: list(head.V, () => []),
    slots: list(head.V, () => []),
  };
  for (const { kind, which, width, first, words, columns, codes, slots, ids } of chunks) {
    if (kind === 1) (now.books[which] ??= { width, words: [] }).words.push(...words);
    if (kind === 2) now.columns.push(...columns);
    codes?.forEach((code, i) => now.codes[first + i].push(code));
    slots?.forEach((slot, i) => now.slots[first + i].push(slot));
    if (kind === 5) now.ids += ids.length;
  }
  return now;
}

/** A drawn stream: head and chunks. */
export function draw(seed, changes = {}, steps = 60) {
  const rng = generator(seed),
    head = drawHead(rng, changes),
    chunks = [];
  let now = stateOf(head, chunks);
  while (steps-- > 0 || !chunks.some(({ kind }) => kind === 3 || kind === 4)) {
    const chunk = drawChunk(rng, head, now);
    if (!chunk) continue;
    chunks.push(chunk);
    now = stateOf(head, chunks);
  }
  const listable = chunks.findIndex(({ kind }) => kind === 3 || kind === 4);
  const least = listable + rng.below(Math.min(5, chunks.length - listable));
  return { head, chunks, least };
}

/** A stream of one block and two columns of one codebook, small enough to be ranked by hand. */
export const small = (changes = {}, more = []) => {
  const words = Array.from({ length: 32 }, (_, w) =>
    Array.from({ length: 8 }, () => (w < 16 ? w : 0)),
  );
  const { head } = draw(0, { N: 1, V: 4, idKind: 0, cosine: 0, unit: 1, recency: 0, ...changes });
  const weights = [0, 0];
  const columns = [1, 2].map((scale) => ({ codebook: 0, first: 0, scale, gain: 32768, weights }));
  const chunks = [
    { kind: 1, width: 1, which: 0, first: 0, count: 32, words },
    { kind: 2, which: 0, first: 0, count: 2, columns },
    ...(head.idKind ? [{ kind: 5, which: 0, first: 0, count: 4, ids: head.ids }] : []),
    { kind: 3, which: 0, first: 0, count: 4, codes: [4, 3, 2, 1] },
    ...more,
  ];
  return { head, chunks, least: head.idKind ? 3 : 2 };
};

/**
 * A made-up stream of 54 bytes per item: 8 columns of residual codebooks of 256 numbers, 24 of a
 * sub-vector codebook, and 8 neighbours; popular items climb first, in stretches of 4,096.
 */
export function largeSample(V, { N = 32, residual = 8, others = 24, nSlots = 8 } = {}) {
  const rng = generator(V),
    chunks = [],
    random = () => rng.below(256) - 128;
  const weights = [2 ** -9, 2 ** -10];
  const book = (which, width) => {
    const words = list(32, () => list(8 * width, random));
    chunks.push({ kind: 1, width, which, first: 0, count: 32, words });
  };
  const each = (make) => {
    for (let first = 0; first < V; first += 4096) {
      const count = Math.min(4096, V - first);
      chunks.push({ first, count, ...make(count) });
    }
  };
  const column = (which, codebook, first, scale) => {
    const columns = [{ codebook, first, scale, gain: 20000 + 100 * which, weights }];
    chunks.push({ kind: 2, which, first: 0, count: 1, columns });
    each((count) => ({ kind: 3, which, codes: list(count, () => rng.below(256)) }));
  };
  for (let c = 0; c < residual; c++) {
    book(c, N);
    column(c, c, 0, 64 >> c || 1);
  }
  book(residual, 1);
  for (let c = 0; c < others; c++) column(residual + c, residual, c % N, 2);
  for (let which = 0; which < nSlots; which++) {
    const slot = () => ({ vote: 15 - which, number: rng.below(V) });
    each((count) => ({ kind: 4, which, slots: list(count, slot) }));
  }
  const head = drawHead(rng, { V, N, idKind: 0, ids: [], cosine: 1, unit: 20_000, weights });
  return write({ head, chunks, least: 2 });
}
