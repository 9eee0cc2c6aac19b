/**
 * A finished match, checked in the visitor's own browser.
 *
 * The record is fetched, or given as a file, and the verifier goes through it: nothing that the service says about itself
 * is taken for granted, save the one step that needs the rules as code, which is marked as the service's word.
 */

import '../parts/card.js';
import '../parts/die.js';
import '../parts/disputes.js';
import * as verifier from '../../verifier/macao-verify.js';
import * as api from '../api.js';
import { h } from '../dom.js';
import { t } from '../i18n.js';
import { Page } from '../parts/page.js';
import { inWords, say } from '../say.js';
import { session } from '../session.js';

const FILE_BYTES_MAX = 64 * 1024 * 1024;
const SHOWN_FINDINGS_MAX = 5;
const SHOWN_CARDS_MAX = 108;

class AuditPage extends Page {
  verdict = null;
  states = null;
  told = null;
  rules = null;
  events = 0;
  done = false;

  async start() {
    this.title(t('audit.title'));
    const { match } = this.params;
    this.done = !match;
    if (!match) return;
    try {
      const record = await api.getRecord(match);
      await this.#check(record, match);
    } catch (error) {
      this.refused = inWords(error);
    }
    this.done = true;
    this.update();
  }

  /** Check a record; `match` is given when it came from the service. */
  async #check(record, match = null) {
    Object.assign(this, { verdict: null, rules: null, refused: null, events: 0, told: null, states: Object.fromEntries(verifier.CHECKS.map((check) => [check, 'waiting'])) });
    this.update();
    const keys = await api.getKeys().catch(() => null);
    this.verdict = await verifier.verify(record, {
      keys,
      onProgress: (progress) => {
        if (progress.kind === 'check') this.states[progress.check] = progress.state;
        if (progress.kind === 'read') this.events = progress.events;
        this.update();
      },
    });
    this.states = this.verdict.checks;
    this.told = await explained(typeof record === 'string' ? record : await record.text());
    this.update();
    if (match === null) return;
    this.rules = await api.getAudit(match).catch(() => null);
    this.update();
  }

  render() {
    const { match } = this.params;
    return h('div', { class: 'page narrow' },
      h('h1', {}, t('audit.title')),
      h('p', { class: 'lead' }, t('audit.lead')),
      this.refused && h('p', { class: 'verdict wrong' }, this.refused),
      h('div', { class: match ? 'outcome' : null, 'aria-live': 'polite' }, this.verdict ? this.#verdict() : this.states && h('p', { class: 'status' }, t('audit.running'))),
      this.states && this.#steps(),
      this.done && this.told && this.#explained(),
      match && this.done && this.verdict && h('div', { class: 'buttons' },
        h('a', { class: 'button', href: `/v1/matches/${match}/record`, download: `${match}.ndjson` }, t('audit.download')),
        h('a', { class: 'button', href: `/matches/${match}/replay` }, t('replay.title'))),
      this.done && h('section', { class: 'card-sheet' },
        h('h2', {}, t('audit.file')),
        h('p', {}, t('audit.file-explained')),
        h('label', {}, t('audit.choose'), h('input', { type: 'file', accept: '.ndjson,application/x-ndjson', onchange: (event) => this.#take(event.target.files[0]) }))),
      match && this.done && h('macao-disputes', { '.match': match, '.mayComplain': session() !== null }));
  }

  #verdict() {
    const { verdict } = this;
    if (verdict.sound) {
      return h('div', { class: 'verdict sound' }, `✓ ${t('audit.sound')}`,
        h('p', { class: 'quiet' }, t('audit.counts', { events: verdict.events, draws: verdict.draws, seals: verdict.seals })));
    }
    return h('div', { class: 'verdict wrong' }, verdict.first_bad_version === null ? `✗ ${t('audit.wrong')}` : `✗ ${t('audit.wrong-at', { version: verdict.first_bad_version })}`);
  }

  #steps() {
    return h('section', { class: 'checks' },
      h('h2', {}, t('audit.steps')),
      h('ol', { class: 'steps' },
        verifier.CHECKS.map((check) => this.#step(check, this.states[check])),
        this.rules && this.#rulesStep()));
  }

  #step(check, state) {
    const findings = (this.verdict?.findings ?? []).filter((finding) => finding.check === check).slice(0, SHOWN_FINDINGS_MAX);
    return step(state, t(`audit.${check}`), [
      h('p', {}, t(state === 'absent' ? 'audit.absent' : `audit.${check}.how`)),
      ...findings.map(({ version, line, words }) => h('p', {}, `${version === null ? t('audit.line', { line }) : t('audit.event', { version })}: ${words}`)),
    ]);
  }

  #rulesStep() {
    const findings = this.rules.findings.slice(0, SHOWN_FINDINGS_MAX);
    return step(this.rules.sound ? 'good' : 'bad', t('audit.rules'), [
      h('p', {}, t('audit.rules.how', { n: this.rules.commands })),
      ...findings.map(({ version, line, text }) => h('p', {}, `${version === null ? t('audit.line', { line }) : t('audit.event', { version })}: ${text}`)),
    ]);
  }

  #explained() {
    const { commitment, number, players, seed, holds, draw } = this.told;
    return h('section', { class: 'card-sheet' },
      h('h2', {}, t('audit.chance-explained')),
      h('ol', { class: 'keys' },
        h('li', {}, t('audit.promise', { number }), h('p', { class: 'hash' }, h('code', {}, commitment))),
        h('li', {}, t('audit.players-seeds'), h('p', { class: 'hash' }, h('code', {}, players.join('  ·  ')))),
        h('li', {}, t('audit.seed-shown'), h('p', { class: 'hash' }, h('code', {}, seed))),
        h('li', {}, holds ? `✓ ${t('audit.promise-kept')}` : `✗ ${t('audit.promise-broken')}`),
        draw?.kind === 'shuffle' && h('li', {}, t('audit.first-shuffle'),
          h('div', { class: 'shuffle', role: 'img', 'aria-label': draw.result.slice(0, SHOWN_CARDS_MAX).join(' ') }, draw.result.slice(0, SHOWN_CARDS_MAX).map((code, index) => h('macao-card', { key: index, code })))),
        draw?.kind === 'dice' && h('li', {}, t('audit.first-roll', { dice: draw.result.join(', ') }))));
  }

  #take(file) {
    if (!file) return;
    if (file.size > FILE_BYTES_MAX) {
      say(t('audit.too-large'), { kind: 'refusal' });
      return;
    }
    this.#check(file);
  }
}

const SIGNS = { good: '✓', bad: '✗', waiting: '…', unchecked: '?', absent: '–' };
const KINDS = { good: 'sound', bad: 'wrong' };

function step(state, title, told) {
  return h('li', { class: ['step', KINDS[state]] },
    h('span', { class: 'sign', role: 'img', 'aria-label': t(`audit.state.${state}`) }, SIGNS[state]),
    h('h3', {}, title), told);
}

/** Return what a record says about its chance, or null where it cannot be read. */
async function explained(text) {
  try {
    const bodies = text.split('\n').filter(Boolean).map((line) => JSON.parse(line)).filter(({ line }) => line === 'event')
      .map(({ body, sealed }) => JSON.parse(sealed ?? body));
    const started = bodies.find(({ type }) => type === 'match-started');
    const { seed } = bodies.find(({ type }) => type === 'seed-revealed');
    const draw = bodies.find((body) => body.draw && body.draw.kind !== 'lot')?.draw ?? null;
    return {
      commitment: started.commitment, number: started.commitment_number, players: started.seats.map((seat) => seat.seed), seed, draw,
      holds: hex(await verifier.commitmentOf(started.match, seed)) === started.commitment,
    };
  } catch {
    return null;
  }
}

const hex = (value) => (typeof value === 'string' ? value : [...new Uint8Array(value)].map((byte) => byte.toString(16).padStart(2, '0')).join(''));

customElements.define('page-audit', AuditPage);
