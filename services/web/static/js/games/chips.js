/** Chips: how many, and a way to choose a stake. */

import { h } from '../dom.js';
import { t } from '../i18n.js';

const QUICK_MAX = 6;

/** A number of chips with its picture. */
export function chips(count, label = t('table.chips', { n: count })) {
  return h('span', { class: 'chips', title: label },
    h('svg', { viewBox: '0 0 24 24', 'aria-hidden': 'true' },
      h('circle', { class: 'rim', cx: 12, cy: 12, r: 10 }),
      h('circle', { class: 'notches', cx: 12, cy: 12, r: 10, 'stroke-dasharray': '5.236 5.236' }),
      h('circle', { class: 'middle', cx: 12, cy: 12, r: 6.5 })),
    h('span', { 'aria-hidden': 'true' }, String(count)),
    h('span', { class: 'unseen' }, label));
}

/** The choice of a stake between `min` and `max`. `chosen` is the amount as it stands, `choose` changes it. */
export function stakeChoice({ min, max }, chosen, choose, lay, busy) {
  const amount = Math.min(max, Math.max(min, chosen ?? min));
  const span = max - min + 1;
  const quick = span <= QUICK_MAX
    ? Array.from({ length: span }, (_, index) => min + index)
    : [...new Set([0, 0.1, 0.25, 0.5, 1].map((part) => Math.round(min + part * (max - min))))];
  return h('div', { class: 'stake', role: 'group', 'aria-label': t('table.your-stake') },
    h('p', {}, t('table.stake-range', { min, max })),
    quick.length > 1 && h('div', { class: 'quick' }, quick.map((one) =>
      h('button', { type: 'button', class: 'chip-button', 'aria-pressed': String(one === amount), onclick: () => choose(one) }, String(one)))),
    span > QUICK_MAX && h('label', { class: 'slider' }, h('span', { class: 'unseen' }, t('table.your-stake')),
      h('input', { type: 'range', min, max, value: String(amount), oninput: (event) => choose(Number(event.target.value)) })),
    h('button', { type: 'button', class: 'primary', 'data-move': 'stake', disabled: busy, onclick: () => lay(amount) },
      t('move.stake', { n: amount })));
}
