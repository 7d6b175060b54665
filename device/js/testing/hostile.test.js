/** The hostile files, which every runtime shares: each breaks one rule and is refused. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { openSigned, openStream } from '../elasticrec-device.js';
import { expected, idOf, load, refused, unhex } from './expectations.js';

const facts = expected('hostile');
const file = (name) => load('hostile', name);
const key = unhex(facts.public_key);
const sound = file('sound.elastic');

/** Takes a hostile file as far as its case says. */
async function take({ file: name, kind, ask }, signed) {
  const bytes = kind === 'stream' ? file(name) : sound;
  const stream = signed ? await openSigned(bytes, key) : openStream(bytes);
  if (kind === 'vector') stream.recommend({ vector: file(name) });
  if (kind === 'withdrawn') await stream.withdraw(file(name));
  if (kind === 'catalogue') await stream.catalogue(file(name));
  if (ask !== null) stream.recommend({ history: [idOf(stream.info().idKind, ask)] });
}

describe('hostile files', () => {
  test('what the others were made of is taken', async () => {
    for (const stream of [openStream(sound), await openSigned(sound, key)]) {
      await stream.withdraw(file('sound.withdrawn'));
      await stream.catalogue(file('sound.catalogue.json'));
      assert(stream.recommend({ vector: file('sound.vector') }).items.length > 0);
    }
  });

  for (const each of facts.cases) {
    test(`${each.file}: ${each.rule}`, async () => {
      if (each.key) await take(each, false);
      for (const name of [...each.names, '']) await refused(() => take(each, each.key), name);
    });
  }

  test('another key', async () => {
    await refused(() => openSigned(sound, unhex(facts.other_key)), 'signature');
  });

  test('a smaller sequence number', async () => {
    const { sequence } = facts;
    assert.equal(openStream(sound, { minSequence: sequence }).info().sequence, sequence);
    await refused(() => openStream(sound, { minSequence: sequence + 1 }), `${sequence + 1}`);
    await refused(() => openSigned(sound, key, { minSequence: BigInt(sequence) + 1n }), 'sequence');
  });

  test('a signed stream does not grow by another one', async () => {
    let tried = 0;
    for (const { file: name } of facts.cases.filter((each) => each.file.startsWith('key-link-'))) {
      const other = file(name), start = other.slice(0, facts.least);
      const stream = await openSigned(start, key).catch(() => null);
      if (!stream) continue; // the link is among the first ones
      const before = stream.recommend();
      await refused(() => stream.refresh(other), '');
      assert.deepEqual(stream.recommend(), before);
      assert.equal((await openStream(start).refresh(other)).info().bytes, other.length);
      tried++;
    }
    assert(tried > 3);
  });

  test('pieces shorter than least are refused, longer ones are taken', async () => {
    for (const length of facts.truncated) {
      const names = length >= facts.head ? `${facts.least}` : '';
      await refused(() => openStream(sound.slice(0, length)), names, `${length} bytes`);
      await refused(() => openSigned(sound.slice(0, length), key), names, `${length} bytes`);
    }
    for (let length = facts.least; length <= sound.length; length++) {
      openStream(sound.slice(0, length)).recommend();
    }
  });
});
