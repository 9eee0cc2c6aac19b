/** Which address shows which page; pages are loaded when they are first needed. */

const ROUTES = [
  ['/', 'home', () => import('./pages/home.js')],
  ['/new/:game', 'new-table', () => import('./pages/new-table.js')],
  ['/tables/:table', 'table', () => import('./pages/table.js')],
  ['/matches/:match', 'match', () => import('./pages/match.js')],
  ['/matches/:match/replay', 'replay', () => import('./pages/replay.js')],
  ['/matches/:match/audit', 'audit', () => import('./pages/audit.js')],
  ['/audit', 'audit', () => import('./pages/audit.js')],
  ['/leaderboards', 'leaderboards', () => import('./pages/leaderboards.js')],
  ['/leaderboards/:game', 'leaderboards', () => import('./pages/leaderboards.js')],
  ['/players/:player', 'player', () => import('./pages/player.js')],
  ['/rules', 'rules', () => import('./pages/rules.js')],
  ['/rules/:game', 'rules', () => import('./pages/rules.js')],
  ['/account', 'account', () => import('./pages/account.js')],
].map(([path, page, load]) => ({ names: path.split('/'), page, load }));

/** Return `{page, params, load}` for a path, or null. `page` is the name of its element without `page-`. */
export function route(path) {
  const parts = path.replace(/(.)\/$/, '$1').split('/');
  for (const { names, page, load } of ROUTES) {
    if (names.length !== parts.length) continue;
    const params = {};
    const fits = names.every((name, index) => {
      if (!name.startsWith(':')) return name === parts[index];
      params[name.slice(1)] = decodeURIComponent(parts[index]);
      return parts[index] !== '';
    });
    if (fits) return { page, params, load };
  }
  return null;
}

/** Go to another page of these; `state` is what it finds in `history.state`. */
export function go(address, { replace = false, state = null } = {}) {
  if (replace) history.replaceState(state, '', address);
  else history.pushState(state, '', address);
  dispatchEvent(new Event('macao:address'));
}

/** Change the address without leaving the page. */
export function show(address) {
  history.replaceState(null, '', address);
}

/** Let links to pages be followed without loading everything anew. */
export function followLinks() {
  addEventListener('popstate', () => dispatchEvent(new Event('macao:address')));
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target.closest?.('a[href]');
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
    const here = link.pathname === location.pathname && link.search === location.search;
    if (route(link.pathname) === null || (here && link.hash)) return;
    event.preventDefault();
    go(link.pathname + link.search + link.hash);
  });
}
