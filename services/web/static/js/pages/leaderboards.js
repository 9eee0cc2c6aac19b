import { Page } from '../parts/page.js';
class LeaderboardsPage extends Page {}
customElements.define('page-leaderboards', LeaderboardsPage);
