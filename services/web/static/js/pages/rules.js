import { Page } from '../parts/page.js';
class RulesPage extends Page {}
customElements.define('page-rules', RulesPage);
