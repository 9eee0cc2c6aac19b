/** Home: start playing in two clicks, see what is going on, and find everything else. */

import * as api from '../api.js';
import { h } from '../dom.js';
import { t } from '../i18n.js';
import { emblem } from '../parts/emblem.js';
import { anyName } from '../parts/names.js';
import { Page } from '../parts/page.js';
import { go } from '../router.js';
import { session } from '../session.js';

/** The games in the order in which they are shown, with the number of seats of a table with bots. */
const GAMES = { 'cards-places': 3, 'dice-race': 3, 'cards-points': 3, 'dice-bank': 3, 'cards-bank': 3 };
const SHOWN_MAX = 12;

class HomePage extends Page {
  name = anyName();
  tables = null;

  start() {
    this.title('');
    const tables = new Map();
    api.followLobby({
      signal: this.alive.signal,
      frame: (type, data) => {
        if (type === 'snapshot') {
          if (data.whole) tables.clear();
          data.items.forEach((table) => tables.set(table.id, table));
          data.gone.forEach((id) => tables.delete(id));
        } else if (type === 'table') tables.set(data.id, data);
        else if (type === 'gone') tables.delete(data.id);
        this.tables = [...tables.values()].sort((a, b) => b.opened_at_ms - a.opened_at_ms);
        this.update();
      },
    });
  }

  render() {
    return h('div', { class: 'page home' },
      h('section', { class: 'hero' },
        h('h1', {}, t('home.title')),
        h('p', { class: 'lead' }, t('home.lead')),
        session() === null && h('label', { class: 'your-name' }, t('home.your-name'),
          h('input', { value: this.name, maxlength: 24, autocomplete: 'nickname', oninput: (event) => { this.name = event.target.value; } }))),
      h('section', { class: 'games', 'aria-label': t('home.games') },
        Object.keys(GAMES).map((game) => this.#game(game))),
      h('section', { class: 'lobby' },
        h('h2', {}, t('home.lobby')),
        this.#lobby()));
  }

  #game(game) {
    const title = `${game} title`;
    return h('article', { class: 'game', 'aria-labelledby': title },
      emblem(game),
      h('h2', { id: title }, t(`game.${game}`)),
      h('p', {}, t(`game.${game}.line`)),
      h('div', { class: 'buttons' },
        h('button', { type: 'button', class: 'primary', 'data-start': `bots ${game}`, 'aria-describedby': title, disabled: this.busy, onclick: () => this.#withBots(game) }, t('home.with-bots')),
        h('button', { type: 'button', 'data-start': `quick ${game}`, 'aria-describedby': title, disabled: this.busy, onclick: () => this.#quickly(game) }, t('home.quick-match'))),
      h('p', { class: 'more' },
        h('a', { href: `/new/${game}`, 'aria-describedby': title }, t('home.own-table')),
        h('a', { href: `/rules/${game}`, 'aria-describedby': title }, t('nav.rules')),
        h('a', { href: `/leaderboards/${game}`, 'aria-describedby': title }, t('nav.leaderboard'))));
  }

  #lobby() {
    if (this.tables === null) return h('p', { class: 'quiet' }, t('home.lobby-loading'));
    const shown = this.tables.slice(0, SHOWN_MAX);
    if (shown.length === 0) return h('p', { class: 'quiet' }, t('home.lobby-empty'));
    return h('ul', { class: 'tables' }, shown.map((table) => this.#table(table)));
  }

  #table(table) {
    const names = table.seats.filter(({ player }) => player).map(({ name, seat }) => name ?? t('table.seat', { seat }));
    const playing = table.state === 'playing' && table.match_id;
    const free = table.seats.length - table.seats_taken;
    return h('li', { key: table.id },
      h('a', { href: playing ? `/matches/${table.match_id}` : `/tables/${table.id}` },
        h('b', {}, t(`game.${table.game}`)),
        h('span', { class: 'names' }, names.join(', ')),
        h('span', { class: 'state' }, playing ? t('home.watch') : free ? t('home.seats-free', { n: free }) : t('home.full'))));
  }

  #player() {
    return api.ensurePlayer(this.name.trim() || anyName());
  }

  #withBots(game) {
    return this.doing(async () => {
      await this.#player();
      const seats = GAMES[game];
      // Against bots there is no hurry.
      const table = await api.openTable({ game, seats, turn_seconds: null });
      for (let seat = 1; seat < seats; seat += 1) await api.seatBot(table.id, 'casual');
      const { match_id: match } = await api.startTable(table.id);
      go(`/matches/${match}`);
    });
  }

  #quickly(game) {
    return this.doing(async () => {
      await this.#player();
      const table = await api.quickMatch(game);
      go(`/tables/${table.id}`);
    });
  }
}

customElements.define('page-home', HomePage);
