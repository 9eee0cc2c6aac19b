/** What happened, in words; the newest on top. */

import { h } from '../dom.js';
import { t } from '../i18n.js';
import { FAIRNESS, sentence } from '../words.js';

const SHOWN_MAX = 60;

/** Describe the log of a match. Own moves are known to who made them, so they are marked. */
export function log(events, name, game, own) {
  const told = events.filter(({ type }) => !FAIRNESS.has(type)).slice(-SHOWN_MAX).reverse();
  return h('section', { class: 'log' },
    h('h2', {}, t('table.log')),
    h('div', { class: 'lines', role: 'log', tabindex: '0', 'aria-label': t('table.log') }, h('ol', {},
      told.map(({ version, type, data }) => h('li', { key: version, 'data-type': type, class: data.seat === own && own !== null ? 'own' : null }, sentence(data, name))))));
}
