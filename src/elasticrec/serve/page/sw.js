// The service worker: keeps the page's own files, so that it opens without a network. What the page
// gets from the server it keeps by itself (models.js, holding.js): streams, titles, curves.

const KEPT = 'elasticrec-page-3', PATIENCE_MS = 4000;
const FILES = [
  './', 'combobox.js', 'compare.js', 'contents.js', 'curve.js', 'drawing.js',
  'elasticrec-device.js', 'elasticrec-wasm.js', 'elasticrec.wasm', 'holding.js', 'icon.svg',
  'likes.js', 'lists.js', 'manifest.webmanifest', 'models.js', 'page.css', 'page.js', 'sizes.js',
  'titles.js', 'traffic.js', 'two.js', 'words.js',
];
const worker = /** @type {any} */ (self);
const urls = new Set(FILES.map((name) => new URL(name, worker.registration.scope).href));

worker.addEventListener('install', (/** @type {any} */ event) => {
  worker.skipWaiting();
  event.waitUntil(caches.open(KEPT).then((cache) => cache.addAll([...urls])));
});

worker.addEventListener('activate', (/** @type {any} */ event) => {
  event.waitUntil(worker.clients.claim());
});

worker.addEventListener('fetch', (/** @type {any} */ event) => {
  const { request } = event, url = new URL(request.url);
  url.hash = url.search = '';
  const isOurs = request.method === 'GET' && urls.has(url.href);
  if (isOurs) event.respondWith(answer(request, url.href));
});

/** The file from the network, or the kept one where that fails or takes long.
 * @param {Request} request @param {string} url */
async function answer(request, url) {
  const cache = await caches.open(KEPT), kept = await cache.match(url);
  const fresh = fetch(request).then(async (response) => {
    if (response.ok) await cache.put(url, response.clone());
    return response;
  });
  const late = new Promise((_, fail) => { setTimeout(fail, PATIENCE_MS); });
  try {
    return await Promise.race([fresh, late]);
  } catch {
    return kept ?? fresh;
  }
}
