/** What the tests share: where the golden and hostile files are, and how a refusal looks. */

import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { BundleError } from '../elasticrec-device.js';

globalThis.crypto ??= webcrypto; // Node 18 hides it

/** The folder `conformance` or `hostile`. */
export const folder = (name) => new URL(`../../${name}/`, import.meta.url);

/** A file of such a folder. */
export const load = (name, file) => new Uint8Array(readFileSync(new URL(file, folder(name))));

/** Something must fail with a BundleError, and say so. */
export const refused = (act, message) =>
  assert.throws(act, (error) => {
    assert(error instanceof BundleError, `${error?.stack}`);
    if (message) assert.match(error.message, message);
    return true;
  });

/** The bits of a float32, as eight hexadecimal digits. */
export function bits(score) {
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, score);
  return view.getUint32(0).toString(16).padStart(8, '0');
}

/** Distinct numbers, rising. */
export const distinct = (numbers) => [...new Set(numbers)].sort((a, b) => a - b);
