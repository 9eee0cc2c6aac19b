/**
 * The public API, and the only place that speaks it.
 *
 * A write carries an idempotency key, and is repeated with the same key when no answer came. A token that has run out is
 * replaced. What the service refuses is thrown as a `Problem`.
 */

import { follow } from './events.js';
import { alone, forget, keep, keepPlayer, session } from './session.js';

const ATTEMPTS = 4;
const REFRESH_BEFORE_MS = 60_000;

/** A refusal (RFC 9457): `code` is stable; `clause`, `params` and `legal` are there where they apply. */
export class Problem extends Error {
  constructor(status, document) {
    super(document.title ?? 'The service does not answer');
    this.status = status;
    this.code = document.code ?? 'unavailable';
    this.title = document.title ?? '';
    this.detail = document.detail ?? '';
    this.clause = document.clause ?? null;
    this.params = document.params ?? {};
    this.legal = document.legal ?? null;
  }
}

const at = (strings, ...values) =>
  strings.reduce((path, part, index) => path + encodeURIComponent(values[index - 1]) + part);

// Games and rules

let games;
export const listGames = () => (games ??= read('/v1/games').then((page) => page.items));
export const getGame = async (game) => (await listGames()).find((one) => one.game === game) ?? null;
export const getRules = (game) => read(at`/v1/games/${game}/rules`, { as: 'text' });

// Players

export async function becomeGuest(name) {
  const made = await write('POST', '/v1/players', { name }, { anonymous: true });
  keep(made);
  return made.player;
}

/** Return who plays here; somebody without a session becomes a guest. */
export async function ensurePlayer(name) {
  return session()?.player ?? becomeGuest(name);
}

export async function signIn(name, password) {
  keep(await write('POST', '/v1/tokens', { name, password }, { anonymous: true }));
}

export async function addCredential(name, password) {
  keepPlayer(await write('POST', '/v1/players/me/credential', { name, password }));
}

export const changePassword = (current, password) => write('PUT', '/v1/players/me/password', { current, password });

export async function logOut() {
  await write('DELETE', '/v1/tokens/current').catch(() => null);
  forget();
}

// Tables

export const getTable = (table) => read(at`/v1/tables/${table}`);
export const openTable = (wanted) => write('POST', '/v1/tables', wanted);
export const changeTable = (table, wanted) => write('PATCH', at`/v1/tables/${table}`, wanted);
export const joinTable = (table, wanted) => write('POST', at`/v1/tables/${table}/join`, wanted);
export const leaveTable = (table) => write('POST', at`/v1/tables/${table}/leave`);
export const seatBot = (table, level) => write('POST', at`/v1/tables/${table}/bots`, { level });
export const freeSeat = (table, seat) => write('DELETE', at`/v1/tables/${table}/seats/${seat}`);
export const giveSeed = (table, seed) => write('PUT', at`/v1/tables/${table}/seed`, { seed });
export const startTable = (table) => write('POST', at`/v1/tables/${table}/start`);
export const quickMatch = (game) => write('POST', '/v1/quick-match', { game });
export const followTable = (table, told) => stream(at`/v1/tables/${table}/stream`, told);
export const followLobby = (told) => stream('/v1/lobby/stream', told, { anonymous: true });

// Matches

export const getMatch = (match) => read(at`/v1/matches/${match}`);
export const getState = (match, version) => read(at`/v1/matches/${match}/state?at=${version}`);
export const followMatch = (match, told) => stream(at`/v1/matches/${match}/stream`, told);
export const move = (match, version, wanted) =>
  write('POST', at`/v1/matches/${match}/moves`, { move: wanted }, { headers: { 'If-Match': `"${version}"` } });

/** Return all events of a match up to now. */
export async function listEvents(match) {
  const events = [];
  let after = 0;
  while (after !== null) {
    const page = await read(at`/v1/matches/${match}/events?limit=1000&after=${after}`);
    events.push(...page.items);
    after = page.next;
  }
  return events;
}

export const getRecord = (match) => read(at`/v1/matches/${match}/record`, { as: 'text' });
export const getAudit = (match) => read(at`/v1/matches/${match}/audit`);
export const getKeys = () => read('/.well-known/jwks.json');

// Disputes

export const listDisputes = (match) => read(at`/v1/matches/${match}/disputes`);
export const openDispute = (match, complaint) => write('POST', at`/v1/matches/${match}/disputes`, complaint);
export const withdrawDispute = (dispute) => write('POST', at`/v1/disputes/${dispute}/withdraw`);
export const ruleOnDispute = (dispute, ruling) => write('POST', at`/v1/disputes/${dispute}/ruling`, ruling);
export const getCase = (dispute) => read(at`/v1/disputes/${dispute}/case`, { as: 'text', headers: { Accept: 'text/markdown' } });

// Boards

export const getLeaderboard = (game, cursor = null) => read(paged(at`/v1/leaderboards/${game}`, cursor));
export const getStanding = (game, player) => read(at`/v1/leaderboards/${game}/players/${player}`);
export const listMatchesOf = (player, cursor = null) => read(paged(at`/v1/players/${player}/matches`, cursor));
export const getStatistics = (player) => read(at`/v1/players/${player}/stats`);

function paged(path, cursor) {
  return cursor === null ? path : `${path}?cursor=${encodeURIComponent(cursor)}`;
}

// How requests are made

const read = (path, options = {}) => request('GET', path, options);

function write(method, path, body, options = {}) {
  const headers = { 'Idempotency-Key': newKey(), ...options.headers };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  return request(method, path, { ...options, headers, body: body === undefined ? undefined : JSON.stringify(body) });
}

async function request(method, path, { body, headers = {}, as = 'json', anonymous = false }) {
  let renewed = false;
  for (let attempt = 1; ; attempt += 1) {
    const authorization = anonymous ? {} : await authorized(renewed);
    let answer;
    try {
      answer = await fetch(path, { method, body, headers: { ...headers, ...authorization } });
    } catch {
      answer = null;
    }
    if (answer?.ok) return answer.status === 204 ? null : answer[as]();
    const problem = new Problem(answer?.status ?? 0, answer === null ? {} : await answer.json().catch(() => ({})));
    if (problem.status === 401 && authorization.Authorization && !renewed) {
      renewed = true;
    } else if (attempt < ATTEMPTS && (problem.status === 0 || problem.status === 503)) {
      await pause(250 * 2 ** attempt);
    } else {
      throw problem;
    }
  }
}

/** Return the header that says who asks, with a token that still holds for a while. */
async function authorized(renew = false) {
  const held = session();
  if (held === null) return {};
  if (!renew && held.expires_at_ms - Date.now() > REFRESH_BEFORE_MS) return { Authorization: `Bearer ${held.token}` };
  await alone(async () => {
    const now = session();
    if (now === null || now.token !== held.token) return; // another window was faster
    const answer = await fetch('/v1/tokens/refresh', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ refresh_token: now.refresh_token }),
    }).catch(() => null);
    if (answer?.ok) keep(await answer.json());
    else if (answer?.status === 401) forget();
  });
  const fresh = session();
  return fresh === null ? {} : { Authorization: `Bearer ${fresh.token}` };
}

function stream(path, told, { anonymous = false } = {}) {
  return follow(path, { ...told, headers: anonymous ? async () => ({}) : authorized });
}

function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

const pause = (ms) => new Promise((resume) => setTimeout(resume, ms));
