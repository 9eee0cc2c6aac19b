// boardgame.io's own server with its storage in memory: `node boardgame.cjs PORT`.
'use strict';

const { Server } = require('boardgame.io/server');
const { INVALID_MOVE } = require('boardgame.io/core');
const race = require('./race.cjs');

const CHIPS_TO_WIN = 3;

function played(change) {
  return ({ G, playerID, events, random }, ...rest) => {
    const type = change === race.stand ? 'stand' : 'roll';
    if (race.refusal(G, Number(playerID), type) !== null) return INVALID_MOVE;
    if (change(G, random, ...rest)) events.endTurn();
    return undefined;
  };
}

const game = {
  name: 'race',
  disableUndo: true, // nobody takes a move back here, and what undoing needs is not kept
  setup: ({ ctx }) => race.begin(ctx.numPlayers, CHIPS_TO_WIN),
  moves: {
    roll: played((G, random) => race.roll(G, random.D6())),
    stand: played(race.stand),
  },
  endIf: ({ G }) => (G.winners.length > 0 ? { winners: G.winners } : undefined),
};

// The port is handed to Node's `listen` as it is: so the server keeps to this machine.
Server({ games: [game], origins: [] }).run({ port: { port: Number(process.argv[2]), host: '127.0.0.1' } });
