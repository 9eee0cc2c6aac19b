/** The beginning: the language, then the frame around every page. */

import { loadLanguage } from './i18n.js';
import { followLinks, route } from './router.js';
import { applyTheme } from './theme.js';

applyTheme();
followLinks();
// The first page comes on its way while the language does.
const first = route(location.pathname)?.load().catch(() => null);
await loadLanguage();
await first;
await import('./frame.js');
