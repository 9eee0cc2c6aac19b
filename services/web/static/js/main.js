/** The beginning: the language, then the frame around every page. */

import { loadLanguage } from './i18n.js';
import { followLinks } from './router.js';
import { applyTheme } from './theme.js';

applyTheme();
await loadLanguage();
followLinks();
await import('./frame.js');
