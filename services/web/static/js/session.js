/** Who plays in this browser: the player and its tokens, shared by all its windows. */

const KEY = 'macao.session';
const LOCK = 'macao.session';

/** Return `{player: {id, name, kind}, token, refresh_token, expires_at_ms}`, or null for a stranger. */
export function session() {
  try {
    return JSON.parse(localStorage.getItem(KEY));
  } catch {
    return null;
  }
}

export const playerId = () => session()?.player.id ?? null;

/** What the session may do besides playing, as its token says; the service alone decides. */
export function mayAudit() {
  try {
    const claims = JSON.parse(atob(session().token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/')));
    return claims.scope.split(' ').includes('audit');
  } catch {
    return false;
  }
}

/** Keep what `POST /v1/players`, `/v1/tokens` and `/v1/tokens/refresh` answered. */
export function keep(issued) {
  const kept = { ...session(), ...issued, expires_at_ms: Date.now() + issued.expires_in * 1000 };
  localStorage.setItem(KEY, JSON.stringify(kept));
  dispatchEvent(new Event('macao:session'));
}

/** Take over a player whose name or kind has changed. */
export function keepPlayer(player) {
  localStorage.setItem(KEY, JSON.stringify({ ...session(), player }));
  dispatchEvent(new Event('macao:session'));
}

export function forget() {
  localStorage.removeItem(KEY);
  dispatchEvent(new Event('macao:session'));
}

/** Do something that only one window of the browser may do at a time: a refresh token is good once. */
export function alone(action) {
  return navigator.locks ? navigator.locks.request(LOCK, action) : action();
}
