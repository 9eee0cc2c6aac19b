/**
 * One's own cards: choose one or several, in the order in which they are to lie, and play them.
 *
 * Cards that fit are lifted. Others can be chosen as well: the service then says which clause forbids them.
 */

import '../parts/card.js';
import { h } from '../dom.js';
import { t } from '../i18n.js';
import { cardName, cardSign, suitSign } from '../words.js';

const RANKS = 'A23456789TJQK';
const SUITS = ['C', 'D', 'S', 'H'];

/** Return a hand in the order in which it is shown, each card with a key of its own: packs hold some cards twice. */
export function sorted(hand) {
  const seen = {};
  const order = (code) => (code.endsWith('J') && !SUITS.includes(code[1]) ? 100 : SUITS.indexOf(code[1]) * 20 + RANKS.indexOf(code[0]));
  return [...hand].sort((a, b) => order(a) - order(b)).map((code) => {
    seen[code] = (seen[code] ?? 0) + 1;
    return { code, key: `${code} ${seen[code]}` };
  });
}

/** Return the legal plays that a choice of cards, in its order, amounts to. */
export function playsOf(legal, codes) {
  if (codes.length === 0) return [];
  const alike = [...codes].sort().join();
  return legal.filter((move) =>
    move.type === 'play' && move.cards[0] === codes[0] && move.cards.at(-1) === codes.at(-1) &&
    [...move.cards].sort().join() === alike);
}

/** Whether a card can be the next one of a choice. */
function goesOn(legal, codes, code) {
  const plays = legal.filter((move) => move.type === 'play');
  if (codes.length === 0) return plays.some(({ cards }) => cards[0] === code);
  const wanted = [...codes, code];
  return plays.some(({ cards }) => cards[0] === codes[0] && contains(cards, wanted));
}

function contains(cards, wanted) {
  const left = [...cards];
  return wanted.every((code) => {
    const at = left.indexOf(code);
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  });
}

/**
 * Describe the hand.
 *
 * @param chosen the keys of the chosen cards, in order
 * @param toggle called with a key
 */
export function hand({ cards, legal, chosen, toggle, active }) {
  const codes = chosen.map((key) => key.split(' ')[0]);
  const plays = active && legal.some(({ type }) => type === 'play');
  const first = cards.find(({ code }) => plays && goesOn(legal, [], code)) ?? cards[0];
  return h('div', { class: 'hand', role: 'group', 'aria-label': t('hand.label'), onkeydown: walk, style: { '--cards': String(cards.length) } },
    cards.map(({ code, key }) => {
      const at = chosen.indexOf(key);
      const fits = plays && (at >= 0 || goesOn(legal, codes, code));
      const told = [cardName(code), at >= 0 && codes.length > 1 && t('hand.number', { n: at + 1 }), plays && at < 0 && t(fits ? 'hand.fits' : 'hand.does-not-fit')];
      return h('button', {
        key, type: 'button', class: ['held-card', fits && 'fits', at >= 0 && 'chosen', plays && !fits && 'dim'], 'data-card': code,
        'aria-pressed': String(at >= 0), 'aria-label': told.filter(Boolean).join(', '), 'aria-disabled': active ? null : 'true',
        tabindex: key === first?.key ? '0' : '-1', onclick: () => active && toggle(key),
      }, h('macao-card', { code }), at >= 0 && codes.length > 1 && h('span', { class: 'order', 'aria-hidden': 'true' }, String(at + 1)));
    }));
}

/** Describe the buttons that play a choice. `macao` says whether the word goes with it. */
export function playButtons({ legal, chosen, macao, toggleMacao, play, busy }) {
  const codes = chosen.map((key) => key.split(' ')[0]);
  if (codes.length === 0) return [];
  const plays = playsOf(legal, codes);
  const withWord = plays.some((move) => move.macao) && !legal.some(({ type }) => type === 'call');
  const word = withWord && macao;
  const ace = codes[0][0] === 'A';
  const named = codes.map(cardSign).join(' ');
  return [
    withWord && h('button', { key: 'word', type: 'button', class: 'word', 'aria-pressed': String(macao), onclick: toggleMacao }, t('move.call')),
    ace
      ? h('div', { key: 'suits', class: 'suits', role: 'group', 'aria-label': t('move.choose-suit') },
        h('span', { class: 'hint' }, t('move.play-calling', { cards: named })),
        SUITS.map((suit) => h('button', {
          type: 'button', class: ['suit', 'HD'.includes(suit) ? 'red' : 'black'], 'data-move': `play-${suit}`, 'aria-label': t('move.call-suit', { suit: t(`suit.call.${suit}`) }),
          disabled: busy, onclick: () => play({ type: 'play', cards: codes, suit, ...(word && { macao: true }) }),
        }, suitSign(suit))))
      : h('button', {
        key: 'play', type: 'button', class: 'primary', 'data-move': 'play', disabled: busy,
        onclick: () => play({ type: 'play', cards: codes, ...(word && { macao: true }) }),
      }, t(word ? 'move.play-with-word' : 'move.play', { cards: named })),
  ];
}

/** Left and right go from card to card. */
function walk(event) {
  const cards = [...event.currentTarget.querySelectorAll('button')];
  const at = cards.indexOf(document.activeElement);
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: cards.length - 1 }[event.key];
  if (at < 0 || to === undefined) return;
  event.preventDefault();
  cards[(to + cards.length) % cards.length].focus();
}
