/** A table between matches: who sits there, who may join, and what the host decides. */

import * as api from '../api.js';
import { h } from '../dom.js';
import { t } from '../i18n.js';
import { optionsInWords } from '../parts/options.js';
import { awaitMatch } from '../parts/await-match.js';
import { anyName } from '../parts/names.js';
import { Page } from '../parts/page.js';
import { go } from '../router.js';
import { say } from '../say.js';
import { playerId, session } from '../session.js';

const LEVELS = ['casual', 'sharp'];
const SEED = /^[A-Za-z0-9_-]{1,64}$/;

class TablePage extends Page {
  table = null;
  missing = false;
  code = new URLSearchParams(location.search).get('code') ?? '';
  level = 'casual';
  seed = '';
  #begun = false;

  start() {
    this.title(t('table.title'));
    api.followTable(this.params.table, {
      signal: this.alive.signal,
      frame: (type, data) => this.#take(type === 'snapshot' ? data : data.table),
      refused: () => {
        this.missing = true;
        this.update();
      },
    });
  }

  #take(table) {
    if (this.table && table.version < this.table.version) return;
    this.table = table;
    if (table.state === 'playing' && this.#own() !== null && table.match_id && !this.#begun && !this.busy) {
      this.#begun = true;
      awaitMatch(table.match_id, this.alive.signal, { replace: true });
    }
    this.update();
  }

  #own() {
    const seat = this.table.seats.find(({ player }) => player !== null && player === playerId());
    return seat?.seat ?? null;
  }

  async #do(action) {
    const table = await this.doing(action);
    if (table?.id) this.#take(table);
  }

  render() {
    if (this.missing) return h('div', { class: 'page narrow' }, h('h1', {}, t('missing.table')), h('p', {}, h('a', { href: '/' }, t('missing.home'))));
    if (this.table === null) return h('div', { class: 'page narrow' }, h('h1', {}, t('table.title')));
    const { table } = this;
    const own = this.#own();
    const host = table.host === playerId();
    const joinable = own === null && table.state === 'open' && table.seats.some(({ player }) => player === null);
    return h('div', { class: 'page narrow waiting-room' },
      h('h1', {}, t(`game.${table.game}`)),
      h('p', { class: 'facts' },
        h('span', {}, t(table.rated ? 'table.rated' : 'table.unrated')),
        h('span', {}, table.turn_seconds ? t('table.seconds', { n: table.turn_seconds }) : t('table.no-clock')),
        h('span', {}, t(`visibility.${table.visibility}`)),
        h('a', { href: `/rules/${table.game}` }, t('nav.rules'))),
      optionsInWords(table.options),
      h('p', { class: 'status', role: 'status' }, this.#status(own)),
      h('ol', { class: 'chairs', 'aria-label': t('table.seats') }, table.seats.map((seat) => this.#chair(seat, own, host))),
      this.#invitation(),
      table.state !== 'closed' && h('div', { class: 'buttons' },
        joinable && table.visibility === 'private' && h('label', {}, t('table.code'),
          h('input', { value: this.code, oninput: (event) => { this.code = event.target.value; } })),
        joinable && h('button', { type: 'button', class: 'primary', disabled: this.busy, onclick: () => this.#join() }, t('table.join')),
        host && table.state === 'open' && h('button', { type: 'button', class: 'primary', 'data-act': 'start', disabled: this.busy, onclick: () => this.#start() }, t('table.start')),
        table.match_id && h('a', { class: 'button', href: `/matches/${table.match_id}` }, t(table.state === 'playing' ? 'home.watch' : 'table.last-match')),
        own !== null && table.state === 'open' && h('button', { type: 'button', disabled: this.busy, onclick: () => this.#leave() }, t('table.leave'))),
      own !== null && table.state === 'open' && this.#fairness());
  }

  #status(own) {
    const { table } = this;
    if (table.state === 'closed') return t('table.closed');
    if (table.state === 'playing') return t('table.playing');
    const free = table.seats.filter(({ player }) => player === null).length;
    if (table.filling) return t('table.filling');
    if (free > 0) return t('table.waits-for-players', { n: free });
    return t(table.host === playerId() ? 'table.ready-host' : own === null ? 'table.full' : 'table.ready');
  }

  #chair(seat, own, host) {
    const mayHost = host && this.table.state === 'open' && !this.table.filling;
    if (seat.player === null) {
      return h('li', { class: 'chair free' },
        h('span', { class: 'avatar', 'aria-hidden': 'true' }, '+'),
        h('span', { class: 'name' }, t('table.free-seat')),
        mayHost && LEVELS.map((level) => h('button', { type: 'button', disabled: this.busy, 'data-bot': level, onclick: () => this.#do(() => api.seatBot(this.table.id, level)) }, t(`table.seat-${level}`))));
    }
    const name = seat.name ?? t('table.seat', { seat: seat.seat });
    return h('li', { class: ['chair', seat.seat === own && 'own'] },
      h('span', { class: 'avatar', 'aria-hidden': 'true' }, seat.bot ? '⚙' : [...name][0]),
      seat.bot ? h('span', { class: 'name' }, name) : h('a', { class: 'name', href: `/players/${seat.player}` }, name),
      h('span', { class: 'notes' }, [
        seat.seat === own && t('table.you'), seat.player === this.table.host && t('table.host'), seat.bot && t(`level.${seat.bot}`),
      ].filter(Boolean).join(' · ')),
      mayHost && seat.seat !== own && h('button', { type: 'button', disabled: this.busy, 'aria-label': t('table.remove-name', { name }), onclick: () => this.#do(() => api.freeSeat(this.table.id, seat.seat)) }, t('table.remove')));
  }

  #invitation() {
    const { table } = this;
    if (table.state !== 'open' || table.filling) return null;
    const link = `${location.origin}/tables/${table.id}${table.invite_code ? `?code=${encodeURIComponent(table.invite_code)}` : ''}`;
    return h('p', { class: 'invitation' },
      h('label', {}, t('table.invite'), h('input', { readonly: true, value: link, onfocus: (event) => event.target.select() })),
      navigator.clipboard && h('button', { type: 'button', onclick: () => navigator.clipboard.writeText(link).then(() => say(t('table.copied')), () => null) }, t('table.copy')));
  }

  #fairness() {
    const { table } = this;
    return h('details', { class: 'fairness' },
      h('summary', {}, t('fair.summary')),
      h('p', {}, t('fair.explained')),
      table.commitment && h('p', { class: 'hash' }, t('fair.commitment', { number: table.commitment_number }), ' ', h('code', {}, table.commitment)),
      h('form', { class: 'buttons', onsubmit: (event) => this.#giveSeed(event) },
        h('label', {}, t('fair.your-seed'), h('input', { value: this.seed, maxlength: 64, oninput: (event) => { this.seed = event.target.value; } })),
        h('button', { type: 'submit', disabled: this.busy }, t('fair.give'))));
  }

  #giveSeed(event) {
    event.preventDefault();
    if (!SEED.test(this.seed)) {
      say(t('problem.seed-invalid'), { kind: 'refusal' });
      return;
    }
    this.#do(async () => {
      const table = await api.giveSeed(this.table.id, this.seed);
      say(t('fair.given'));
      return table;
    });
  }

  #join() {
    return this.#do(async () => {
      if (session() === null) await api.becomeGuest(anyName());
      return api.joinTable(this.table.id, this.code ? { invite_code: this.code.trim() } : {});
    });
  }

  #start() {
    return this.doing(async () => {
      const { match_id: match } = await api.startTable(this.table.id);
      this.#begun = true;
      go(`/matches/${match}`, { replace: true });
    });
  }

  #leave() {
    return this.doing(async () => {
      await api.leaveTable(this.table.id);
      go('/');
    });
  }
}

customElements.define('page-table', TablePage);
