// The documents of the server: the list of models, and each one's curve, catalogue and withdrawn
// items. Kept in this browser, for when there is no network.

/** @typedef {{stream: string, curve?: string, catalogue?: string, withdrawn?: string}} Files */
/** @typedef {{name: string, model_id: string, sha256: string, items: number, bytes: number,
 * least_bytes: number, popular: import('./titles.js').Popular, files: Files}} Model links of
 * `files` are absolute */

const DOCUMENTS = 'elasticrec-documents-2';

/** The server gave no answer at all. */
export class Away extends Error {
  constructor() {
    super('the server cannot be reached');
  }
}

/** All models. @returns {Promise<Model[]>} */
export async function readModels() {
  const url = listUrl(), { models } = await (await asked(url)).json();
  return models.map(
    (/** @type {Model} */ model) => ({ ...model, files: absolute(model.files, url) }));
}

/** Where the list of models is, which the browser asks for while it reads the page. */
function listUrl() {
  return /** @type {HTMLLinkElement} */ (document.querySelector('link[rel=preload]')).href;
}

/** @param {Files} files @param {string} base @returns {Files} */
function absolute(files, base) {
  const links = Object.entries(files).map(([part, link]) => [part, new URL(link, base).href]);
  return /** @type {any} */ (Object.fromEntries(links));
}

/** One of a model's small files, null where it has none. @param {string | undefined} url
 * @returns {Promise<ArrayBuffer | null>} */
export async function readFile(url) {
  return url ? (await asked(url)).arrayBuffer() : null;
}

/** Forget all documents but these. @param {Model[]} models */
export async function forgetOthers(models) {
  const cache = await opened(DOCUMENTS);
  const present = new Set(models.flatMap(({ files }) => Object.values(files)));
  const list = listUrl();
  for (const { url } of await cache?.keys() ?? []) {
    if (url !== list && !present.has(url)) await cache?.delete(url);
  }
}

/** The server's present answer; the last one where it cannot be reached. @param {string} url */
async function asked(url) {
  const cache = await opened(DOCUMENTS);
  const response = await fetch(url, { cache: 'no-cache' }).catch(() => null);
  const found = response ?? await cache?.match(url);
  if (!found) throw new Away();
  if (!found.ok) {
    const problem = await found.json().catch(() => ({}));
    throw new Error(problem.detail ?? `the server answered ${found.status}`);
  }
  if (response) await cache?.put(url, response.clone());
  return found;
}

/** A cache by name; undefined where the browser offers none (plain http).
 * @param {string} name @returns {Promise<Cache | undefined>} */
export async function opened(name) {
  return globalThis.caches?.open(name).catch(() => undefined);
}
