/** The way from a table to the match that has just been asked for. */

import { go } from '../router.js';

const BEGINS_MS = 400;

/**
 * Go to a match that a table names. The table names it before the engine has begun it, so there is a moment to wait, and
 * the page of the match knows that it may have to wait longer.
 */
export function awaitMatch(match, signal, options = {}) {
  setTimeout(() => {
    if (!signal.aborted) go(`/matches/${match}`, { ...options, state: { awaited: true } });
  }, BEGINS_MS);
}
