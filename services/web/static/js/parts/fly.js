/** Chips that move from one place to another. For the eye only: the numbers say the same. */

import { reducedMotion } from '../dom.js';

const FLIGHT_MS = 650;
const CHIPS_MAX = 4;

/** Let up to four chips fly from the middle of one element to the middle of another. */
export function fly(from, to, count) {
  if (!from || !to || reducedMotion() || document.hidden) return;
  const [start, end] = [middle(from), middle(to)];
  for (let index = 0; index < Math.min(count, CHIPS_MAX); index += 1) {
    const chip = document.createElement('i');
    chip.className = 'flying-chip';
    chip.setAttribute('aria-hidden', 'true');
    document.body.append(chip);
    const flight = chip.animate(
      [
        { transform: `translate(${start.x}px, ${start.y}px) scale(1)` },
        { transform: `translate(${(start.x + end.x) / 2}px, ${(start.y + end.y) / 2 - 40}px) scale(1.25)` },
        { transform: `translate(${end.x}px, ${end.y}px) scale(.8)`, opacity: 0.4 },
      ],
      { duration: FLIGHT_MS, delay: index * 70, easing: 'ease-in-out', fill: 'backwards' },
    );
    flight.onfinish = () => chip.remove();
    flight.oncancel = () => chip.remove();
  }
}

/** Move the chips of a fact between the seats and the middle of a table. */
export function moveChips(root, fact, position) {
  const seat = (number) => root.querySelector(`[data-seat="${number}"] .chips`);
  const centre = root.querySelector('[data-pot]') ?? root.querySelector('[data-centre]');
  const bank = position?.bank === undefined ? centre : seat(position.bank);
  switch (fact.type) {
    case 'staked': return fly(seat(fact.seat), centre, fact.amount);
    case 'paid': return fly(fact.source === 'bank' ? bank : centre, seat(fact.seat), fact.amount);
    case 'stake-taken': return fly(seat(fact.seat), bank, fact.amount + fact.beyond);
    case 'stake-returned': return fly(centre, seat(fact.seat), fact.amount);
    default: return undefined;
  }
}

function middle(element) {
  const box = element.getBoundingClientRect();
  return { x: box.left + box.width / 2 - 9, y: box.top + box.height / 2 - 9 };
}
