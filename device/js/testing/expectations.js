/** What the tests share: where the golden and hostile files are, and how a refusal looks. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

import { StreamError } from '../elasticrec-device.js';

const folder = (name) => new URL(`../../${name}/`, import.meta.url);

/** A file of the folder `conformance` or `hostile`. */
export const load = (name, file) => new Uint8Array(readFileSync(new URL(file, folder(name))));

/** What such a folder expects of its files. */
export const expected = (name) => JSON.parse(new TextDecoder().decode(load(name, 'expected.json')));

/** Bytes of a text of hexadecimal digits. */
export const unhex = (text) => Uint8Array.from(text.match(/../g), (byte) => parseInt(byte, 16));

/** An id as the runtime takes it, from its text. */
export const idOf = (kind, text) => (kind === 'text' ? text : BigInt(text));

/** Something must fail with a StreamError of one line, which matches or contains something. */
export async function refused(act, message = '', what = '') {
  await assert.rejects(
    async () => act(),
    (error) => {
      assert(error instanceof StreamError, `${what}: ${error?.stack}`);
      assert(!error.message.includes('\n'), error.message);
      if (message instanceof RegExp) assert.match(error.message, message, what);
      else assert(error.message.includes(message), `${what}: ${error.message}`);
      return true;
    },
    what,
  );
}
