/** The runtime against the golden files, which every runtime shares. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { openSigned, openStream } from '../elasticrec-device.js';
import { expected, idOf, load, refused, unhex } from './expectations.js';

const {
  streams,
  questions,
  foreign_vector: foreign,
  public_key: publicKey,
} = expected('conformance');
const file = (name) => load('conformance', name);
const key = unhex(publicKey);

/** The stream of the first bytes of a golden file. */
const open = ({ file: name, signed }, bytes) => {
  const prefix = file(name).subarray(0, bytes);
  return signed ? openSigned(prefix, key) : openStream(prefix);
};

/** Asks a stream a golden question. */
async function check(stream, { ids: kind }, question) {
  const ids = (list) => list.map((text) => idOf(kind, text));
  const { history, vector, k, exclude, only, repeat, diversity, withdrawn } = question;
  if (withdrawn) await stream.withdraw(file(withdrawn));
  const { items, unknown } = stream.recommend({
    history: ids(history),
    vector: vector && file(vector),
    k,
    exclude: ids(exclude),
    only: only && ids(only),
    repeat,
    diversity,
    why: true,
  });
  assert.deepEqual(
    {
      items: items.map(({ id }) => String(id)),
      scores: items.map(({ score }) => score),
      why: items.map(({ why }) => (why === null ? null : String(why))),
      unknown,
    },
    {
      items: question.items,
      scores: question.scores,
      why: question.why,
      unknown: question.unknown,
    },
  );
  items.forEach(({ id, number }) => assert.equal(stream.number(id), number));
}

describe('golden files', () => {
  for (const about of streams) {
    const asked = questions.filter(({ stream }) => stream === about.file);

    test(`${about.file}: ${about.teaches}`, async () => {
      for (const question of asked) {
        await check(await open(about, question.bytes ?? undefined), about, question);
      }
      const facts = (await open(about)).info();
      assert.equal(facts.items, about.items);
      assert.equal(facts.dimensions, 8 * about.blocks);
      assert.equal(facts.idKind, about.ids);
      assert.equal(facts.sequence, about.sequence);
      assert.equal(facts.least, about.least);
      assert.equal(facts.bytes, about.ends.at(-1));
      assert.equal(facts.chunks, about.ends.length);
    });

    test(`${about.file}, growing`, async () => {
      const whole = file(about.file);
      const stream = await open(about, about.cuts[0]);
      for (const cut of [...about.cuts, whole.length]) {
        await stream.refresh(whole.slice(0, cut)); // another buffer each time
        assert.equal(
          stream.info().bytes,
          about.ends.findLast((end) => end <= cut),
        );
        const bytes = cut === whole.length ? null : cut;
        for (const question of asked.filter((each) => each.bytes === bytes && !each.withdrawn)) {
          await check(stream, about, question);
        }
      }
    });

    test(`${about.file}: files of other streams`, async () => {
      const stream = await open(about);
      await refused(() => stream.recommend({ vector: file(foreign) }));
      for (const { catalogue, withdrawn } of streams) {
        const own = withdrawn === about.withdrawn;
        if (withdrawn && !own) await refused(() => stream.withdraw(file(withdrawn)));
        if (!catalogue) continue;
        const taken = () => stream.catalogue(file(catalogue));
        if (catalogue === about.catalogue) assert.equal((await taken()).ids.length, about.items);
        else await refused(taken, 'SHA-256');
      }
    });
  }
});
