// The race that the other servers play: one die, as near to nine as you dare. It is ours cut down to what all of them
// can have: roll or stand in turn, a chip for the best of each round, the first with enough chips has won.
'use strict';

const BEST = 9;

function begin(seats, chipsToWin) {
  return { seats, chipsToWin, turn: 0, total: 0, totals: [], chips: Array(seats).fill(0), winners: [] };
}

// Say why a move is refused, or null.
function refusal(race, seat, type) {
  if (race.winners.length > 0) return 'match-over';
  if (seat !== race.turn) return 'not-your-turn';
  if (type === 'stand') return race.total === 0 ? 'must-roll-first' : null;
  return type === 'roll' ? null : 'malformed-request';
}

// Change the race in place by a roll; say whether the turn has ended with it.
function roll(race, die) {
  race.total += die;
  if (race.total > BEST) return endTurn(race, 0);
  return false;
}

function stand(race) {
  return endTurn(race, race.total);
}

function endTurn(race, total) {
  race.totals.push(total);
  race.total = 0;
  race.turn = (race.turn + 1) % race.seats;
  if (race.turn === 0) endRound(race);
  return true;
}

function endRound(race) {
  const best = Math.max(...race.totals);
  race.totals.forEach((total, seat) => {
    if (total === best && best > 0) race.chips[seat] += 1;
  });
  race.totals = [];
  if (race.chips.some((chips) => chips >= race.chipsToWin)) {
    const most = Math.max(...race.chips);
    race.winners = race.chips.flatMap((chips, seat) => (chips === most ? [seat] : []));
  }
}

module.exports = { begin, refusal, roll, stand };
