/** One's own player: a guest, an account, or somebody who is still to come in. */

import * as api from '../api.js';
import { h } from '../dom.js';
import { t } from '../i18n.js';
import { anyName } from '../parts/names.js';
import { Page } from '../parts/page.js';
import { go } from '../router.js';
import { say } from '../say.js';
import { session } from '../session.js';

class AccountPage extends Page {
  start() {
    this.title(t('account.title'));
  }

  render() {
    const player = session()?.player;
    return h('div', { class: 'page narrow' },
      h('h1', {}, player ? player.name : t('account.title')),
      player && h('p', {}, t(player.kind === 'guest' ? 'account.is-guest' : 'account.is-account'), ' ', h('a', { href: `/players/${player.id}` }, t('account.played'))),
      !player && this.#form('guest', t('account.become-guest'), [['name', 'text', 'nickname', t('home.your-name'), anyName()]], ({ name }) => api.becomeGuest(name), t('account.come-in')),
      !player && this.#form('sign-in', t('account.sign-in'), [['name', 'text', 'username', t('account.name')], ['password', 'password', 'current-password', t('account.password')]], ({ name, password }) => api.signIn(name, password), t('account.sign-in')),
      player?.kind === 'guest' && this.#form('credential', t('account.keep'), [['name', 'text', 'username', t('account.name'), player.name], ['password', 'password', 'new-password', t('account.password')]], ({ name, password }) => api.addCredential(name, password), t('account.become-account')),
      player && player.kind !== 'guest' && this.#form('password', t('account.new-password'), [['current', 'password', 'current-password', t('account.current-password')], ['password', 'password', 'new-password', t('account.new-password')]], ({ current, password }) => api.changePassword(current, password), t('account.change')),
      player && h('div', { class: 'buttons' }, h('button', { type: 'button', disabled: this.busy, onclick: () => this.#leave() }, t('account.log-out'))),
      player?.kind === 'guest' && h('p', { class: 'quiet' }, t('account.guest-warning')));
  }

  #form(id, title, fields, act, text) {
    return h('form', {
      key: id, class: 'form card-sheet', 'aria-labelledby': `form-${id}`,
      onsubmit: async (event) => {
        event.preventDefault();
        const form = event.target;
        const done = await this.doing(async () => {
          await act(Object.fromEntries(new FormData(form)));
          return true;
        });
        if (!done) return;
        say(t('account.done'));
        if (id === 'guest' || id === 'sign-in') go('/');
        else form.reset();
      },
    },
    h('h2', { id: `form-${id}` }, title),
    fields.map(([name, type, autocomplete, label, value]) => h('label', {}, label,
      h('input', { name, type, autocomplete, required: true, maxlength: type === 'password' ? 256 : 24, ref: (input) => { if (value) input.value = value; } }))),
    h('div', { class: 'buttons' }, h('button', { type: 'submit', class: 'primary', disabled: this.busy }, text)));
  }

  #leave() {
    return this.doing(async () => {
      await api.logOut();
      go('/');
    });
  }
}

customElements.define('page-account', AccountPage);
