/** What pages have in common. */

import { View } from '../dom.js';
import { sayProblem } from '../say.js';

/** A page. `this.params` are those of its address. */
export class Page extends View {
  busy = false;

  /** Name the page in the browser's title. */
  title(text) {
    document.title = text ? `${text} · Macao` : 'Macao';
  }

  /** Do what somebody asked for: one thing at a time, and a refusal is told. Returns what it came to, or undefined. */
  async doing(action, game = null) {
    if (this.busy) return undefined;
    this.busy = true;
    this.update();
    try {
      return await action();
    } catch (error) {
      sayProblem(error, game);
      return undefined;
    } finally {
      this.busy = false;
      this.update();
    }
  }
}
