import { Page } from '../parts/page.js';
class AccountPage extends Page {}
customElements.define('page-account', AccountPage);
