/** The two dice games: the die in the middle, totals and chips at the seats. */

import '../parts/die.js';
import { h } from '../dom.js';
import { t } from '../i18n.js';
import { chips } from './chips.js';

const GAUGE_PARTS = 1;

/** What lies in the middle. `scene.roll` is the last roll: `{seat, faces, number}`. */
export function centre(scene) {
  const { position, view, roll } = scene;
  const turn = view.turn;
  const total = turn === null ? roll?.total ?? 0 : totalOf(view.game, position, turn);
  const faces = roll?.faces ?? [0];
  return [
    h('p', { class: 'round' }, roundOf(scene)),
    h('div', { class: 'dice' }, faces.map((face, index) => h('macao-die', { key: `die ${index}`, face, throw: roll?.number ?? null }))),
    gauge(total, position.target),
    view.game === 'dice-race' && position.pot > 0 &&
      h('p', { class: 'pot', 'data-pot': '' }, h('span', {}, t('table.pot')), chips(position.pot)),
  ];
}

function roundOf({ position, view }) {
  if (view.game === 'dice-bank') return t('table.round-of', { round: position.round, rounds: position.rounds });
  if (position.playoff) return t('table.playoff', { round: position.round });
  return position.kind === 'extra' ? t('table.extra-round') : t('table.round', { round: position.round });
}

export function totalOf(game, position, seat) {
  return game === 'dice-bank' ? position.players[seat].total : position.total;
}

/** How near the total is to the target. */
function gauge(total, target) {
  const part = Math.min(1, total / target);
  return h('div', { class: ['gauge', total > target && 'bust', total === target && 'exact'] },
    h('svg', { viewBox: '0 0 100 60', 'aria-hidden': 'true' },
      h('path', { class: 'track', d: 'M10 52A40 40 0 0 1 90 52', pathLength: GAUGE_PARTS }),
      part > 0 && h('path', { class: 'filled', d: 'M10 52A40 40 0 0 1 90 52', pathLength: GAUGE_PARTS, 'stroke-dasharray': `${part} 2` })),
    h('p', {}, h('span', { class: 'unseen' }, t('table.total', { total, target })),
      h('b', { 'aria-hidden': 'true' }, String(total)), h('span', { 'aria-hidden': 'true' }, `/ ${target}`)));
}

/** What is told at a seat. */
export function atSeat(scene, seat) {
  const { position, view } = scene;
  const player = position.players[seat];
  if (view.game === 'dice-bank') {
    return [
      chips(player.chips),
      player.stake > 0 && h('span', { class: 'staked' }, t('table.staked'), chips(player.stake, t('table.stake-of', { n: player.stake }))),
      player.total > 0 && h('span', { class: 'score' }, String(player.total), h('span', { class: 'unseen' }, t('table.rolled-total'))),
      position.bank === seat && h('span', { class: 'badge bank' }, t('table.bank')),
    ];
  }
  return [
    chips(player.chips),
    player.score > 0 && h('span', { class: 'score' }, String(player.score), h('span', { class: 'unseen' }, t('table.score'))),
  ];
}

/** What a player has in the end, for the chart of a replay. */
export const measure = { name: 'chips', of: (player) => player.chips };
