/**
 * The language of the interface: chosen by hand, or else by the browser.
 *
 * Each language is one module of texts in `texts/`, all with the same keys. `{name}` in a text is filled in; a text that
 * depends on a number is an object of the language's plural forms, chosen by `n`.
 */

export const LANGUAGES = { en: 'English', ro: 'Română', it: 'Italiano', ru: 'Русский', nb: 'Norsk' };
const KEY = 'macao.language';
const ALIKE = { no: 'nb', nn: 'nb', mo: 'ro' };

let texts = {};
let plurals = new Intl.PluralRules('en');
let current = 'en';

export const language = () => current;

/** Load the language of the page; call it before the first text is asked for. */
export async function loadLanguage(wanted = chosen()) {
  texts = (await import(`./texts/${wanted}.js`)).default;
  current = wanted;
  plurals = new Intl.PluralRules(wanted);
  document.documentElement.lang = wanted;
}

/** Change the language by hand. */
export async function setLanguage(wanted) {
  localStorage.setItem(KEY, wanted);
  await loadLanguage(wanted);
  dispatchEvent(new Event('macao:language'));
}

/** Return a text with its places filled in. */
export function t(key, values = {}) {
  let text = texts[key];
  if (text === undefined) return key;
  if (typeof text === 'object') text = text[plurals.select(values.n)] ?? text.other;
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

export const hasText = (key) => key in texts;

/** Return words as a list in a sentence. */
export const listed = (words) => new Intl.ListFormat(current, { type: 'conjunction' }).format(words);
export const number = (value, digits = 0) =>
  new Intl.NumberFormat(current, { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(value);
export const dateTime = (ms) =>
  new Intl.DateTimeFormat(current, { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(ms));

function chosen() {
  const byHand = localStorage.getItem(KEY);
  if (byHand in LANGUAGES) return byHand;
  for (const wanted of navigator.languages) {
    const short = wanted.slice(0, 2).toLowerCase();
    const found = ALIKE[short] ?? short;
    if (found in LANGUAGES) return found;
  }
  return 'en';
}
