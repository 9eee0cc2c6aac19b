/** Who stands where, game by game. */

import * as api from '../api.js';
import { h } from '../dom.js';
import { number, t } from '../i18n.js';
import { GAME_IDS } from '../parts/game-ids.js';
import { Page } from '../parts/page.js';
import { sayProblem } from '../say.js';
import { playerId } from '../session.js';

class LeaderboardsPage extends Page {
  lines = null;
  next = null;
  standing = null;

  async start() {
    this.game = GAME_IDS.includes(this.params.game) ? this.params.game : GAME_IDS[0];
    this.title(`${t('nav.leaderboard')}: ${t(`game.${this.game}`)}`);
    await this.#more();
    const own = playerId();
    if (own && !this.lines?.some(({ player }) => player === own)) {
      const { items } = await api.getStatistics(own).catch(() => ({ items: [] }));
      const ranked = items.some(({ game, rated }) => game === this.game && rated > 0);
      this.standing = ranked ? await api.getStanding(this.game, own).catch(() => null) : null;
      this.update();
    }
  }

  async #more() {
    try {
      const page = await api.getLeaderboard(this.game, this.next);
      this.lines = [...(this.lines ?? []), ...page.items];
      this.next = page.next;
    } catch (error) {
      this.lines ??= [];
      sayProblem(error);
    }
    this.update();
  }

  render() {
    return h('div', { class: 'page narrow' },
      h('h1', {}, t('nav.leaderboards')),
      h('nav', { class: 'choice', 'aria-label': t('home.games') }, GAME_IDS.map((game) =>
        h('a', { href: `/leaderboards/${game}`, 'aria-current': game === this.game ? 'page' : null }, t(`game.${game}`)))),
      h('p', { class: 'quiet' }, t('board.explained')),
      this.lines === null ? h('p', { class: 'quiet' }, t('home.lobby-loading'))
        : this.lines.length === 0 ? h('p', {}, t('board.empty')) : this.#table(),
      this.next && h('div', { class: 'buttons' }, h('button', { type: 'button', onclick: () => this.doing(() => this.#more()), disabled: this.busy }, t('nav.more'))));
  }

  #table() {
    const around = this.standing ? [...this.standing.above, this.standing.player, ...this.standing.below] : [];
    const known = new Set(this.lines.map(({ player }) => player));
    return h('div', { class: 'scroll' }, h('table', {},
      h('caption', { class: 'unseen' }, t(`game.${this.game}`)),
      h('thead', {}, h('tr', {},
        h('th', { scope: 'col', class: 'number' }, t('board.rank')), h('th', { scope: 'col' }, t('board.player')),
        h('th', { scope: 'col', class: 'number' }, t('board.rating')), h('th', { scope: 'col', class: 'number' }, t('board.games')))),
      h('tbody', {}, [...this.lines, ...around.filter(({ player }) => !known.has(player))].map((line) =>
        h('tr', { key: line.player, class: line.player === playerId() ? 'own' : null },
          h('td', { class: 'number' }, String(line.rank)),
          h('td', {}, h('a', { href: `/players/${line.player}` }, line.name ?? t('board.unknown'))),
          h('td', { class: 'number' }, number(line.rating), line.provisional && h('span', { title: t('board.provisional') }, ' ?', h('span', { class: 'unseen' }, ` (${t('board.provisional')})`))),
          h('td', { class: 'number' }, String(line.games)))))));
  }
}

customElements.define('page-leaderboards', LeaderboardsPage);
