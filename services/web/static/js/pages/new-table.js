/** Open a table of one's own: seats, bots, clock, who may come, and the options of the game. */

import * as api from '../api.js';
import { h } from '../dom.js';
import { t } from '../i18n.js';
import { anyName } from '../parts/names.js';
import { optionsForm } from '../parts/options.js';
import { Page } from '../parts/page.js';
import { go } from '../router.js';

const SEATS_USUAL = 4;
const SECONDS = ['', '10', '30'];

class NewTablePage extends Page {
  game = null;
  wanted = { seats: 2, bots: 0, level: 'casual', seconds: '', visibility: 'public', options: {} };

  async start() {
    this.title(t('new.title'));
    this.game = await api.getGame(this.params.game).catch(() => null);
    if (this.game) {
      this.wanted.seats = Math.min(SEATS_USUAL, this.game.seats_max);
      this.wanted.seconds = String(this.game.turn_seconds ?? '');
    } else {
      this.missing = true;
    }
    this.update();
  }

  render() {
    if (this.missing) return h('div', { class: 'page narrow' }, h('h1', {}, t('missing.title')), h('p', {}, h('a', { href: '/' }, t('missing.home'))));
    if (!this.game) return h('div', { class: 'page narrow' }, h('h1', {}, t('new.title')));
    const { game, wanted } = this;
    const set = (name, value) => {
      wanted[name] = value;
      wanted.bots = Math.min(wanted.bots, wanted.seats - 1);
      this.update();
    };
    const counts = (from, to) => Array.from({ length: to - from + 1 }, (_, index) => String(from + index));
    const choice = (label, name, values, text) => h('label', {}, label,
      h('select', { name, value: String(wanted[name]), onchange: (event) => set(name, /^\d+$/.test(event.target.value) && name !== 'seconds' ? Number(event.target.value) : event.target.value) },
        values.map((value) => h('option', { value }, text ? text(value) : value))));
    return h('form', { class: 'page narrow new-table', onsubmit: (event) => this.#open(event) },
      h('h1', {}, t('new.title')),
      h('p', { class: 'lead' }, t(`game.${game.game}`)),
      h('div', { class: 'option-form' },
        choice(t('new.seats'), 'seats', counts(game.seats_min, game.seats_max)),
        choice(t('new.bots'), 'bots', counts(0, wanted.seats - 1)),
        wanted.bots > 0 && choice(t('new.level'), 'level', ['casual', 'sharp'], (level) => t(`level.${level}`)),
        choice(t('new.seconds'), 'seconds', SECONDS, (seconds) => (seconds ? t('table.seconds', { n: Number(seconds) }) : t('table.no-clock'))),
        choice(t('new.visibility'), 'visibility', ['public', 'private'], (one) => t(`visibility.${one}`))),
      h('details', {}, h('summary', {}, t('new.options')),
        optionsForm(game.options_schema, wanted.options, (option, value) => {
          if (value === undefined) delete wanted.options[option];
          else wanted.options[option] = value;
          this.update();
        })),
      h('div', { class: 'buttons' }, h('button', { type: 'submit', class: 'primary', disabled: this.busy }, t('new.open'))));
  }

  #open(event) {
    event.preventDefault();
    const { seats, bots, level, seconds, visibility, options } = this.wanted;
    return this.doing(async () => {
      await api.ensurePlayer(anyName());
      const table = await api.openTable({
        game: this.game.game, seats, visibility, turn_seconds: seconds ? Number(seconds) : null, ...(Object.keys(options).length && { options }),
      });
      for (let bot = 0; bot < bots; bot += 1) await api.seatBot(table.id, level);
      go(`/tables/${table.id}`);
    }, this.game.game);
  }
}

customElements.define('page-new-table', NewTablePage);
