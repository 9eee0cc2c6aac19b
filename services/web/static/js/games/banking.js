/** cards-bank: one card, and one more at most, against the bank. */

import '../parts/card.js';
import { h } from '../dom.js';
import { t } from '../i18n.js';
import { cardName } from '../words.js';
import { chips } from './chips.js';

export function centre({ position, view }) {
  const bank = position.bank;
  const waiting = view.turn === null ? null : position.to_stake.length ? 'table.stakes-are-laid' : 'table.cards-are-asked';
  return [
    h('p', { class: 'round' }, t('table.coup-of', { coup: position.coup, coups: position.coups })),
    h('div', { class: 'piles' },
      h('div', { class: 'stock' }, h('macao-card', { code: '??' }), h('span', { class: 'count' }, t('table.stock', { n: position.stock })))),
    h('p', { class: 'phase' }, waiting ? t(waiting) : ''),
    h('p', { class: 'unseen' }, t('table.bank-is', { seat: bank })),
  ];
}

export function atSeat({ position }, seat) {
  const player = position.players[seat];
  const cards = [player.first, player.second].filter(Boolean);
  return [
    chips(player.chips),
    player.stake > 0 && h('span', { class: 'staked' }, t('table.staked'), chips(player.stake, t('table.stake-of', { n: player.stake }))),
    position.bank === seat && h('span', { class: 'badge bank' }, t('table.bank')),
    h('span', { class: 'held' }, cards.map((code, index) => h('macao-card', { key: `${position.coup} ${index}`, class: 'dealt', code, name: cardName(code) })),
      player.total !== null && h('span', { class: 'score' }, String(player.total), h('span', { class: 'unseen' }, t('table.total-of-cards')))),
  ];
}

export const measure = { name: 'chips', of: (player) => player.chips };
