/** A player: figures, how the rating went, and the matches. */

import * as api from '../api.js';
import { h } from '../dom.js';
import { dateTime, number, t } from '../i18n.js';
import { Page } from '../parts/page.js';
import { plot } from '../parts/plot.js';
import { sayProblem } from '../say.js';
import { playerId } from '../session.js';

class PlayerPage extends Page {
  statistics = null;
  matches = [];
  next = null;
  read = false;
  missing = false;

  async start() {
    this.title(t('board.player'));
    try {
      this.statistics = await api.getStatistics(this.params.player);
      this.title(this.statistics.name ?? t('board.unknown'));
      await this.#more();
    } catch {
      this.missing = true;
    }
    this.update();
  }

  async #more() {
    try {
      const page = await api.listMatchesOf(this.params.player, this.next);
      this.matches = [...this.matches, ...page.items];
      this.next = page.next;
      this.read = true;
    } catch (error) {
      sayProblem(error);
    }
    this.update();
  }

  render() {
    if (this.missing) return h('div', { class: 'page narrow' }, h('h1', {}, t('missing.player')), h('p', {}, h('a', { href: '/' }, t('missing.home'))));
    if (!this.statistics) return h('div', { class: 'page narrow' }, h('h1', {}, t('board.player')));
    const own = this.params.player === playerId();
    return h('div', { class: 'page narrow' },
      h('h1', {}, this.statistics.name ?? t('board.unknown'), own && h('span', { class: 'quiet' }, ` ${t('table.you')}`)),
      this.statistics.items.length === 0 && this.read && this.matches.length === 0 && h('p', {}, t('player.nothing')),
      this.statistics.items.map((figures) => this.#figures(figures)),
      this.matches.length > 0 && this.#matches(),
      this.next && h('div', { class: 'buttons' }, h('button', { type: 'button', onclick: () => this.doing(() => this.#more()), disabled: this.busy }, t('nav.more'))));
  }

  #figures(figures) {
    const one = (label, value) => h('div', {}, h('dt', {}, label), h('dd', {}, String(value)));
    const rated = this.matches.filter(({ game, rating }) => game === figures.game && rating).reverse();
    return h('section', {},
      h('h2', {}, t(`game.${figures.game}`)),
      h('dl', { class: 'figures' },
        one(t('player.matches'), figures.matches), one(t('player.wins'), figures.wins), one(t('player.rounds-won'), `${figures.rounds_won} / ${figures.rounds}`),
        rated.length > 0 && one(t('board.rating'), number(rated.at(-1).rating.after))),
      rated.length > 0 && plot({
        label: t('player.rating-of', { game: t(`game.${figures.game}`) }), stepped: false, range: [0, rated.length],
        series: [{ name: t('board.rating'), points: [[0, rated[0].rating.before], ...rated.map(({ rating }, index) => [index + 1, rating.after])] }],
      }));
  }

  #matches() {
    return h('section', {},
      h('h2', {}, t('player.matches')),
      h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': t('player.matches') }, h('table', {},
        h('thead', {}, h('tr', {}, ['player.when', 'player.game', 'player.with', 'player.place', 'board.rating'].map((key) => h('th', { scope: 'col' }, t(key))))),
        h('tbody', {}, this.matches.map((match) => h('tr', { key: match.id },
          h('td', {}, h('a', { href: match.status === 'running' ? `/matches/${match.id}` : `/matches/${match.id}/replay` }, dateTime(match.started_at_ms))),
          h('td', {}, t(`game.${match.game}`)),
          h('td', {}, match.seats.filter(({ seat }) => seat !== match.seat).map(({ name, seat }) => name ?? t('table.seat', { seat })).join(', ')),
          h('td', {}, match.status === 'running' ? t('player.running') : match.status === 'voided' ? '–' : String(match.place)),
          h('td', {}, match.rating ? this.#change(match.rating) : '–')))))));
  }

  #change({ before, after }) {
    const change = Math.round(after - before);
    return `${number(after)} (${change < 0 ? '−' : '+'}${Math.abs(change)})`;
  }
}

customElements.define('page-player', PlayerPage);
