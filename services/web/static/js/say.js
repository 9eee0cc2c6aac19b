/** What the page tells its reader by the way: good news and refusals, shown for a while and read out. */

import { Problem } from './api.js';
import { hasText, t } from './i18n.js';

/** Tell something. `kind` is `news` or `refusal`; `href` leads to more. */
export function say(text, { kind = 'news', href = null, link = '' } = {}) {
  dispatchEvent(new CustomEvent('macao:say', { detail: { text, kind, href, link } }));
}

/** Return a refusal in words. */
export function inWords(problem) {
  if (!(problem instanceof Problem)) throw problem;
  if (problem.status === 0) return t('problem.no-answer');
  const known = `problem.${problem.code}`;
  if (hasText(known)) {
    const rule = `problem.${problem.code}.${problem.params.rule}`;
    return hasText(rule) ? t(rule) : t(known);
  }
  return [problem.title, problem.detail].filter(Boolean).join('. ');
}

/** Tell a refusal, with the clause of the rules where it has one. Everything else is thrown on. */
export function sayProblem(error, game = null) {
  if (!(error instanceof Problem)) throw error;
  // Clauses that hold in every game (G1 and on) have no page of their own.
  const href = error.clause?.includes('-') && game ? `/rules/${game}#${error.clause}` : null;
  say(inWords(error), { kind: 'refusal', href, link: error.clause ? t('problem.clause', { clause: error.clause }) : '' });
}
