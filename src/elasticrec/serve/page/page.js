// The page: a size is chosen, its bytes come, and all that follows happens in this browser.

import { Combobox } from './combobox.js';
import { showContents } from './contents.js';
import { Curve } from './curve.js';
import { Holding } from './holding.js';
import { Likes } from './likes.js';
import { showLikes, showListed } from './lists.js';
import { forgetOthers, readFile, readModels } from './models.js';
import { enough, enoughText, levelsOf, rememberSize, sizesOf, startingSize } from './sizes.js';
import { popularTitles, readTitles } from './titles.js';
import { Traffic } from './traffic.js';
import { Two } from './two.js';
import {
  OFFLINE, bytesText, countText, metricText, millisecondsText, percentText, sizeText,
} from './words.js';

/** @typedef {import('./elasticrec-wasm.js').Ranker} Stream */
/** @typedef {import('./models.js').Model} Model */
/** @typedef {import('./sizes.js').MeasuredCurve} MeasuredCurve */
/** @typedef {import('./sizes.js').Point} Point */

const LISTED = 12, FOUND = 8, PAUSE_MS = 200;

/** @template {Element} T @param {string} id @returns {T} */
const at = (id) => /** @type {any} */ (document.getElementById(id));
/** @param {string} id @param {string} text */
const say = (id, text) => { at(id).textContent = text; };

const slider = /** @type {HTMLInputElement} */ (at('size'));
const search = /** @type {HTMLInputElement} */ (at('search'));
const progress = /** @type {HTMLProgressElement} */ (at('progress'));

const traffic = new Traffic(showTraffic);
const likes = new Likes(() => { rank(); two.show(); });
const curve = new Curve(at('curve'), (index) => {
  slider.value = `${index}`;
  preview();
});
const two = new Two(at, (size) => traffic.during(/** @type {Holding} */ (holding).get(size)), list,
  (number) => name(number));

let points = /** @type {Point[]} */ ([]);
let model = /** @type {Model | null} */ (null), holding = /** @type {Holding | null} */ (null);
let stream = /** @type {Stream | null} */ (null);
let titles = /** @type {import('./titles.js').Titles | null} */ (null);
let listed = /** @type {Set<number>} */ (new Set());
let waiting = 0, asked = new AbortController();

/** What the slider stands on. */
const chosen = () => points[Number(slider.value)];
/** @param {number} number */
const name = (number) => titles?.title(number) ?? `${number}`;
/** Liked items that this catalogue has. */
const liked = () => likes.ids.map((id) => titles?.number(id) ?? -1).filter((number) => number >= 0);

/** What most people took, until the stream ranks. */
const popular = () => (model?.popular ?? []).filter(({ number }) => !liked().includes(number));

/** The list of a stream for what is liked now. @param {Stream} of */
function list(of) {
  const history = liked().map((number) => of.id(number)).filter((id) => id !== undefined);
  const { items } = of.recommend({ history, k: LISTED, why: true });
  return items.map(({ number, why }) => ({ number, why: why == null ? null : of.number(why) }));
}

/** Show what a size would give, at once, and get it once the slider rests. */
function preview() {
  showPoint(chosen());
  asked.abort();
  clearTimeout(waiting);
  waiting = setTimeout(() => get(chosen()), PAUSE_MS);
}

/** @param {Point} point */
function showPoint({ bytes, quality }) {
  const best = Math.max(...points.map((point) => point.quality ?? 0));
  const share = quality === null ? '–' : percentText(quality / best);
  say('room', sizeText(bytes));
  say('per-item', model ? (bytes / model.items).toPrecision(3) : '…');
  say('quality', quality === null ? 'not measured' : quality.toFixed(3));
  say('share', share);
  if (quality !== null) curve.mark({ bytes, quality });
  const measured = quality === null ? '' : `, measured ${at('metric').textContent} `
    + `${quality.toFixed(3)}, ${share} of the best`;
  slider.setAttribute('aria-valuetext', sizeText(bytes) + measured);
}

/** Get the bytes of a size, and rank with them. @param {Point} point */
async function get(point) {
  asked.abort();
  asked = new AbortController();
  const { signal } = asked, from = /** @type {Holding} */ (holding), had = from.bytes;
  const arrived = (/** @type {Stream} */ part, /** @type {number} */ bytes) => {
    if (!signal.aborted) showPart(part, bytes, point);
  };
  try {
    if (had < point.bytes) {
      say('download', `Downloading ${bytesText(point.bytes - had)} …`);
    }
    const got = await traffic.during(from.get(point.bytes, { signal, arrived }));
    if (signal.aborted) return;
    stream = got.stream;
    rememberSize(/** @type {Model} */ (model), point);
    showHeld(got.fetched, point);
    rank();
  } catch (error) {
    if (!signal.aborted) showFailure(error, point);
  }
}

/** Rank with the part that has arrived.
 * @param {Stream} part @param {number} bytes @param {Point} point */
function showPart(part, bytes, point) {
  stream = part;
  [progress.max, progress.value] = [point.bytes, bytes];
  say('download', `${bytesText(bytes)} of ${bytesText(point.bytes)} are here; the list below uses `
    + 'them.');
  showContents(at, /** @type {Holding} */ (holding).part(bytes));
  rank();
}

/** Say what a size has cost. @param {number} fetched bytes @param {Point} point */
function showHeld(fetched, { bytes }) {
  [progress.max, progress.value] = [bytes, bytes];
  const whole = bytesText(bytes), part = bytesText(fetched);
  say('download', fetched === 0 ? `${whole} are in use; nothing had to be downloaded.`
    : fetched < bytes ? `${whole} are in use; the missing ${part} were downloaded.`
      : `${whole} were downloaded, and are in use.`);
  say('downloaded', part);
  showContents(at, /** @type {Holding} */ (holding).part(bytes));
  Object.assign(/** @type {HTMLElement} */ (at('device')).dataset, { bytes, fetched });
}

/** @param {unknown} error @param {Point} point */
function showFailure(error, point) {
  const reason = error instanceof Error ? error.message : `${error}`;
  const still = stream ? ` Still ranking with ${bytesText(stream.info().bytes)}.` : '';
  say('download', `${sizeText(point.bytes)} could not be had: ${reason}.${still}`);
}

function showTraffic() {
  say('requests', Number.isFinite(traffic.since) ? `${traffic.since}` : '–');
}

/** Rank for what is liked now, and show it. */
function rank() {
  if (!titles) return;
  const start = performance.now(), items = stream ? list(stream) : popular();
  const ms = performance.now() - start, numbers = liked();
  showLikes(at('likes'), numbers, name, unlike, search);
  showListed(at('listed'), items, titles, like, listed, search);
  listed = new Set(items.map(({ number }) => number));
  at('no-likes').toggleAttribute('hidden', numbers.length > 0);
  at('likes-title').toggleAttribute('hidden', numbers.length === 0);
  if (!stream) return say('ranked', 'What most people take, for now.');
  say('milliseconds', millisecondsText(ms));
  const whom = numbers.length ? `for ${countText(numbers.length, 'title')} you like` : 'for anyone';
  say('ranked', `${countText(items.length, 'title')} ${whom}, `
    + `ranked here in ${millisecondsText(ms)}.`);
}

/** @param {number} number */
function like(number) {
  if (titles) likes.add(titles.id(number));
}

/** @param {number} number */
function unlike(number) {
  if (titles) likes.remove(titles.id(number));
}

/** Show another model: what is known of it at once, then its sizes, titles and stream.
 * @param {Model} next */
async function show(next) {
  asked.abort();
  [search.disabled, slider.disabled] = [true, true];
  [model, stream, titles, listed] = [next, null, popularTitles(next.popular), new Set()];
  rank();
  at('credit').toggleAttribute('hidden', !next.name.startsWith('goodbooks'));
  const { curve: sizes, catalogue, withdrawn } = next.files;
  await traffic.during((async () => {
    const rest = Promise.all([catalogue, withdrawn].map(readFile));
    rest.catch(() => {}); // waited for below
    const measured = await readFile(sizes);
    showSizes(next, measured && JSON.parse(new TextDecoder().decode(measured)));
    const [names, gone] = await rest;
    if (model !== next) return;
    titles = readTitles(names, next.items);
    holding = new Holding(next, gone);
    await holding.remember();
  })());
  if (model !== next) return;
  [search.disabled, slider.disabled] = [false, false];
  await get(chosen());
  two.offer(points, Number(slider.value));
}

/** Put the sizes on the slider and the curve.
 * @param {Model} next @param {MeasuredCurve | null} measured */
function showSizes(next, measured) {
  points = sizesOf(next, measured);
  slider.max = `${points.length - 1}`;
  slider.value = `${startingSize(next, points)}`;
  at('measured').toggleAttribute('hidden', !measured);
  if (measured) {
    curve.draw(/** @type {any} */ (points), levelsOf(measured), enough(points));
    say('metric', measured.metric);
    say('meaning', metricText(measured));
  }
  const text = enoughText(points);
  say('enough', text);
  at('enough').toggleAttribute('hidden', !text);
  say('least', sizeText(points[0].bytes));
  say('most', sizeText(points[points.length - 1].bytes));
  showPoint(chosen());
}

/** @param {Model[]} models */
function offer(models) {
  const select = /** @type {HTMLSelectElement} */ (at('model'));
  select.replaceChildren(...models.map((each) => new Option(each.name)));
  /** @type {HTMLElement} */ (select.parentElement).hidden = models.length < 2;
  select.addEventListener('change', () => show(models[select.selectedIndex]).catch(showTrouble));
}

/** @param {Error} error */
function showTrouble(error) {
  say('trouble', `This page could not start: ${error.message}.`);
  at('trouble').toggleAttribute('hidden', false);
}

async function start() {
  slider.addEventListener('input', preview);
  at('clear').addEventListener('click', () => { likes.clear(); search.focus(); });
  const find = (/** @type {string} */ text) => (
    titles?.search(text, FOUND, new Set(liked())) ?? []);
  const by = (/** @type {number} */ number) => titles?.by(number) ?? '';
  new Combobox(search, at('found'), find, name, by, like);
  say('place', isSecureContext ? OFFLINE.safe : OFFLINE.unsafe);
  const models = await traffic.during(readModels());
  if (!models.length) throw new Error('the server has no model yet');
  forgetOthers(models).catch(() => {});
  offer(models);
  await show(models[0]);
  navigator.serviceWorker?.register('sw.js').catch(() => say('place', OFFLINE.unkept));
}

start().catch(showTrouble);
