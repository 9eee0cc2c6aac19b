import { Page } from '../parts/page.js';
class AuditPage extends Page {}
customElements.define('page-audit', AuditPage);
