/** Light or dark: chosen by hand, or else by the system. */

const KEY = 'macao.theme';
export const THEMES = ['system', 'light', 'dark'];

export const theme = () => (THEMES.includes(localStorage.getItem(KEY)) ? localStorage.getItem(KEY) : 'system');

export function setTheme(wanted) {
  localStorage.setItem(KEY, wanted);
  applyTheme();
}

export function applyTheme() {
  document.documentElement.dataset.theme = theme();
}
