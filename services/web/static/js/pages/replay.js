import { Page } from '../parts/page.js';
class ReplayPage extends Page {}
customElements.define('page-replay', ReplayPage);
