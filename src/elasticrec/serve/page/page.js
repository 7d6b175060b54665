// The page: a size is chosen, its bundle comes, and all that follows happens in this browser.

import { Combobox } from './combobox.js';
import { compositionWords, drawComposition } from './composition.js';
import { Curve } from './curve.js';
import { Device } from './device.js';
import { Likes } from './likes.js';
import { showLikes, showListed } from './lists.js';
import { Service } from './service.js';
import { rememberSize, sizesOf, startingSize } from './sizes.js';
import { Titles } from './titles.js';
import { Traffic } from './traffic.js';
import { bytesText, countText, metricWords, millisecondsText, percentText } from './words.js';

/** @typedef {import('./service.js').Model} Model */
/** @typedef {import('./sizes.js').Point} Point */
/** @typedef {import('./device.js').Move} Move */

const LISTED = 12, FOUND = 8, PAUSE_MS = 250;
const SAFE = 'Once loaded, this page works without a network.';
const UNKEPT = 'This browser does not keep pages, so this one needs the network to open.';
const UNSAFE = 'Over plain http a browser can neither check hashes nor keep files: sizes are '
  + 'downloaded whole, and the page needs the network. On https and localhost all of it works.';

/** @template {Element} T @param {string} id @returns {T} */
const at = (id) => /** @type {any} */ (document.getElementById(id));
/** @param {string} id @param {string} text */
const say = (id, text) => { at(id).textContent = text; };

const slider = /** @type {HTMLInputElement} */ (at('size'));
const search = /** @type {HTMLInputElement} */ (at('search'));
const progress = /** @type {HTMLProgressElement} */ (at('progress'));

const traffic = new Traffic(showTraffic);
const service = new Service(() => traffic.expect());
const device = new Device(service);
const likes = new Likes(rank);
const curve = new Curve(at('curve'), (index) => {
  slider.value = `${index}`;
  preview();
});

let model = /** @type {Model | undefined} */ (undefined);
let points = /** @type {Point[]} */ ([]);
let titles = /** @type {Titles | undefined} */ (undefined);
let listed = /** @type {Set<number>} */ (new Set());
let waiting = 0, asked = new AbortController();

/** What the slider stands on. */
const chosen = () => points[Number(slider.value)];
/** @param {number} number */
const name = (number) => titles?.title(number) ?? `${number}`;
/** Liked items that this catalogue has. */
const liked = () => likes.ids.map((id) => titles?.number(id) ?? -1).filter((number) => number >= 0);

/** Show what a size would give, at once, and get it once the slider rests. */
function preview() {
  showPoint(chosen());
  asked.abort();
  clearTimeout(waiting);
  waiting = setTimeout(() => get(chosen()), PAUSE_MS);
}

/** @param {Point} point */
function showPoint(point) {
  const share = percentText(point.estimate / points[points.length - 1].estimate);
  say('room', bytesText(point.budget_bytes));
  say('file-bytes', bytesText(point.file_bytes));
  say('estimate', point.estimate.toFixed(3));
  say('share', share);
  curve.mark(point);
  slider.setAttribute('aria-valuetext', `${bytesText(point.budget_bytes)}, estimated `
    + `${model?.metric} ${point.estimate.toFixed(3)}, ${share} of the largest`);
}

/** Get the bundle of a size, and rank with it. @param {Point} point */
async function get(point) {
  asked.abort();
  asked = new AbortController();
  const { signal } = asked, served = /** @type {Model} */ (model);
  const watch = { signal, progress: showProgress };
  try {
    say('download', `Getting ${bytesText(point.budget_bytes)} …`);
    if (points.some((each) => !each.searched)) await redraw(served);
    const about = await service.bundle(served, point.step_bytes, watch);
    if (signal.aborted) return;
    drawComposition(at('composition'), about.composition);
    say('composition-words', compositionWords(about.composition));
    showPoint({ ...point, file_bytes: about.file_bytes, estimate: about.estimate });
    const isNew = about.catalogue.sha256 !== device.about?.catalogue.sha256;
    const catalogue = isNew ? await service.catalogue(about.catalogue) : undefined;
    const move = await device.moveTo(about, watch);
    if (catalogue) await readTitles(catalogue);
    rememberSize(served, point);
    showMove(move);
    rank();
  } catch (error) {
    if (!signal.aborted) showFailure(error, point);
  } finally {
    if (!signal.aborted) {
      progress.hidden = true;
      traffic.settle();
    }
  }
}

/** Draw the curve again: searches have been to more of its points. @param {Model} served */
async function redraw(served) {
  const step = chosen().budget_bytes;
  points = sizesOf(served, await service.curve(served));
  slider.max = `${points.length - 1}`;
  slider.value = `${Math.max(points.findIndex((point) => point.budget_bytes === step), 0)}`;
  curve.draw(points);
  curve.mark(chosen());
}

/** @param {ArrayBuffer} catalogue of the bundle that is held */
async function readTitles(catalogue) {
  titles = undefined; // those of another model would name other items
  titles = new Titles(await device.catalogue(catalogue));
  listed = new Set();
  search.disabled = false;
}

/** @param {number} done @param {number} all */
function showProgress(done, all) {
  [progress.hidden, progress.max, progress.value] = [done >= all, all, done];
}

/** Say what a size has cost. @param {Move} move */
function showMove({ how, bytes }) {
  const whole = bytesText(device.about?.file_bytes ?? 0);
  const words = {
    held: `Ready: ${whole} are in use.`,
    kept: `Ready: ${whole} were on this device already.`,
    patch: `Ready: ${bytesText(bytes)} were downloaded to turn the file into one of ${whole}.`,
    file: `Ready: the file of ${whole} was downloaded.`,
  };
  say('download', words[how]);
  say('downloaded', bytesText(bytes));
  say('memory', bytesText(device.memoryBytes));
  Object.assign(/** @type {HTMLElement} */ (at('device')).dataset, {
    how, bytes, fileBytes: device.about?.file_bytes, sha256: device.about?.sha256,
  });
}

/** @param {unknown} error @param {Point} point */
function showFailure(error, point) {
  const reason = error instanceof Error ? error.message : `${error}`;
  const still = device.about ? ` Still ranking with ${bytesText(device.about.file_bytes)}.` : '';
  say('download', `${bytesText(point.budget_bytes)} could not be had: ${reason}.${still}`);
}

function showTraffic() {
  if (!model) return;
  say('requests', Number.isFinite(traffic.since) ? `${traffic.since}` : '–');
  say('traffic', `${countText(traffic.total, 'request')} in all, for the page, its sizes and `
    + 'titles. Liking and ranking need none.');
}

/** Rank for what is liked now, and show it. */
function rank() {
  if (!device.bundle || !titles) return;
  const numbers = liked(), { items, ms } = device.recommend(numbers, LISTED);
  showLikes(at('likes'), numbers, name, unlike, search);
  showListed(at('listed'), items, name, like, listed, search);
  listed = new Set(items.map(({ number }) => number));
  at('no-likes').toggleAttribute('hidden', numbers.length > 0);
  at('clear').toggleAttribute('hidden', numbers.length === 0);
  say('milliseconds', millisecondsText(ms));
  const whom = numbers.length ? `for ${countText(numbers.length, 'title')} you like` : 'for anyone';
  const took = `ranked here in ${millisecondsText(ms)}`;
  say('ranked', `${countText(items.length, 'title')} ${whom}, ${took}.`);
}

/** @param {number} number */
function like(number) {
  if (titles) likes.add(titles.id(number));
}

/** @param {number} number */
function unlike(number) {
  if (titles) likes.remove(titles.id(number));
}

/** Show another model. @param {Model} next */
async function show(next) {
  model = next;
  points = sizesOf(next, await service.curve(next));
  slider.max = `${points.length - 1}`;
  slider.value = `${startingSize(next, points)}`;
  slider.disabled = false;
  say('metric', `estimated ${next.metric}`);
  say('meaning', metricWords(next.metric, next.person));
  say('least', bytesText(points[0].budget_bytes));
  say('most', bytesText(points[points.length - 1].budget_bytes));
  at('credit').toggleAttribute('hidden', !next.name.startsWith('goodbooks'));
  curve.draw(points);
  showPoint(chosen());
  await get(chosen());
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
  new Combobox(search, at('found'), find, name, like);
  say('place', isSecureContext ? SAFE : UNSAFE);
  navigator.serviceWorker?.register('sw.js').catch(() => say('place', UNKEPT));
  const models = await service.models();
  if (!models.length) throw new Error('the server has no model yet');
  offer(models);
  await show(models[0]);
}

start().catch(showTrouble);
