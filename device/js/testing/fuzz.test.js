/** Mutated streams with right checksums: a StreamError or a normal answer, nothing else. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { openStream, StreamError } from '../elasticrec-device.js';
import { draw, generator } from './sample-stream.js';
import { cutsOf, seal, write } from './stream-bytes.js';

const MUTATIONS = Number(process.env.MUTATIONS ?? 4000);
const ODD = [0, 1, 2, 15, 16, 255, 256, 65_535, 65_536, 2 ** 26, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1];

/** Some bytes flipped, overwritten or poked as a field of four. */
function change(rng, part, end = part.length) {
  for (let n = 1 + rng.below(3); n > 0; n--) {
    const at = rng.below(end),
      view = new DataView(part.buffer, part.byteOffset, part.length);
    const place = Math.min(at & ~3, part.length - 4),
      old = view.getUint32(place, true);
    switch (rng.below(4)) {
      case 0:
        part[at] ^= 1 << rng.below(8);
        break;
      case 1:
        part[at] = rng.below(256);
        break;
      case 2:
        view.setUint32(place, ODD[rng.below(ODD.length)], true);
        break;
      default:
        view.setUint32(place, old + rng.below(5) - 2, true);
    }
  }
}

/** A stream with something wrong, sealed again. */
function mutated(rng, file) {
  const cuts = cutsOf(file),
    head = file.slice(0, cuts[0]);
  const chunks = cuts.slice(1).map((cut, i) => file.slice(cuts[i], cut));
  const some = () => rng.below(chunks.length);
  for (let n = 1 + rng.below(2); n > 0; n--) {
    const i = some(),
      chunk = chunks[i],
      cut = Math.min(chunk.length, 32 + rng.below(chunk.length));
    switch (rng.below(8)) {
      case 0:
        change(rng, head, 196);
        break;
      case 1:
      case 2:
        change(rng, chunk, 16);
        break;
      case 3:
      case 4:
        change(rng, chunk);
        break;
      case 5:
        if (chunks.length > 1) chunks.splice(i, 1);
        break;
      case 6:
        chunks.splice(some(), 0, chunk.slice());
        break;
      default:
        chunks[i] = chunk.slice(0, cut);
        new DataView(chunks[i].buffer).setUint32(0, cut - 32, true);
    }
  }
  if (rng.below(2)) {
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, head.length);
    new DataView(head.buffer).setBigUint64(48, BigInt(length), true);
  }
  const sealed = seal(head, chunks);
  return rng.below(4) ? sealed : sealed.slice(0, rng.below(sealed.length + 1));
}

/** Asks all that may be asked. */
function ask(stream) {
  const { items } = stream.recommend({ k: 5, why: true }),
    history = items.map(({ id }) => id);
  const again = stream.recommend({ history, k: 5, why: true, exclude: history.slice(2) });
  for (const { score, why } of [...items, ...again.items]) {
    assert(Number.isSafeInteger(score), `${score}`);
    assert(why === null || history.includes(why));
  }
  if (history.length) stream.similar(history[0], { k: 5 });
  stream.info();
}

test(`${MUTATIONS} mutated streams`, async () => {
  const files = Array.from({ length: 40 }, (_, seed) => write(draw(seed, {}, 12 + seed)));
  const tally = { opened: 0, refused: 0, grown: 0 };
  for (let number = 0; number < MUTATIONS; number++) {
    const rng = generator(number),
      file = mutated(rng, files[rng.below(files.length)]);
    try {
      ask(openStream(file));
      tally.opened++;
    } catch (error) {
      assert(error instanceof StreamError, `mutation ${number}: ${error.stack}`);
      assert(!error.message.includes('\n') && error.message.length < 200, error.message);
      tally.refused++;
    }
    let stream;
    try {
      stream = openStream(file.slice(0, (file.length * 3) >> 2));
      await stream.refresh(file);
      tally.grown++;
    } catch (error) {
      assert(error instanceof StreamError, `mutation ${number}, growing: ${error.stack}`);
      if (stream) ask(stream); // what came before the wrong chunk still ranks
    }
  }
  assert(tally.opened > MUTATIONS / 20 && tally.refused > MUTATIONS / 3, JSON.stringify(tally));
  assert(tally.grown > MUTATIONS / 50, JSON.stringify(tally));
});
