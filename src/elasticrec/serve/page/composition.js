// The composition as a heat map: groups by blocks, depth as colour, neighbours beside it.

import { countText } from './words.js';

/** @typedef {import('./service.js').About['composition']} Composition */

const LONGEST = 16; // neighbours that an item may have

/** @param {string} name @param {string} text @param {Record<string, string>} [attributes] */
function cell(name, text, attributes = {}) {
  const element = document.createElement(name);
  element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

/** @param {HTMLElement[]} cells */
function row(cells) {
  const element = document.createElement('tr');
  element.append(...cells);
  return element;
}

/** A cell with a bar as long as a list of neighbours. @param {number} count */
function bar(count) {
  const element = cell('td', `${count}`, { class: 'beside' });
  element.style.setProperty('--length', `${(100 * count) / LONGEST}%`);
  return element;
}

/** Fill a table with a composition. @param {HTMLTableElement} table @param {Composition} shown */
export function drawComposition(table, { group_sizes: sizes, depths, neighbours }) {
  const N = depths[0].length, blocks = N > 1 ? `${N} blocks, strongest first` : '1 block';
  const head = document.createElement('thead'), body = document.createElement('tbody');
  head.append(
    row([
      cell('th', 'items', { scope: 'col', rowspan: '2' }),
      cell('th', blocks, { colspan: `${N}`, scope: 'colgroup' }),
      cell('th', 'neighbours', { scope: 'col', rowspan: '2', class: 'beside' }),
    ]),
    row(depths[0].map((_, n) => cell('th', `${n + 1}`, { scope: 'col', class: 'block' }))),
  );
  body.append(...depths.map((kept, g) => row([
    cell('th', sizes[g].toLocaleString('en'), { scope: 'row' }),
    ...kept.map((depth) => cell('td', `${depth}`, { class: `d${depth}` })),
    bar(neighbours[g]),
  ])));
  const caption = 'Bit planes that each group of items keeps of each block';
  table.replaceChildren(cell('caption', caption, { class: 'unseen' }), head, body);
  table.classList.toggle('dense', N > 24);
}

/** What a composition keeps, in a sentence. @param {Composition} composition */
export function compositionWords({ group_sizes: sizes, depths, neighbours }) {
  const N = depths[0].length, all = sizes.reduce((sum, size) => sum + size, 0);
  const nothing = sizes.filter((_, g) => !neighbours[g] && depths[g].every((depth) => !depth))
    .reduce((sum, size) => sum + size, 0);
  const bits = sizes.reduce((sum, size, g) => sum + size * depths[g].reduce((a, b) => a + b, 0), 0);
  const votes = sizes.reduce((sum, size, g) => sum + size * neighbours[g], 0);
  const left = nothing ? ` ${countText(nothing, 'item')} are left out.` : '';
  const [mean, lists] = [bits / all / N, votes / all]
    .map((value) => value.toFixed(value > 0 && value < 0.1 ? 2 : 1));
  return `${countText(all, 'item')} in ${countText(sizes.length, 'group')}, one row each. `
    + `A number has 8 bits; this file keeps ${mean} of them, and ${lists} neighbours per item, `
    + `on average.${left}`;
}
