/** The table as it is seen in a match and in a replay: the seats around it, and the game's things in the middle. */

import '../parts/clock.js';
import { h } from '../dom.js';
import { t } from '../i18n.js';
import { drawingOf } from './index.js';

const AROUND_MAX = 8;
const ROOMY_MAX = 4;

/**
 * Describe the table.
 *
 * `scene` has `view` (the match as the API shows it), `position` (the game's part of it), `own` (the viewer's seat or
 * null), `name(seat)`, `roll` (the last roll of dice), and `catchable`, `act`, `busy` where somebody plays.
 */
export function board(scene) {
  const { view } = scene;
  const drawing = drawingOf(view.game);
  const around = view.seats.length <= AROUND_MAX;
  return h('section', { class: ['felt', around ? 'around' : 'many', view.seats.length > ROOMY_MAX && 'full', view.game], 'aria-label': t('table.the-table') },
    h('ol', { class: 'seats' }, inOrder(scene).map((seat, index) => seatOf(scene, drawing, seat, index))),
    h('div', { class: 'centre', 'data-centre': '' }, drawing.centre(scene)));
}

/** Seats clockwise, beginning with the viewer's own, which is nearest. */
function inOrder({ view, own }) {
  const first = own ?? 0;
  return view.seats.map((_, index) => (first + index) % view.seats.length);
}

function seatOf(scene, drawing, seat, index) {
  const { view, own, name } = scene;
  const sitting = view.seats[seat];
  const place = view.places?.[seat] ?? scene.position.players[seat].place;
  const turn = view.turn === seat;
  const angle = ((90 + (360 * index) / view.seats.length) * Math.PI) / 180;
  return h('li', {
    key: `seat ${seat}`,
    class: ['seat', turn && 'turn', place && view.status === 'running' && 'out', seat === own && 'own'],
    'data-seat': seat,
    'aria-current': turn ? 'true' : null,
    style: { '--x': `${(50 + 41 * Math.cos(angle)).toFixed(2)}%`, '--y': `${(50 + 37 * Math.sin(angle)).toFixed(2)}%` },
  },
  h('div', { class: 'who' },
    h('span', { class: 'avatar', 'aria-hidden': 'true' }, sitting.bot ? '⚙' : [...name(seat)][0]),
    h('span', { class: 'name' }, name(seat), seat === own && h('span', { class: 'you' }, ` ${t('table.you')}`)),
    sitting.bot && h('span', { class: 'unseen' }, t(`level.${sitting.bot}`)),
    place && h('span', { class: ['place', place === 1 && 'first'] }, t('table.place', { place })),
    turn && h('span', { class: 'unseen' }, t('table.is-on-turn')),
    turn && view.clock && h('macao-clock', { '.clock': view.clock })),
  h('div', { class: 'has' }, drawing.atSeat(scene, seat)),
  scene.catchable?.includes(seat) && h('button', {
    type: 'button', class: 'danger catch', 'data-move': 'catch', disabled: scene.busy, onclick: () => scene.act({ type: 'catch', seat }),
  }, t('move.catch', { name: name(seat) })));
}
