import { Page } from '../parts/page.js';
class PlayerPage extends Page {}
customElements.define('page-player', PlayerPage);
