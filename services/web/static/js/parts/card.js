/**
 * `<macao-card code="TH">`: a playing card. Every line of it is drawn here.
 *
 * `code` is rank and suit, `BJ` and `RJ` are the jokers, `??` shows the back. With `name` it is read out under that name,
 * without it is decoration.
 */

const SVG = 'http://www.w3.org/2000/svg';

const PIPS = {
  H: 'M0 11C-4 6-11 1.500-11-5c0-3.800 2.800-6.500 6-6.500 2.300 0 4.100 1.300 5 3.500.9-2.200 2.700-3.500 5-3.500 3.200 0 6 2.700 6 6.500C11 1.500 4 6 0 11z',
  D: 'M0-12.500C2.500-7.500 5.500-3.500 9.500 0 5.500 3.500 2.500 7.500 0 12.500-2.500 7.500-5.500 3.500-9.500 0-5.500-3.500-2.500-7.500 0-12.500z',
  S: 'M0-12.500C3-7.500 10.500-3.500 10.500 2.800c0 4-2.900 6-5.600 6-1.700 0-3.200-.7-4.100-1.900.2 2.500 1.200 4.300 3.200 5.600h-8c2-1.300 3-3.100 3.200-5.600-.9 1.200-2.400 1.900-4.100 1.900-2.700 0-5.600-2-5.600-6C-10.500-3.500-3-7.500 0-12.500z',
  C: 'M0-12.500a5.300 5.300 0 0 1 4.200 8.600A5.400 5.400 0 1 1 .8 5.300c.1 3 1.200 5.500 3.200 7.200h-8c2-1.700 3.100-4.200 3.200-7.200a5.400 5.400 0 1 1-3.400-9.200A5.300 5.300 0 0 1 0-12.500z',
};

const [LEFT, MIDDLE, RIGHT] = [33, 50, 67];
const FOUR = [[LEFT, 33], [RIGHT, 33], [LEFT, 107], [RIGHT, 107]];
const SIX = [...FOUR, [LEFT, 70], [RIGHT, 70]];
const EIGHT_HIGH = [[LEFT, 33], [RIGHT, 33], [LEFT, 57.7], [RIGHT, 57.7], [LEFT, 82.3], [RIGHT, 82.3], [LEFT, 107], [RIGHT, 107]];
const PLACES = {
  2: [[MIDDLE, 33], [MIDDLE, 107]],
  3: [[MIDDLE, 33], [MIDDLE, 70], [MIDDLE, 107]],
  4: FOUR,
  5: [...FOUR, [MIDDLE, 70]],
  6: SIX,
  7: [...SIX, [MIDDLE, 51.5]],
  8: [...SIX, [MIDDLE, 51.5], [MIDDLE, 88.5]],
  9: [...EIGHT_HIGH, [MIDDLE, 70]],
  T: [...EIGHT_HIGH, [MIDDLE, 45.3], [MIDDLE, 94.7]],
};

/** The upper half of a court card, in the frame from (24, 24) to (76, 70): robe, face, hair and what is on the head. */
const COURTS = {
  K: [
    ['robe', 'M24 70c1-11 9-17 17-18l9 6 9-6c8 1 16 7 17 18z'],
    ['gold', 'M44 54l6 4 6-4 2 16H42z'],
    ['skin', 'M41 38h18v8c0 6-4 10-9 10s-9-4-9-10z'],
    ['hair', 'M40 43c0 9 4 15 10 15s10-6 10-15c-1 5-4 6-6 5-1-1-2-1.500-4-1.500S47 47 46 48c-2 1-5 0-6-5z'],
    ['gold', 'M39 39l-2-14 7 6 6-9 6 9 7-6-2 14z'],
  ],
  Q: [
    ['robe', 'M26 70c1-9 8-15 16-16h16c8 1 15 7 16 16z'],
    ['hair', 'M50 29c-9 0-13 6-13 14 0 6-2 9-3 13 7 1 11-2 12-6h8c1 4 5 7 12 6-1-4-3-7-3-13 0-8-4-14-13-14z'],
    ['skin', 'M42 40c2-4 5-5 8-6 3 1 6 2 8 6v5c0 6-4 10-8 10s-8-4-8-10z'],
    ['gold', 'M40 35l-1-9 5 4 6-6 6 6 5-4-1 9c-6-3-14-3-20 0z'],
    ['gold', 'M43 60l7 5 7-5 1 10H42z'],
  ],
  J: [
    ['robe', 'M25 70c1-10 8-16 16-17l9 4 9-4c8 1 15 7 16 17z'],
    ['hair', 'M39 38c-2 7-2 12 0 15 3 1 5 0 6-2h10c1 2 3 3 6 2 2-3 2-8 0-15z'],
    ['skin', 'M42 38h16v8c0 6-4 9-8 9s-8-3-8-9z'],
    ['robe', 'M36 39c0-8 6-13 14-13s14 5 14 13c-8-3-20-3-28 0z'],
    ['gold', 'M36 40c8-4 20-4 28 0v-3c-8-4-20-4-28 0z'],
    ['gold', 'M60 31c2-5 6-8 13-8-2 6-6 10-11 11z'],
  ],
};

const JESTER = [
  ['robe', 'M27 92c2-13 11-19 23-19s21 6 23 19l-8-5-7 7-8-7-8 7-7-7z'],
  ['skin', 'M41 53h18v9c0 7-4 11-9 11s-9-4-9-11z'],
  ['robe', 'M38 55c-4-8-10-11-17-9 1-12 14-17 24-8l5-7 5 7c10-9 23-4 24 8-7-2-13 1-17 9-7-4-17-4-24 0z'],
  ['gold', 'M17.500 48a4 4 0 1 0 8 0 4 4 0 1 0-8 0zM46 30a4 4 0 1 0 8 0 4 4 0 1 0-8 0zM74.500 48a4 4 0 1 0 8 0 4 4 0 1 0-8 0z'],
  ['line', 'M45.500 66c2.500 2.500 6.500 2.500 9 0'],
];

const drawn = new Map();

class Card extends HTMLElement {
  static observedAttributes = ['code', 'name'];

  connectedCallback() {
    this.#draw();
  }

  attributeChangedCallback() {
    if (this.isConnected) this.#draw();
  }

  #draw() {
    const code = this.getAttribute('code') ?? '??';
    if (!drawn.has(code)) drawn.set(code, draw(code));
    const picture = drawn.get(code).cloneNode(true);
    const name = this.getAttribute('name');
    if (name) {
      this.setAttribute('role', 'img');
      this.setAttribute('aria-label', name);
    } else {
      this.removeAttribute('role');
      this.removeAttribute('aria-label');
    }
    picture.setAttribute('aria-hidden', 'true');
    this.replaceChildren(picture);
  }
}

/** Return a pip as a path, for use elsewhere. */
export const pipPath = (suit) => PIPS[suit];

function draw(code) {
  const picture = element('svg', { viewBox: '0 0 100 140', class: `card ${colour(code)}` });
  picture.append(element('rect', { class: 'face', x: 1, y: 1, width: 98, height: 138, rx: 9 }));
  if (code === '??') picture.append(...back());
  else if (code === 'BJ' || code === 'RJ') picture.append(...joker());
  else picture.append(...face(code[0], code[1]));
  return picture;
}

function colour(code) {
  if (code === '??') return 'back';
  return code === 'RJ' || 'HD'.includes(code[1]) ? 'red' : 'black';
}

function face(rank, suit) {
  const parts = corners(rank === 'T' ? '10' : rank, (index) => index.append(pip(suit, 15, 39, 0.56)));
  if (rank === 'A') return [...parts, pip(suit, 50, 70, 2.5)];
  if (rank in COURTS) return [...parts, ...court(rank, suit)];
  const scale = 0.86;
  return [...parts, ...PLACES[rank].map(([x, y]) => pip(suit, x, y, scale, y > 70))];
}

function corners(text, more) {
  return [0, 180].map((turn) => {
    const index = element('g', { transform: `rotate(${turn} 50 70)` });
    const narrow = text.length > 1 ? { textLength: 22, lengthAdjust: 'spacingAndGlyphs' } : {};
    const label = element('text', { class: 'rank', x: 15, y: 25, ...narrow });
    label.textContent = text;
    index.append(label);
    more(index);
    return index;
  });
}

function court(rank, suit) {
  const halves = [0, 180].map((turn) => {
    const half = element('g', { transform: `rotate(${turn} 50 70)` });
    half.append(...COURTS[rank].map(([kind, d]) => element('path', { class: kind, d })), pip(suit, 33, 35, 0.62));
    return half;
  });
  return [...halves, element('rect', { class: 'frame', x: 24, y: 22, width: 52, height: 96, rx: 4 }), element('path', { class: 'frame', d: 'M24 70h52' })];
}

function joker() {
  const parts = [0, 180].map((turn) => {
    const index = element('g', { transform: `rotate(${turn} 50 70)` });
    index.append(element('path', { class: 'pip', d: 'M15 9l2.600 6.200 6.700.5-5.100 4.400 1.600 6.500-5.800-3.500-5.800 3.500 1.600-6.500-5.100-4.400 6.700-.5z' }));
    return index;
  });
  const jester = element('g', { transform: 'translate(0 5)' });
  jester.append(...JESTER.map(([kind, d]) => element('path', { class: kind, d })));
  return [...parts, jester];
}

function back() {
  let lattice = '';
  for (let x = 14; x <= 86; x += 12) {
    for (let y = 16; y <= 124; y += 12) lattice += `M${x} ${y - 4}l4 4-4 4-4-4z`;
  }
  return [
    element('rect', { class: 'ground', x: 6, y: 6, width: 88, height: 128, rx: 6 }),
    element('path', { class: 'lattice', d: lattice }),
  ];
}

function pip(suit, x, y, scale, turned = false) {
  return element('path', { class: 'pip', d: PIPS[suit], transform: `translate(${x} ${y}) scale(${scale})${turned ? ' rotate(180)' : ''}` });
}

function element(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

customElements.define('macao-card', Card);
