/**
 * How a match went, in numbers: what each player has after each event.
 *
 * It is worked out from the events alone. Cards that are hidden count as well as open ones.
 */

const CHAIN_LONG = 4;
const NATURALS = '789';

/** Return `[{measure, lines: [[[index, value], …] a seat]}]`; the index is that of the event in the list. */
export function courseOf(view, events) {
  const seats = view.seats.length;
  const courses = [];
  if (view.game.startsWith('dice') || view.game === 'cards-bank') courses.push(chipsOver(view, events, seats));
  else {
    if (view.game === 'cards-points' || view.options.points_limit) courses.push(pointsOver(events, seats));
    courses.push(cardsOver(events, seats));
  }
  return courses;
}

/** Return the events to jump to. */
export function momentsOf(events) {
  return events.filter(({ data }) => {
    switch (data.type) {
      case 'busted':
      case 'playoff-started':
      case 'macao-called':
      case 'macao-caught':
      case 'macao-fined':
      case 'penalty-taken':
      case 'player-eliminated':
      case 'went-out':
      case 'round-ended':
      case 'match-ended':
      case 'match-voided':
        return true;
      case 'penalty-stacked':
        return data.total >= CHAIN_LONG;
      case 'first-card-shown':
        return NATURALS.includes(data.card[0]);
      default:
        return false;
    }
  });
}

function over(measure, events, first, change) {
  const now = [...first];
  const lines = now.map((value) => [[0, value]]);
  events.forEach(({ data }, index) => {
    change(now, data);
    now.forEach((value, seat) => {
      if (lines[seat].at(-1)[1] !== value) lines[seat].push([index, value]);
    });
  });
  return { measure, lines };
}

function chipsOver(view, events, seats) {
  const staked = view.game !== 'dice-race' || view.options.stakes !== 'none';
  let bank = null;
  return over('chips', events, Array(seats).fill(staked ? view.options.starting_chips : 0), (chips, fact) => {
    switch (fact.type) {
      case 'round-started': if (view.game !== 'dice-race') bank = fact.order.at(-1); break;
      case 'staked': chips[fact.seat] -= fact.amount; break;
      case 'paid':
        chips[fact.seat] += fact.amount;
        if (fact.source === 'bank') chips[bank] -= fact.amount;
        break;
      case 'stake-taken':
        chips[fact.seat] -= fact.beyond;
        chips[bank] += fact.amount + fact.beyond;
        break;
      case 'stake-returned': chips[fact.seat] += fact.amount; break;
      case 'player-eliminated': chips[fact.seat] = 0; break;
      default:
    }
  });
}

function cardsOver(events, seats) {
  return over('cards', events, Array(seats).fill(0), (cards, fact) => {
    switch (fact.type) {
      case 'dealt': fact.hands.forEach((hand, seat) => { cards[seat] = hand.length; }); break;
      case 'played': cards[fact.seat] -= fact.cards.length; break;
      case 'drew':
      case 'penalty-taken':
      case 'macao-caught':
      case 'macao-fined':
        cards[fact.seat] += fact.cards.length;
        break;
      case 'player-eliminated': cards[fact.seat] = 0; break;
      default:
    }
  });
}

function pointsOver(events, seats) {
  return over('points', events, Array(seats).fill(0), (points, fact) => {
    if (fact.type === 'hand-counted') points[fact.seat] = fact.total;
  });
}
