/** Which module draws which game. */

import * as banking from './banking.js';
import * as dice from './dice.js';
import * as shedding from './shedding.js';

const GAMES = {
  'dice-race': dice,
  'dice-bank': dice,
  'cards-bank': banking,
  'cards-points': shedding,
  'cards-places': shedding,
};

export const drawingOf = (game) => GAMES[game];
