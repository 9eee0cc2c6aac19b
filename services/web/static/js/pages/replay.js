/** A match looked at again, step by step: what happened, and the table as it then stood. */

import * as api from '../api.js';
import { h } from '../dom.js';
import { board } from '../games/board.js';
import { t } from '../i18n.js';
import { courseOf, momentsOf } from '../parts/course.js';
import { Page } from '../parts/page.js';
import { plot } from '../parts/plot.js';
import { show } from '../router.js';
import { say } from '../say.js';
import { playerId } from '../session.js';
import { FAIRNESS, sentence } from '../words.js';
import '../parts/card.js';

const STEP_MS = 1_100;
const SPEEDS = [0.5, 1, 2, 4];
const KEPT_MAX = 400;
const AHEAD = 3;

class ReplayPage extends Page {
  match = null;
  events = [];
  stops = [];
  stop = 0;
  position = null;
  playing = false;
  speed = 1;
  course = 0;
  missing = false;
  #states = new Map();

  async start() {
    this.title(t('replay.title'));
    this.alive.signal.addEventListener('abort', () => clearTimeout(this.timer));
    try {
      [this.match, this.events] = await Promise.all([api.getMatch(this.params.match), api.listEvents(this.params.match)]);
    } catch {
      this.missing = true;
      this.update();
      return;
    }
    this.stops = this.events.filter(({ type }) => !FAIRNESS.has(type));
    this.courses = courseOf(this.match, this.events);
    this.moments = momentsOf(this.events);
    const at = Number(new URLSearchParams(location.search).get('at'));
    await this.#to(at ? this.#stopOf(at) : this.stops.length - 1, { quiet: !at });
  }

  /** The last stop that is not behind a version. */
  #stopOf(version) {
    const found = this.stops.findLastIndex((event) => event.version <= version);
    return Math.max(0, found);
  }

  async #to(stop, { quiet = false } = {}) {
    this.stop = Math.min(this.stops.length - 1, Math.max(0, stop));
    const { version } = this.stops[this.stop];
    if (!quiet) show(`/matches/${this.params.match}/replay?at=${version}`);
    this.update();
    try {
      const state = await this.#state(version);
      // Whoever drags the scrubber passes many positions; only the one it stands on is shown.
      if (this.stops[this.stop].version === version) this.position = state;
    } catch {
      say(t('problem.no-answer'), { kind: 'refusal' });
      this.#pause();
    }
    this.update();
    for (let ahead = 1; this.playing && ahead <= AHEAD; ahead += 1) {
      const next = this.stops[this.stop + ahead];
      if (next) this.#state(next.version).catch(() => null);
    }
  }

  #state(version) {
    if (!this.#states.has(version)) {
      const asked = api.getState(this.params.match, version);
      asked.catch(() => this.#states.delete(version));
      this.#states.set(version, asked);
      if (this.#states.size > KEPT_MAX) this.#states.delete(this.#states.keys().next().value);
    }
    return this.#states.get(version);
  }

  #play() {
    this.playing = true;
    if (this.stop === this.stops.length - 1) this.stop = -1;
    const next = async () => {
      if (!this.playing || this.alive.signal.aborted) return;
      await this.#to(this.stop + 1);
      if (this.stop >= this.stops.length - 1) this.#pause();
      else this.timer = setTimeout(next, STEP_MS / this.speed);
    };
    next();
  }

  #pause() {
    this.playing = false;
    clearTimeout(this.timer);
    this.update();
  }

  #jump(stop) {
    this.#pause();
    return this.#to(stop);
  }

  render() {
    if (this.missing) return h('div', { class: 'page narrow' }, h('h1', {}, t('missing.match')), h('p', {}, h('a', { href: '/' }, t('missing.home'))));
    if (this.position === null) return h('div', { class: 'page table-page' }, h('h1', { class: 'unseen' }, t('replay.title')));
    const { match } = this;
    const own = match.seats.findIndex(({ player }) => player === playerId());
    const name = (seat) => match.seats[seat].name ?? t('table.seat', { seat });
    const view = { ...this.position, clock: null };
    return h('div', { class: 'page table-page' },
      h('header', { class: 'match-head' },
        h('h1', {}, t('replay.of', { game: t(`game.${match.game}`) })),
        h('p', { class: 'facts' },
          match.status === 'running' && h('a', { href: `/matches/${match.id}` }, t('replay.running')),
          match.status !== 'running' && h('a', { href: `/matches/${match.id}/audit` }, t('audit.check')),
          h('a', { href: `/rules/${match.game}` }, t('nav.rules')))),
      board({ view, position: view.view, own: own < 0 ? null : own, name, roll: this.#roll(), openAll: true }),
      h('section', { class: 'below replaying', 'aria-label': t('replay.title') }, this.#player(name), this.#moments(name), this.#course(name)),
      this.#list(name));
  }

  #roll() {
    const rolled = this.events.findLast(({ type, version }) => type === 'rolled' && version <= this.stops[this.stop].version);
    return rolled ? { seat: rolled.data.seat, faces: rolled.data.draw.result, total: rolled.data.total, number: rolled.version } : null;
  }

  #player(name) {
    const last = this.stops.length - 1;
    const told = sentence(this.stops[this.stop].data, name);
    const button = (sign, label, to, disabled) =>
      h('button', { type: 'button', 'aria-label': label, title: label, disabled, onclick: to }, sign);
    return h('div', { class: 'player' },
      h('p', { class: 'told-now', role: 'status' }, told),
      h('div', { class: 'row' },
        h('input', {
          type: 'range', min: 0, max: last, value: String(this.stop), 'aria-label': t('replay.scrubber'), 'aria-valuetext': t('replay.step-of', { step: this.stop + 1, steps: last + 1 }),
          oninput: (event) => this.#jump(Number(event.target.value)),
        }),
        h('span', { class: 'quiet' }, `${this.stop + 1} / ${last + 1}`)),
      h('div', { class: 'row' },
        button(icon('M5 5v14M19 5L8 12l11 7z'), t('replay.first'), () => this.#jump(0), this.stop === 0),
        button(icon('M17 5L6 12l11 7z'), t('replay.back'), () => this.#jump(this.stop - 1), this.stop === 0),
        h('button', { type: 'button', class: 'primary', 'data-act': 'play', onclick: () => (this.playing ? this.#pause() : this.#play()) }, t(this.playing ? 'replay.pause' : 'replay.play')),
        button(icon('M7 5l11 7-11 7z'), t('replay.forward'), () => this.#jump(this.stop + 1), this.stop === last),
        button(icon('M19 5v14M5 5l11 7-11 7z'), t('replay.last'), () => this.#jump(last), this.stop === last),
        h('label', {}, t('replay.speed'), ' ', h('select', { value: String(this.speed), onchange: (event) => { this.speed = Number(event.target.value); } },
          SPEEDS.map((speed) => h('option', { value: String(speed) }, `× ${speed}`)))),
        navigator.clipboard && h('button', { type: 'button', onclick: () => this.#copy() }, t('replay.copy'))));
  }

  #copy() {
    const link = `${location.origin}/matches/${this.params.match}/replay?at=${this.stops[this.stop].version}`;
    return navigator.clipboard.writeText(link).then(() => say(t('table.copied')), () => null);
  }

  #moments(name) {
    if (this.moments.length === 0) return null;
    const now = this.stops[this.stop].version;
    return h('section', { class: 'wide', 'aria-label': t('replay.moments') },
      h('h2', {}, t('replay.moments')),
      h('div', { class: 'moments', role: 'group', 'aria-label': t('replay.moments') }, this.moments.map(({ version, data }) =>
        h('button', { key: version, type: 'button', 'aria-current': version === now ? 'true' : null, onclick: () => this.#jump(this.#stopOf(version)) }, sentence(data, name)))));
  }

  #course(name) {
    const chosen = this.courses[this.course];
    const index = this.events.findIndex(({ version }) => version === this.stops[this.stop].version);
    return h('section', { class: 'wide', 'aria-label': t('replay.chart') },
      h('h2', {}, t(`replay.chart.${chosen.measure}`)),
      this.courses.length > 1 && h('div', { class: 'choice', role: 'group', 'aria-label': t('replay.chart') }, this.courses.map(({ measure }, course) =>
        h('button', { type: 'button', 'aria-pressed': String(course === this.course), onclick: () => { this.course = course; this.update(); } }, t(`replay.chart.${measure}`)))),
      plot({
        label: t(`replay.chart.${chosen.measure}`), range: [0, this.events.length - 1], at: index,
        series: chosen.lines.map((points, seat) => ({ name: name(seat), points })),
      }));
  }

  #list(name) {
    const now = this.stops[this.stop].version;
    return h('section', { class: 'log' },
      h('h2', {}, t('table.log')),
      h('div', { class: 'lines', role: 'region', tabindex: '0', 'aria-label': t('table.log') }, h('ol', {}, this.events.map(({ version, type, data }) =>
        h('li', { key: version, 'data-type': type, class: [version === now && 'now', FAIRNESS.has(type) && 'quiet'], 'aria-current': version === now ? 'true' : null }, sentence(data, name))))));
  }

  rendered() {
    const list = this.querySelector('.log .lines');
    const now = list?.querySelector('.now');
    if (now) list.scrollTop = now.offsetTop - list.offsetTop - list.clientHeight / 2;
  }
}

const icon = (d) => h('svg', { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': 'true' }, h('path', { d }));

customElements.define('page-replay', ReplayPage);
