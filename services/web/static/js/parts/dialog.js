/** A question that has to be answered first. */

import { h, patch } from '../dom.js';
import { t } from '../i18n.js';

/** Ask, and return whether the answer is yes. Escape is no. */
export function confirmed(question, yes) {
  return new Promise((resolve) => {
    const dialog = document.createElement('dialog');
    dialog.setAttribute('aria-label', question);
    patch(dialog, [
      h('p', {}, question),
      h('div', { class: 'buttons' },
        h('button', { type: 'button', class: 'danger', onclick: () => dialog.close('yes') }, yes),
        h('button', { type: 'button', onclick: () => dialog.close('') }, t('dialog.no'))),
    ]);
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'yes');
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
