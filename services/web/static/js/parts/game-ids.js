/** The games, in the order in which they are shown. */
export const GAME_IDS = ['cards-places', 'dice-race', 'cards-points', 'dice-bank', 'cards-bank'];
