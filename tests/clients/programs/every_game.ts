// A program on the generated TypeScript clients: two guests play a whole match of every game against each other.
//
// The test compiles it together with the types, runs it against a service (its address is the argument), and reads the
// JSON that it prints: for each game the match, its last version and the places.

import { randomUUID } from "node:crypto";

import createClient from "openapi-fetch";

import type { components, paths as EnginePaths } from "./engine.d.ts";
import type { paths as LobbyPaths } from "./lobby.d.ts";
import type { paths as ProjectionsPaths } from "./projections.d.ts";

type Schemas = components["schemas"];
type MatchView = Schemas["MatchView"];

const MOVES_MAX = 5_000;
const SHORT: Record<string, Record<string, number>> = {
  "dice-race": { chips_to_win: 1 },
  "dice-bank": { laps: 1 },
  "cards-bank": { coups: 2 },
  "cards-points": { loss_limit: 200 },
};

const server = process.argv[2] ?? "";

/** Return what an answer holds, or throw the problem that it is. */
function good<Data>(answer: { data?: Data; error?: { code: string; detail: string } }): Data {
  if (answer.data === undefined) throw new Error(`${answer.error?.code}: ${answer.error?.detail}`);
  return answer.data;
}

const key = () => ({ "Idempotency-Key": randomUUID() });

/** A player, with a client of each service under the own token. */
async function seat(name: string) {
  const made = good(await createClient<LobbyPaths>({ baseUrl: server }).POST("/v1/players", { body: { name } }));
  const options = { baseUrl: server, headers: { Authorization: `Bearer ${made.token}` } };
  return { id: made.player.id, lobby: createClient<LobbyPaths>(options), engine: createClient<EnginePaths>(options) };
}

/** Choose a move: lay cards where that is possible, of a stake the largest, and anything else by chance. */
function choose(legal: Schemas["LegalMove"][]): Schemas["Move"] {
  const plays = legal.filter((move) => move.type === "play");
  const some = plays.length > 0 ? plays : legal;
  const move = some[Math.floor(Math.random() * some.length)];
  if (move === undefined) return { type: "leave" };
  return move.type === "stake" ? { type: "stake", amount: move.max } : move;
}

/** Play a match of a game, and return its last view. */
async function play(game: string): Promise<MatchView> {
  const [host, guest] = [await seat("Typed One"), await seat("Typed Two")];
  const opened = await host.lobby.POST("/v1/tables", {
    body: { game, seats: 2, options: SHORT[game] ?? {}, turn_seconds: null },
    params: { header: key() },
  });
  const path = { table_id: good(opened).id };
  good(await guest.lobby.POST("/v1/tables/{table_id}/join", { body: {}, params: { path, header: key() } }));
  const started = await host.lobby.POST("/v1/tables/{table_id}/start", { params: { path, header: key() } });
  const params = { path: { match_id: good(started).match_id } };
  for (let moves = 0; moves < MOVES_MAX; moves++) {
    const view = good(await host.engine.GET("/v1/matches/{match_id}", { params }));
    if (view.status !== "running") return view;
    const { engine } = view.turn === 0 ? host : guest;
    const own = good(await engine.GET("/v1/matches/{match_id}", { params }));
    const header = { ...key(), "If-Match": `"${own.version}"` };
    const body = { move: choose(own.legal) };
    good(await engine.POST("/v1/matches/{match_id}/moves", { body, params: { ...params, header } }));
  }
  throw new Error(`${game} does not end`);
}

/** What a position shows differs by game, and the compiler knows it. */
export function shown({ view }: MatchView): unknown {
  // @ts-expect-error Not every game has a pile.
  const nowhere = view.pile;
  if (view.game === "cards-places") return view.pile;
  // @ts-expect-error There is no such game.
  if (view.game === "chess") return nowhere;
  // @ts-expect-error A stake is an amount, not its range.
  const wrong: Schemas["Move"] = { type: "stake", min: 1, max: 2 };
  return wrong;
}

const ended: Record<string, object> = {};
const games = good(await createClient<EnginePaths>({ baseUrl: server }).GET("/v1/games"));
for (const { game } of games.items) {
  const view = await play(game);
  ended[game] = { match: view.id, version: view.version, places: view.places, position: view.view.game };
}
good(await createClient<ProjectionsPaths>({ baseUrl: server }).GET("/v1/lobby"));
console.log(JSON.stringify(ended));
