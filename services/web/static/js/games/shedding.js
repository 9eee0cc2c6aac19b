/** The two shedding games: stock and pile in the middle, the hands around them. */

import '../parts/card.js';
import { h } from '../dom.js';
import { t } from '../i18n.js';
import { cardName, suitSign } from '../words.js';

const PILE_SHOWN = 4;
const FAN_MAX = 7;

export function centre(scene) {
  const { position, view } = scene;
  const pile = position.pile.slice(-PILE_SHOWN);
  const below = position.pile.length - pile.length;
  const top = position.pile.at(-1);
  return [
    h('p', { class: 'round' }, roundOf(scene)),
    h('div', { class: 'piles' },
      h('div', { class: 'stock' }, h('macao-card', { code: '??', class: position.stock ? null : 'empty' }),
        h('span', { class: 'count' }, t('table.stock', { n: position.stock }))),
      h('div', { class: 'pile', 'data-pile': '' },
        pile.map((code, index) => h('macao-card', {
          key: `${position.deal} ${below + index}`, class: 'laid', code, name: index === pile.length - 1 ? t('table.top-card', { card: cardName(code) }) : null,
          style: { '--tilt': `${tilt(below + index)}deg` },
        })),
        top === undefined && h('span', { class: 'count' }, t('table.no-pile')))),
    h('div', { class: 'asks' },
      position.suit && h('p', { class: ['wish', 'HD'.includes(position.suit) ? 'red' : 'black'] },
        h('span', {}, t('table.suit-called')), h('b', { 'aria-hidden': 'true' }, suitSign(position.suit)), h('span', { class: 'unseen' }, t(`suit.call.${position.suit}`))),
      position.penalty > 0 && h('p', { class: 'penalty' }, h('b', { key: `penalty ${position.penalty}`, class: 'grows' }, `+${position.penalty}`), h('span', {}, t('table.penalty', { n: position.penalty }))),
      position.skips > 0 && h('p', { class: 'penalty' }, h('b', { key: `skips ${position.skips}`, class: 'grows' }, String(position.skips)), h('span', {}, t('table.skips', { n: position.skips }))),
      position.out?.length > 0 && h('p', { class: 'phase' }, t('table.last-answer')),
      view.game === 'cards-places' && position.direction === 'counter-clockwise' && h('p', { class: 'phase' }, t('table.counter-clockwise'))),
  ];
}

function roundOf({ position, view }) {
  if (view.game === 'cards-points') return t('table.deal-to', { deal: position.deal, limit: view.options.loss_limit });
  if (view.options.points_limit) return t('table.deal-to', { deal: position.deal, limit: view.options.points_limit });
  return t('table.for-places');
}

const tilt = (number) => ((number * 37) % 17) - 8;

export function atSeat(scene, seat) {
  const { position, view, own } = scene;
  const player = position.players[seat];
  const points = player.losses ?? (view.options.points_limit ? player.points : null);
  const held = seat === own && !scene.openAll; // one's own cards lie before the table
  const open = player.hand !== null && !held;
  return [
    h('span', { class: 'cards' }, h('span', { class: 'count' }, t('table.cards', { n: player.cards }))),
    points !== null && h('span', { class: 'points' }, t('table.points', { n: points })),
    player.turns_to_sit_out > 0 && h('span', { class: 'badge' }, t('table.sits-out', { n: player.turns_to_sit_out })),
    player.owes_call && h('span', { class: 'badge alert' }, t('table.silent')),
    held ? null : open
      ? h('span', { class: 'fan open' }, player.hand.map((code, index) => h('macao-card', { key: `${code} ${index}`, code, name: cardName(code) })))
      : h('span', { class: 'fan', 'aria-hidden': 'true' }, Array.from({ length: Math.min(player.cards, FAN_MAX) }, (_, index) => h('macao-card', { key: `back ${index}`, code: '??' }))),
  ];
}

export const measure = {
  name: 'cards',
  of: (player) => player.cards,
};
