/**
 * `<macao-disputes>`: what players complained of in a match, the case files, and a form to complain.
 *
 * It asks for nothing before it is opened.
 */

import * as api from '../api.js';
import { h, View } from '../dom.js';
import { dateTime, hasText, t } from '../i18n.js';
import { inWords, say, sayProblem } from '../say.js';
import { mayAudit, playerId } from '../session.js';
import { markdown } from './markdown.js';

const COMPLAINT_MAX = 2000;

class Disputes extends View {
  disputes = null;
  seats = [];
  cases = new Map();
  refused = null;
  busy = false;

  async #read() {
    if (this.disputes !== null || this.reading) return;
    this.reading = true;
    try {
      const [page, match] = await Promise.all([api.listDisputes(this.match), api.getMatch(this.match)]);
      this.disputes = page.items;
      this.seats = match.seats;
      this.own = match.your_seat;
      this.last = match.version;
      this.refused = null;
    } catch (error) {
      this.refused = inWords(error);
    }
    this.reading = false;
    this.update();
  }

  render() {
    return h('details', { class: 'card-sheet', ontoggle: (event) => event.target.open && this.#read() },
      h('summary', {}, t('dispute.title')),
      this.refused && h('p', {}, this.refused),
      this.disputes && (this.disputes.length === 0 ? h('p', { class: 'quiet' }, t('dispute.none')) : h('ul', { class: 'steps' }, this.disputes.map((one) => this.#dispute(one)))),
      this.disputes && this.own !== null && this.own !== undefined && this.#form());
  }

  #dispute(dispute) {
    const name = this.seats[dispute.seat]?.name ?? t('table.seat', { seat: dispute.seat });
    const file = this.cases.get(dispute.id);
    const state = hasText(`dispute.${dispute.state}`) ? t(`dispute.${dispute.state}`) : dispute.state;
    return h('li', { key: dispute.id, class: 'step' },
      h('span', { class: 'sign', 'aria-hidden': 'true' }, '§'),
      h('h3', {}, t('dispute.of', { name, version: dispute.version })),
      h('p', {}, `${dateTime(dispute.opened_at_ms)} · ${state}`),
      h('p', {}, dispute.complaint),
      dispute.ruling && h('p', {}, h('b', {}, t(`dispute.${dispute.ruling.verdict}`)), ` ${dispute.ruling.reasons}`),
      h('p', {},
        h('button', { type: 'button', onclick: () => this.#open(dispute.id) }, t('dispute.case')), ' ',
        h('a', { href: `/matches/${this.match}/replay?at=${dispute.version}` }, t('dispute.look')), ' ',
        dispute.player === playerId() && dispute.state === 'open' && h('button', { type: 'button', class: 'plain', disabled: this.busy, onclick: () => this.#do(() => api.withdrawDispute(dispute.id)) }, t('dispute.withdraw'))),
      dispute.state === 'open' && mayAudit() && this.own === null && this.#ruling(dispute.id),
      file && h('article', { class: 'prose', lang: 'en' }, markdown(file, '').map(lower)));
  }

  /** The auditor's form. Nobody rules on a match in which they sat. */
  #ruling(dispute) {
    const choice = (name, values) => h('label', {}, t(`dispute.${name}`),
      h('select', { name }, values.map((value) => h('option', { value }, t(`dispute.${value}`)))));
    return h('form', { class: 'form', onsubmit: (event) => {
      event.preventDefault();
      const ruling = Object.fromEntries(new FormData(event.target));
      this.#do(() => api.ruleOnDispute(dispute, ruling));
    } },
    choice('verdict', ['upheld', 'dismissed']), choice('match', ['stands', 'void']),
    h('label', {}, t('dispute.reasons'), h('textarea', { name: 'reasons', maxlength: COMPLAINT_MAX, required: true })),
    h('div', { class: 'buttons' }, h('button', { type: 'submit', disabled: this.busy }, t('dispute.rule'))));
  }

  #form() {
    return h('form', { class: 'form', onsubmit: (event) => this.#complain(event) },
      h('h3', {}, t('dispute.complain')),
      h('label', {}, t('dispute.version'), h('input', { name: 'version', type: 'number', min: 1, max: this.last, required: true, ref: (input) => { input.value = String(this.last); } })),
      h('label', {}, t('dispute.complaint'), h('textarea', { name: 'complaint', maxlength: COMPLAINT_MAX, required: true })),
      h('div', { class: 'buttons' }, h('button', { type: 'submit', class: 'primary', disabled: this.busy }, t('dispute.send'))));
  }

  #complain(event) {
    event.preventDefault();
    const form = event.target;
    const fields = new FormData(form);
    return this.#do(async () => {
      await api.openDispute(this.match, { version: Number(fields.get('version')), complaint: fields.get('complaint') });
      form.reset();
      say(t('dispute.sent'));
    });
  }

  async #open(dispute) {
    try {
      this.cases.set(dispute, await api.getCase(dispute));
    } catch (error) {
      sayProblem(error);
    }
    this.update();
  }

  async #do(action) {
    this.busy = true;
    this.update();
    try {
      await action();
      this.disputes = null;
      await this.#read();
    } catch (error) {
      sayProblem(error);
    }
    this.busy = false;
    this.update();
  }
}

/** A case file stands inside a page that has its own headings. */
function lower(part) {
  const level = /^h([1-4])$/.exec(part.tag)?.[1];
  return level ? { ...part, tag: `h${Math.min(6, Number(level) + 2)}` } : part;
}

customElements.define('macao-disputes', Disputes);
