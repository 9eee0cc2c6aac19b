/** A match: played, or watched while others play. */

import * as api from '../api.js';
import { h } from '../dom.js';
import { board } from '../games/board.js';
import { stakeChoice } from '../games/chips.js';
import { hand, playButtons, sorted } from '../games/hand.js';
import { t } from '../i18n.js';
import { confirmed } from '../parts/dialog.js';
import { moveChips } from '../parts/fly.js';
import { log } from '../parts/log.js';
import { Page } from '../parts/page.js';
import { awaitMatch } from '../parts/await-match.js';
import { go } from '../router.js';

const AWAITED_ATTEMPTS = 20;
const AWAITED_MS = 500;
const PLAIN_MOVES = ['roll', 'stand', 'ask', 'draw', 'take', 'sit-out', 'pass'];

class MatchPage extends Page {
  view = null;
  table = null;
  events = [];
  chosen = [];
  macao = false;
  stake = null;
  connected = true;
  missing = false;
  #newest = 0;
  #reading = null;

  start() {
    this.title(t('table.match'));
    this.#follow(history.state?.awaited ? AWAITED_ATTEMPTS : 0);
  }

  /** Follow the match. One that was asked for a moment ago may not have begun yet. */
  #follow(patience) {
    api.followMatch(this.params.match, {
      signal: this.alive.signal,
      frame: (type, data) => (type === 'snapshot' ? this.#snapshot(data) : this.#happened(data)),
      link: (connected) => this.#link(connected),
      refused: () => {
        if (patience > 0 && !this.alive.signal.aborted) setTimeout(() => this.#follow(patience - 1), AWAITED_MS);
        else this.missing = true;
        this.update();
      },
    });
  }

  async #snapshot(view) {
    if (this.view === null) {
      this.#take(view);
      const told = await api.listEvents(view.id);
      const known = new Set(this.events.map(({ version }) => version));
      this.events = [...told.filter(({ version }) => !known.has(version)), ...this.events];
      this.events.sort((a, b) => a.version - b.version);
    }
    this.#read(view.version);
    this.update();
  }

  #happened(event) {
    if (event.version <= (this.events.at(-1)?.version ?? 0)) return;
    this.events.push(event);
    moveChips(this, event.data, this.view?.view);
    this.#read(event.version);
    this.update();
  }

  #link(connected) {
    if (connected === this.connected) return;
    this.connected = connected;
    this.update();
  }

  /** Read the match until it is as new as what was told. Several events of one move lead to one reading. */
  #read(version) {
    this.#newest = Math.max(this.#newest, version);
    this.#reading ??= this.#readOn().finally(() => {
      this.#reading = null;
    });
  }

  async #readOn() {
    do {
      await new Promise((resume) => setTimeout(resume));
      if (this.alive.signal.aborted) return;
      try {
        this.#take(await api.getMatch(this.params.match));
      } catch {
        return; // the stream says when the service is back, and then it is read again
      }
    } while (this.view.version < this.#newest);
  }

  #take(view) {
    const before = this.view;
    if (before !== null && view.version < before.version) return;
    this.view = view;
    this.#newest = Math.max(this.#newest, view.version);
    if (before?.version !== view.version) this.#settleChoice(before);
    if (view.status !== 'running' && !this.followed && view.your_seat !== null) this.#followTable();
    this.title(view.turn !== null && view.turn === view.your_seat ? t('table.your-turn-title') : t(`game.${view.game}`));
    this.update();
  }

  /** What was chosen stays chosen as long as it is there and it is still the same turn. */
  #settleChoice(before) {
    const own = this.view.your_seat;
    if (own === null) return;
    const held = new Set(this.#cards().map(({ key }) => key));
    this.chosen = this.chosen.filter((key) => held.has(key));
    if (before?.turn === own && this.view.turn !== own) {
      this.chosen = [];
      this.macao = false;
      this.stake = null;
    }
  }

  /** When the match is over, the next one at this table is followed by those who sit there. */
  #followTable() {
    this.followed = true;
    api.followTable(this.view.table, {
      signal: this.alive.signal,
      frame: (type, data) => {
        const table = type === 'snapshot' ? data : data.table;
        this.table = table;
        this.update();
        const seated = table.seats.some(({ player }) => player === this.view.seats[this.view.your_seat].player);
        if (table.state === 'playing' && seated && table.match_id !== this.params.match && !this.busy) awaitMatch(table.match_id, this.alive.signal);
      },
    });
  }

  #act(wanted) {
    return this.doing(async () => {
      const focused = document.activeElement?.dataset?.move;
      try {
        const answer = await api.move(this.params.match, this.view.version, wanted);
        this.chosen = [];
        this.macao = false;
        this.#read(answer.version);
        await this.#reading;
      } catch (problem) {
        this.#read(this.view.version);
        throw problem;
      } finally {
        if (focused) this.refocus = focused;
      }
    }, this.view.game);
  }

  rendered() {
    if (!this.refocus || this.busy) return;
    // The button that was pressed may be gone; whoever plays by keyboard goes on from what stands there now.
    const wanted = this.refocus;
    this.refocus = null;
    const found = this.querySelector(`.actions [data-move="${wanted}"]`) ?? this.querySelector('.actions button, .hand button[tabindex="0"]');
    if (document.activeElement === document.body || !document.activeElement?.isConnected) (found ?? this.querySelector('.actions'))?.focus();
  }

  render() {
    if (this.missing) return h('div', { class: 'page narrow' }, h('h1', {}, t('missing.match')), h('p', {}, h('a', { href: '/' }, t('missing.home'))));
    if (this.view === null) return h('div', { class: 'page table-page' }, h('h1', { class: 'unseen' }, t('table.match')));
    const { view } = this;
    const own = view.your_seat;
    const scene = {
      view, position: view.view, own, name: (seat) => this.#name(seat), roll: this.#roll(),
      catchable: view.legal.filter(({ type }) => type === 'catch').map(({ seat }) => seat), act: (move) => this.#act(move), busy: this.busy,
    };
    return h('div', { class: 'page table-page' },
      h('header', { class: 'match-head' },
        h('h1', {}, t(`game.${view.game}`)),
        h('p', { class: 'facts' },
          h('span', {}, t(view.rated ? 'table.rated' : 'table.unrated')),
          h('a', { href: `/rules/${view.game}`, target: '_blank', rel: 'noopener' }, t('nav.rules')),
          own === null && view.status === 'running' && h('span', { class: 'badge' }, t('table.watching'))),
        h('p', { class: 'link', role: 'status' }, this.connected ? '' : t('table.reconnecting'))),
      board(scene),
      h('section', { class: 'below', 'aria-label': t('table.your-side') }, view.status === 'running' ? this.#mine(own) : this.#result()),
      log(this.events, scene.name, view.game, own));
  }

  #name(seat) {
    const sitting = this.view.seats[seat];
    return sitting.name ?? t('table.seat', { seat });
  }

  #roll() {
    const rolled = this.events.findLast(({ type }) => type === 'rolled');
    return rolled ? { seat: rolled.data.seat, faces: rolled.data.draw.result, total: rolled.data.total, number: rolled.version } : null;
  }

  #cards() {
    const own = this.view.your_seat;
    return own === null ? [] : sorted(this.view.view.players[own].hand ?? []);
  }

  #mine(own) {
    const { view } = this;
    const { legal } = view;
    const turn = view.turn === own && own !== null;
    const cards = this.#cards();
    const range = legal.find(({ type }) => type === 'stake');
    const plain = PLAIN_MOVES.filter((type) => legal.some((move) => move.type === type));
    const hint = turn ? t('table.your-turn') : view.turn === null ? '' : t('table.waits-for', { name: this.#name(view.turn) });
    return [
      h('p', { class: ['turn-hint', turn && 'now'], role: 'status' }, hint),
      own !== null && cards.length > 0 && hand({
        cards, legal, chosen: this.chosen, active: turn, toggle: (key) => this.#toggle(key),
      }),
      own !== null && h('div', { class: 'actions', tabindex: '-1', role: 'group', 'aria-label': t('table.your-moves') },
        legal.some(({ type }) => type === 'call') && h('button', { key: 'call', type: 'button', class: 'word calling', 'data-move': 'call', disabled: this.busy, onclick: () => this.#act({ type: 'call' }) }, t('move.call')),
        turn && playButtons({
          legal, chosen: this.chosen, macao: this.macao, busy: this.busy, play: (move) => this.#act(move),
          toggleMacao: () => {
            this.macao = !this.macao;
            this.update();
          },
        }),
        range && stakeChoice(range, this.stake, (amount) => {
          this.stake = amount;
          this.update();
        }, (amount) => this.#act({ type: 'stake', amount }), this.busy),
        plain.map((type, index) => h('button', {
          key: type, type: 'button', class: index === 0 && this.chosen.length === 0 ? 'primary' : null, 'data-move': type, disabled: this.busy, onclick: () => this.#act({ type }),
        }, this.#moveText(type)))),
      own !== null && h('p', { class: 'aside' },
        this.#isIn(own) && h('button', { type: 'button', class: 'plain', onclick: () => this.#leave() }, t('move.leave'))),
    ];
  }

  #moveText(type) {
    if (type === 'take') return t('move.take', { n: this.view.view.penalty });
    if (type === 'sit-out') return t('move.sit-out', { n: this.view.view.skips });
    return t(`move.${type}`);
  }

  #isIn(seat) {
    return !this.view.view.players[seat].place;
  }

  #toggle(key) {
    const code = key.split(' ')[0];
    if (this.chosen.includes(key)) {
      this.chosen = this.chosen.filter((one) => one !== key);
    } else {
      const together = this.view.options.several_at_once && this.chosen.length > 0 && this.chosen[0][0] === code[0] && !code.endsWith('J');
      this.chosen = together ? [...this.chosen, key] : [key];
    }
    this.macao = false;
    this.update();
  }

  async #leave() {
    if (await confirmed(t('table.leave-question'), t('move.leave'))) await this.#act({ type: 'leave' });
  }

  #result() {
    const { view } = this;
    const own = view.your_seat;
    const places = (view.places ?? []).map((place, seat) => ({ place, seat })).sort((a, b) => a.place - b.place);
    return h('div', { class: 'result' },
      h('h2', {}, view.status === 'voided' ? t('table.voided') : own !== null && view.places[own] === 1 ? t('table.you-won') : t('table.over')),
      h('ol', { class: 'places' }, places.map(({ place, seat }) => h('li', { class: place === 1 ? 'first' : null }, h('b', {}, `${place}.`), ' ', this.#name(seat)))),
      h('div', { class: 'buttons' },
        own !== null && this.#isHost() && h('button', { type: 'button', class: 'primary', disabled: this.busy || this.table.state !== 'open', onclick: () => this.#again() }, t('table.again')),
        h('a', { class: 'button', href: `/matches/${view.id}/replay` }, t('replay.title')),
        h('a', { class: 'button', href: `/matches/${view.id}/audit` }, t('audit.check')),
        h('a', { class: 'button', href: `/tables/${view.table}` }, t('table.to-table'))));
  }

  #isHost() {
    return this.table?.host === this.view.seats[this.view.your_seat].player;
  }

  /** Start the next match; where somebody has left, wait at the table for another. */
  #again() {
    if (this.table.seats.some(({ player }) => player === null)) {
      go(`/tables/${this.table.id}`);
      return undefined;
    }
    return this.doing(async () => {
      const { match_id: match } = await api.startTable(this.table.id);
      go(`/matches/${match}`);
    });
  }
}

customElements.define('page-match', MatchPage);
