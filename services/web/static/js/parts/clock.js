/**
 * `<macao-clock>`: the thinking time that is left (G10). `.clock` is the view's clock, or null.
 *
 * It counts by the service's time: a wrong clock on this machine makes no difference.
 */

import { h, View } from '../dom.js';
import { t } from '../i18n.js';

const SOON_SECONDS = 5;

class Clock extends View {
  #clock = null;
  #offset = 0;

  set clock(clock) {
    if (clock && clock !== this.#clock) this.#offset = clock.now_ms - Date.now();
    this.#clock = clock;
    this.update();
  }

  get clock() {
    return this.#clock;
  }

  start() {
    const timer = setInterval(() => this.#clock && this.update(), 250);
    this.alive.signal.addEventListener('abort', () => clearInterval(timer));
  }

  render() {
    if (!this.#clock) return [];
    const left = Math.max(0, (this.#clock.deadline_ms - Date.now() - this.#offset) / 1000);
    const part = Math.min(1, left / this.#clock.turn_seconds);
    const seconds = Math.ceil(left);
    return h('span', { class: ['clock', left < SOON_SECONDS && 'soon'], role: 'timer', 'aria-label': t('clock.left', { n: seconds }) },
      h('svg', { viewBox: '0 0 24 24', 'aria-hidden': 'true' },
        h('circle', { class: 'track', cx: 12, cy: 12, r: 10 }),
        h('circle', { class: 'left', cx: 12, cy: 12, r: 10, pathLength: 1, 'stroke-dasharray': `${part} 1`, transform: 'rotate(-90 12 12)' })),
      h('span', { 'aria-hidden': 'true' }, String(seconds)));
  }
}

customElements.define('macao-clock', Clock);
