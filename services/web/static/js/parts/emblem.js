/** A small picture for each game. */

import { h } from '../dom.js';

const SPADE = 'M0-12.500C3-7.500 10.500-3.500 10.500 2.800c0 4-2.900 6-5.600 6-1.700 0-3.200-.7-4.100-1.900.2 2.500 1.200 4.300 3.200 5.600h-8c2-1.300 3-3.100 3.200-5.600-.9 1.200-2.400 1.900-4.100 1.900-2.700 0-5.600-2-5.600-6C-10.500-3.500-3-7.500 0-12.500z';
const HEART = 'M0 11C-4 6-11 1.500-11-5c0-3.800 2.800-6.500 6-6.500 2.300 0 4.100 1.300 5 3.500.9-2.200 2.700-3.500 5-3.500 3.200 0 6 2.700 6 6.500C11 1.500 4 6 0 11z';

const PICTURES = {
  'dice-race': () => [die(52, 44, -10, [[-1, -1], [1, 1], [0, 0]]), die(98, 56, 14, [[-1, -1], [1, -1], [-1, 0], [1, 0], [-1, 1], [1, 1]])],
  'dice-bank': () => [die(56, 48, -8, [[-1, -1], [1, -1], [0, 0], [-1, 1], [1, 1]]), chip(100, 62), chip(100, 52), chip(100, 42)],
  'cards-bank': () => [card(58, 50, -10, '9', HEART, true), card(90, 50, 8, null)],
  'cards-points': () => [card(48, 54, -18, 'A', SPADE), card(75, 48, 0, '9', HEART, true), card(102, 54, 18, 'K', SPADE)],
  'cards-places': () => [card(46, 54, -18, '3', SPADE), card(75, 48, 0, '2', HEART, true), card(104, 54, 18, '4', SPADE)],
};

/** Describe a game's emblem; it is decoration. */
export function emblem(game) {
  return h('svg', { class: 'emblem', viewBox: '0 0 150 100', 'aria-hidden': 'true' }, PICTURES[game]?.() ?? []);
}

function die(x, y, turn, pips) {
  return h('g', { transform: `translate(${x} ${y}) rotate(${turn})` },
    h('rect', { class: 'body', x: -22, y: -22, width: 44, height: 44, rx: 9 }),
    pips.map(([px, py]) => h('circle', { class: 'pip', cx: px * 11, cy: py * 11, r: 4.2 })));
}

function chip(x, y) {
  return h('g', { transform: `translate(${x} ${y})` },
    h('ellipse', { class: 'chip', rx: 20, ry: 10 }), h('ellipse', { class: 'chip-top', rx: 12, ry: 5.5 }));
}

function card(x, y, turn, rank, suit, red = false) {
  return h('g', { transform: `translate(${x} ${y}) rotate(${turn})`, class: red ? 'red' : 'black' },
    h('rect', { class: rank ? 'paper' : 'backing', x: -21, y: -30, width: 42, height: 60, rx: 5 }),
    rank && h('text', { x: -13, y: -14 }, rank),
    rank && h('path', { class: 'suit', d: suit, transform: 'translate(1 6) scale(1.05)' }));
}
