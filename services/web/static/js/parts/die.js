/**
 * `<macao-die face="5" throw="12">`: a die. When `throw` changes, it tumbles and comes to rest on its face.
 *
 * Which face that is was decided by the service; the tumbling is for the eye only, and left out for those who want no
 * motion.
 */

import { reducedMotion } from '../dom.js';
import { t } from '../i18n.js';

const SVG = 'http://www.w3.org/2000/svg';
const [LOW, MIDDLE, HIGH] = [27, 50, 73];
const PIPS = {
  0: [],
  1: [[MIDDLE, MIDDLE]],
  2: [[LOW, LOW], [HIGH, HIGH]],
  3: [[LOW, LOW], [MIDDLE, MIDDLE], [HIGH, HIGH]],
  4: [[LOW, LOW], [HIGH, LOW], [LOW, HIGH], [HIGH, HIGH]],
  5: [[LOW, LOW], [HIGH, LOW], [MIDDLE, MIDDLE], [LOW, HIGH], [HIGH, HIGH]],
  6: [[LOW, LOW], [HIGH, LOW], [LOW, MIDDLE], [HIGH, MIDDLE], [LOW, HIGH], [HIGH, HIGH]],
};
const TUMBLE_MS = 620;
const FACES_ON_THE_WAY = 5;

class Die extends HTMLElement {
  static observedAttributes = ['face', 'throw'];
  #timer;

  connectedCallback() {
    this.#show(Number(this.getAttribute('face') ?? 0));
  }

  disconnectedCallback() {
    clearInterval(this.#timer);
  }

  attributeChangedCallback(name, before, now) {
    if (!this.isConnected || before === now) return;
    const thrown = name === 'throw' && now !== null;
    // Both attributes change together; the throw comes with the face that it led to.
    queueMicrotask(() => {
      const face = Number(this.getAttribute('face') ?? 0);
      if (thrown && face && !reducedMotion()) this.#tumble(face);
      else if (!this.#timer) this.#show(face);
    });
  }

  #tumble(face) {
    clearInterval(this.#timer);
    let shown = face;
    let left = FACES_ON_THE_WAY;
    this.#timer = setInterval(() => {
      left -= 1;
      if (left > 0) {
        shown = (shown % 6) + 1;
        this.#show(shown);
      } else {
        clearInterval(this.#timer);
        this.#timer = undefined;
        this.#show(Number(this.getAttribute('face') ?? 0));
      }
    }, TUMBLE_MS / FACES_ON_THE_WAY);
    this.firstElementChild?.animate(
      [
        { transform: 'translateY(0) rotate(0) scale(1)' },
        { transform: 'translateY(-34%) rotate(200deg) scale(1.08)', offset: 0.4 },
        { transform: 'translateY(0) rotate(340deg) scale(.98)', offset: 0.8 },
        { transform: 'translateY(0) rotate(360deg) scale(1)' },
      ],
      { duration: TUMBLE_MS, easing: 'cubic-bezier(.3,.7,.4,1)' },
    );
  }

  #show(face) {
    let picture = this.firstElementChild;
    if (!picture) {
      picture = make('svg', { viewBox: '0 0 100 100', class: 'die', 'aria-hidden': 'true' });
      this.append(picture);
    }
    picture.replaceChildren(
      make('rect', { class: 'body', x: 3, y: 3, width: 94, height: 94, rx: 20 }),
      ...PIPS[face].map(([cx, cy]) => make('circle', { cx, cy, r: 9 })),
    );
    this.setAttribute('role', 'img');
    this.setAttribute('aria-label', face ? t('die.face', { face }) : t('die.none'));
  }
}

function make(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

customElements.define('macao-die', Die);
