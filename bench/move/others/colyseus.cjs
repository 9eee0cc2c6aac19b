// A Colyseus server with one kind of room: `node colyseus.cjs PORT`. A room plays one race after another, so that there
// are never more rooms than matches at a time.
'use strict';

const { randomInt } = require('node:crypto');
const { Room, Server } = require('@colyseus/core');
const { schema, t } = require('@colyseus/schema');
const { WebSocketTransport } = require('@colyseus/ws-transport');
const race = require('./race.cjs');

const CHIPS_TO_WIN = 20;

const Shown = schema({ turn: t.uint8(), total: t.uint8(), chips: t.array('uint8') }, 'Shown');

class RaceRoom extends Room {
  onCreate({ seats }) {
    this.maxClients = seats;
    this.seatOf = new Map();
    this.race = race.begin(seats, CHIPS_TO_WIN);
    this.setState(new Shown());
    this.show();
    this.onMessage('move', (client, move) => this.move(client, move));
  }

  onJoin(client) {
    this.seatOf.set(client.sessionId, this.seatOf.size);
  }

  move(client, move) {
    const seat = this.seatOf.get(client.sessionId);
    const code = race.refusal(this.race, seat, move.type);
    if (code !== null) {
      client.send('refused', { code });
      return;
    }
    const die = move.type === 'roll' ? randomInt(1, 7) : 0;
    if (move.type === 'roll') race.roll(this.race, die);
    else race.stand(this.race);
    this.show();
    const told = { seat, die, turn: this.race.turn, total: this.race.total };
    client.send('answer', told);
    this.broadcast('moved', told, { except: client });
    if (this.race.winners.length > 0) this.race = race.begin(this.race.seats, CHIPS_TO_WIN);
  }

  // Clients get the state as Colyseus sends it: what has changed, twenty times a second.
  show() {
    this.state.turn = this.race.turn;
    this.state.total = this.race.total;
    this.race.chips.forEach((chips, seat) => {
      if (this.state.chips[seat] !== chips) this.state.chips[seat] = chips;
    });
  }
}

const server = new Server({ transport: new WebSocketTransport({}), greet: false });
server.define('race', RaceRoom);
server.listen(Number(process.argv[2]), '127.0.0.1');
