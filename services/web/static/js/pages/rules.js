/** The rules of the games: the special cards in pictures, then the clauses as the service tells them. */

import '../parts/card.js';
import '../parts/die.js';
import * as api from '../api.js';
import { h } from '../dom.js';
import { language, t } from '../i18n.js';
import { emblem } from '../parts/emblem.js';
import { GAME_IDS } from '../parts/game-ids.js';
import { markdown } from '../parts/markdown.js';
import { Page } from '../parts/page.js';
import { sayProblem } from '../say.js';

/** What is shown in pictures: cards or dice, and the key of the words beside them. */
const SPECIALS = {
  'dice-race': [{ dice: [4, 5], key: 'nine' }, { dice: [6, 4], key: 'bust' }, { dice: [3, 4], key: 'stand' }],
  'dice-bank': [{ dice: [4, 5], key: 'nine' }, { dice: [6, 4], key: 'bust' }, { dice: [3, 4], key: 'tie' }],
  'cards-bank': [
    { cards: ['7D'], key: 'natural-7' }, { cards: ['8S'], key: 'natural-8' }, { cards: ['9H'], key: 'natural-9' },
    { cards: ['TC', 'JD', 'QS', 'KH'], key: 'nothing' }, { cards: ['AC'], key: 'one' },
  ],
  'cards-points': [
    { cards: ['2D', '2S'], key: 'two' }, { cards: ['3C', '3H'], key: 'three' }, { cards: ['KH'], key: 'king' },
    { cards: ['9S'], key: 'nine-card' }, { cards: ['AH'], key: 'ace' },
  ],
  'cards-places': [
    { cards: ['2D'], key: 'two' }, { cards: ['3C'], key: 'three' }, { cards: ['BJ'], key: 'black-joker' }, { cards: ['RJ'], key: 'red-joker' },
    { cards: ['4S'], key: 'four' }, { cards: ['AH'], key: 'ace' }, { cards: ['5C', '5H', '5S'], key: 'several' }, { cards: ['QD'], key: 'word' },
  ],
};

class RulesPage extends Page {
  text = null;

  async start() {
    this.game = GAME_IDS.includes(this.params.game) ? this.params.game : null;
    this.title(this.game ? `${t('nav.rules')}: ${t(`game.${this.game}`)}` : t('nav.rules'));
    if (!this.game) return;
    try {
      this.text = await api.getRules(this.game);
    } catch (error) {
      sayProblem(error);
    }
    this.update();
  }

  rendered() {
    if (this.text === null || this.shown) return;
    this.shown = true;
    const clause = document.getElementById(location.hash.slice(1));
    clause?.scrollIntoView();
    clause?.classList.add('target');
  }

  render() {
    const games = h('nav', { class: 'choice', 'aria-label': t('home.games') }, GAME_IDS.map((game) =>
      h('a', { href: `/rules/${game}`, 'aria-current': game === this.game ? 'page' : null }, t(`game.${game}`))));
    if (!this.game) {
      return h('div', { class: 'page' }, h('h1', {}, t('nav.rules')),
        h('section', { class: 'games', 'aria-label': t('home.games') }, GAME_IDS.map((game) =>
          h('article', { class: 'game' }, emblem(game), h('h2', {}, h('a', { href: `/rules/${game}` }, t(`game.${game}`))), h('p', {}, t(`game.${game}.line`))))));
    }
    return h('div', { class: 'page narrow' },
      h('h1', {}, t(`game.${this.game}`)),
      games,
      h('ul', { class: 'specials', 'aria-label': t('rules.specials') }, SPECIALS[this.game].map(({ cards, dice, key }) =>
        h('li', {},
          h('span', { class: 'cards', 'aria-hidden': 'true' }, cards?.map((code) => h('macao-card', { code })), dice?.map((face) => h('macao-die', { face }))),
          h('span', {}, t(`special.${key}`))))),
      language() !== 'en' && h('p', { class: 'quiet' }, t('rules.in-english')),
      this.text !== null && h('article', { class: 'prose', lang: 'en' }, markdown(this.text, this.game).map((part) => (part.tag === 'h1' ? { ...part, tag: 'h2' } : part.tag === 'h2' ? { ...part, tag: 'h3' } : part))));
  }
}

customElements.define('page-rules', RulesPage);
