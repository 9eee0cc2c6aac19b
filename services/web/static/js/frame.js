/** What stands around every page: where one can go, who one is, the language, and what is told by the way. */

import { h, View } from './dom.js';
import { language, LANGUAGES, setLanguage, t } from './i18n.js';
import { route } from './router.js';
import { say } from './say.js';
import { session } from './session.js';
import { setTheme, theme, THEMES } from './theme.js';

const TOLD_MAX = 3;
const TOLD_MS = 9_000;

class Frame extends View {
  #told = [];
  #number = 0;

  start() {
    const { signal } = this.alive;
    addEventListener('macao:address', () => this.#open(true), { signal });
    addEventListener('macao:language', () => this.#open(false), { signal });
    addEventListener('macao:session', () => this.update(), { signal });
    addEventListener('macao:say', (event) => this.#tell(event.detail), { signal });
    this.#open(false);
  }

  async #open(moved) {
    const asked = location.pathname;
    const found = route(asked) ?? { page: 'missing', params: {}, load: async () => {} };
    try {
      await found.load();
    } catch {
      say(t('problem.no-answer'), { kind: 'refusal' });
      return;
    }
    if (asked !== location.pathname) return;
    this.page = { ...found, key: `${asked} ${language()}` };
    this.moved = moved;
    this.update();
  }

  rendered() {
    if (!this.moved) return;
    this.moved = false;
    scrollTo(0, 0);
    // A reader that does not see hears where the link led.
    this.querySelector('main').focus({ preventScroll: true });
  }

  #tell(told) {
    const one = { ...told, key: (this.#number += 1) };
    this.#told = [...this.#told, one].slice(-TOLD_MAX);
    setTimeout(() => this.#forget(one.key), TOLD_MS);
    this.update();
  }

  #forget(key) {
    this.#told = this.#told.filter((one) => one.key !== key);
    this.update();
  }

  render() {
    return [
      h('a', { class: 'skip', href: '#main' }, t('nav.skip')),
      this.#header(),
      h('main', { id: 'main', tabindex: '-1' },
        this.page && h(`page-${this.page.page}`, { key: this.page.key, '.params': this.page.params })),
      h('div', { class: 'told', role: 'log', 'aria-live': 'polite', 'aria-label': t('nav.messages') }, this.#told.map((one) => this.#message(one))),
      this.#footer(),
    ];
  }

  #header() {
    const here = this.page?.page;
    const link = (href, pages, text) =>
      h('a', { href, 'aria-current': pages.includes(here) ? 'page' : null }, text);
    return h('header', { class: 'site' },
      h('a', { class: 'brand', href: '/', 'aria-label': 'Macao' }, mark(), h('span', {}, 'Macao')),
      h('nav', { 'aria-label': t('nav.label') },
        link('/', ['home', 'new-table', 'table', 'match'], t('nav.play')),
        link('/leaderboards', ['leaderboards', 'player'], t('nav.leaderboards')),
        link('/rules', ['rules'], t('nav.rules')),
        link('/audit', ['audit'], t('nav.audit'))),
      h('a', { class: 'whoami', href: '/account', 'aria-current': here === 'account' ? 'page' : null },
        session()?.player.name ?? t('nav.stranger')));
  }

  #footer() {
    return h('footer', { class: 'site' },
      h('label', {}, t('nav.language'),
        h('select', { value: language(), onchange: (event) => setLanguage(event.target.value) },
          Object.entries(LANGUAGES).map(([code, name]) => h('option', { value: code, lang: code }, name)))),
      h('label', {}, t('nav.theme'),
        h('select', { value: theme(), onchange: (event) => setTheme(event.target.value) },
          THEMES.map((one) => h('option', { value: one }, t(`theme.${one}`))))),
      h('p', {}, t('nav.promise'), ' ', h('a', { href: '/schema' }, t('nav.api'))));
  }

  #message(one) {
    return h('div', { key: one.key, class: ['message', one.kind] },
      h('p', {}, one.text, one.href && ' ', one.href ? h('a', { href: one.href }, one.link) : one.link && ` (${one.link})`),
      h('button', { type: 'button', class: 'plain', 'aria-label': t('nav.dismiss'), onclick: () => this.#forget(one.key) }, '×'));
  }
}

class Missing extends View {
  render() {
    return h('div', { class: 'page narrow' }, h('h1', {}, t('missing.title')), h('p', {}, h('a', { href: '/' }, t('missing.home'))));
  }
}

/** The service's mark. */
function mark() {
  return h('svg', { viewBox: '0 0 64 64', 'aria-hidden': 'true' },
    h('rect', { x: 4, y: 4, width: 56, height: 56, rx: 14, class: 'ground' }),
    h('path', { class: 'spade', d: 'M32 12C37 20 49 26 49 36c0 7-5 10-9.5 10-3 0-5.500-1.300-7-3.400.4 4.400 2 7.600 5.500 9.900h-12c3.500-2.300 5.100-5.500 5.500-9.900-1.500 2.100-4 3.400-7 3.400C20 46 15 43 15 36c0-10 12-16 17-24z' }));
}

customElements.define('page-missing', Missing);
customElements.define('macao-frame', Frame);
