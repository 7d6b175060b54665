// Combobox: a search box with a list below it, by mouse and by keyboard (the ARIA pattern).

/** The search box. */
export class Combobox {
  #input; #list; #search; #name; #by; #choose;
  #found = /** @type {number[]} */ ([]);
  #active = -1;

  /**
   * @param {HTMLInputElement} input @param {HTMLUListElement} list
   * @param {(text: string) => number[]} search numbers of what is found
   * @param {(number: number) => string} name @param {(number: number) => string} by its author
   * @param {(number: number) => void} choose
   */
  constructor(input, list, search, name, by, choose) {
    this.#input = input;
    this.#list = list;
    this.#search = search;
    this.#name = name;
    this.#by = by;
    this.#choose = choose;
    input.addEventListener('input', () => this.#show(this.#search(input.value)));
    input.addEventListener('keydown', (event) => this.#press(event));
    input.addEventListener('blur', () => this.#show([]));
    input.addEventListener('focus', () => this.#show(this.#search(input.value)));
    list.addEventListener('pointerdown', (event) => event.preventDefault()); // the box keeps focus
    list.addEventListener('click', ({ target }) => {
      const option = target instanceof Element ? target.closest('[role=option]') : null;
      if (option) this.#take([...list.children].indexOf(option));
    });
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    const last = this.#found.length - 1, { key } = event;
    if (event.isComposing) return;
    if (key === 'ArrowDown' && last >= 0) this.#move(this.#active < last ? this.#active + 1 : 0);
    else if (key === 'ArrowUp' && last >= 0) this.#move(this.#active > 0 ? this.#active - 1 : last);
    else if (key === 'Enter' && last >= 0) this.#take(Math.max(this.#active, 0));
    else if (key === 'Escape' && last >= 0) this.#show([]);
    else if (key === 'Escape') this.#input.value = '';
    else return;
    event.preventDefault();
  }

  /** @param {number[]} found */
  #show(found) {
    this.#found = found;
    this.#list.replaceChildren(...found.map((number, index) => {
      const option = document.createElement('li');
      option.id = `found-${index}`;
      option.setAttribute('role', 'option');
      option.textContent = this.#name(number);
      const by = this.#by(number);
      if (by) {
        const small = document.createElement('span');
        [small.className, small.textContent] = ['by', by];
        option.append(' ', small);
      }
      return option;
    }));
    this.#list.hidden = found.length === 0;
    this.#input.setAttribute('aria-expanded', `${found.length > 0}`);
    this.#move(-1);
  }

  /** @param {number} index */
  #move(index) {
    this.#active = index;
    [...this.#list.children].forEach((option, at) => {
      option.setAttribute('aria-selected', `${at === index}`);
      if (at === index) option.scrollIntoView({ block: 'nearest' });
    });
    if (index < 0) this.#input.removeAttribute('aria-activedescendant');
    else this.#input.setAttribute('aria-activedescendant', `found-${index}`);
  }

  /** @param {number} index */
  #take(index) {
    const number = this.#found[index];
    this.#input.value = '';
    this.#show([]);
    this.#choose(number);
  }
}
