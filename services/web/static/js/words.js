/** What happens in a match, in words: one sentence for every fact. */

import { hasText, listed, t } from './i18n.js';

const SUITS = { C: '♣', D: '♦', H: '♥', S: '♠' };
const UNKNOWN = '??';

/** What belongs to the proof of chance, and is no part of the game. */
export const FAIRNESS = new Set(['chance-committed', 'chance-revealed', 'seed-revealed', 'packs-shuffled', 'pile-shuffled']);

/** A card's full name, to be read out: "ten of hearts". */
export function cardName(code) {
  if (code === UNKNOWN) return t('card.hidden');
  if (code === 'BJ' || code === 'RJ') return t(`card.${code}`);
  return t('card.name', { rank: t(`rank.${code[0]}`), suit: t(`suit.${code[1]}`) });
}

/** A card as people write it: "10♥". */
export function cardSign(code) {
  if (code === UNKNOWN) return t('card.hidden');
  if (code === 'BJ' || code === 'RJ') return t(`card.${code}`);
  return `${code[0] === 'T' ? '10' : code[0]}${SUITS[code[1]]}`;
}

export const suitSign = (suit) => SUITS[suit];

/** Return a sentence for a fact (the `data` of an event); `name` gives a seat's name. */
export function sentence(fact, name) {
  const key = `event.${fact.type}${variant(fact)}`;
  if (!hasText(key)) return fact.type;
  return t(key, values(fact, name));
}

/** Return places in words, best first. */
export function placesInWords(places, name) {
  const seats = places.map((place, seat) => [place, seat]).sort(([a], [b]) => a - b);
  return seats.map(([place, seat]) => `${place}. ${name(seat)}`).join(', ');
}

/** Some facts are told in more than one way. */
function variant(fact) {
  switch (fact.type) {
    case 'round-ended': return fact.winners.length === 0 ? '.nobody' : fact.winners.length > 1 ? '.shared' : '';
    case 'round-started': return fact.kind === 'extra' ? '.extra' : '';
    case 'player-eliminated': return `.${fact.reason}`;
    case 'lot-drawn': return `.${fact.purpose}`;
    case 'staked': return fact.reason === 'danger' ? '.danger' : '';
    case 'paid': return `.${fact.source}`;
    case 'stake-taken': return fact.beyond ? '.beyond' : '';
    case 'stood': return fact.instant_win ? '.instant' : '';
    case 'played': return fact.direction ? `.${fact.direction}` : '';
    case 'drew':
    case 'penalty-taken':
    case 'macao-caught':
    case 'macao-fined':
      return fact.cards.includes(UNKNOWN) || fact.cards.length === 0 ? '' : '.known';
    case 'lapsed': return fact.penalty ? '.penalty' : '.turns';
    case 'sat-out': return fact.turns_left ? '.more' : '';
    default: return '';
  }
}

function values(fact, name) {
  const found = { ...fact };
  if (fact.seat !== undefined) found.name = name(fact.seat);
  if (fact.by !== undefined) found.by = name(fact.by);
  if (fact.bank !== undefined) found.bank = name(fact.bank);
  if (fact.order) [found.first, found.players] = [name(fact.order[0]), listed(fact.order.map(name))];
  if (fact.winners?.length) found.winners = listed(fact.winners.map(name));
  if (fact.places) found.places = placesInWords(fact.places, name);
  if (fact.draw?.kind === 'dice') found.dice = listed(fact.draw.result.map(String));
  if (fact.card) found.card = cardSign(fact.card);
  if (fact.suit) found.suit = `${SUITS[fact.suit]} ${t(`suit.call.${fact.suit}`)}`;
  if (fact.cards) [found.cards, found.n] = [listed(fact.cards.map(cardSign)), fact.cards.length];
  if (fact.amount !== undefined) found.n = fact.amount;
  if (fact.type === 'hand-counted') found.n = fact.points;
  if (fact.type === 'penalty-stacked' || fact.type === 'penalty-cancelled' || fact.type === 'skip-stacked') found.n = fact.total;
  if (fact.type === 'stalled') found.n = fact.turns;
  if (fact.type === 'lapsed') found.n = fact.penalty || fact.turns;
  if (fact.type === 'match-started') [found.game, found.n] = [t(`game.${fact.game}`), fact.seats.length];
  if (fact.commitment) found.commitment = `${fact.commitment.slice(0, 16)}…`;
  if (fact.key) found.key = `${fact.key.slice(0, 16)}…`;
  if (fact.seed) found.seed = `${fact.seed.slice(0, 16)}…`;
  return found;
}
