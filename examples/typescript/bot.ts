// A bot for Macao: plays a match of any game against the service's bots, over a network that may fail.
//
//   npm ci && npm run generate        types from the running service: macao.d.ts
//   node bot.ts cards-places sharp    Node 22.18 or newer runs TypeScript as it stands
//
// `choose` is what there is to improve; `npm run check` tells whether it still fits the service.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import createClient from "openapi-fetch";

import type { components, paths } from "./macao.d.ts";

type Schemas = components["schemas"];
type Move = Schemas["Move"];
type LegalMove = Schemas["LegalMove"];
type MatchView = Schemas["MatchView"];

const SERVER = process.env["MACAO_SERVER"] ?? "http://127.0.0.1:8000";
const AGAIN = new Set([429, 500, 502, 503, 504]);
const ATTEMPTS_MAX = 100;
const PAUSE_MS = 200;
const PAUSE_MS_MAX = 5_000;
const ANSWER_MS = 10_000;
const SILENCE_MS = 40_000; // a stream says something every 15 s; one that does not has lost its connection

/** Send a request until it is answered for good. Its idempotency key goes along, so a write is carried out once. */
async function patiently(request: Request): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    let pause = Math.min(PAUSE_MS * 2 ** attempt, PAUSE_MS_MAX);
    try {
      const answer = await fetch(request.clone(), { signal: AbortSignal.timeout(ANSWER_MS) });
      // Read here, so that an answer which breaks off half-way is asked for again as well.
      const whole = new Response(answer.status === 204 ? null : await answer.arrayBuffer(), answer);
      if (!AGAIN.has(answer.status) || attempt === ATTEMPTS_MAX) return whole;
      pause = 1_000 * Number(answer.headers.get("Retry-After") ?? 1);
    } catch (lost) {
      if (attempt === ATTEMPTS_MAX) throw lost;
    }
    await sleep(pause);
  }
}

const macao = createClient<paths>({ baseUrl: SERVER, fetch: patiently });
let token = "";
macao.use({
  onRequest({ request }) {
    if (token) request.headers.set("Authorization", `Bearer ${token}`);
  },
});

/** What goes with a write: a fresh key, which its repetitions share. */
const fresh = () => ({ "Idempotency-Key": randomUUID() });

/** Return what an answer holds, or throw the problem that it is. */
function good<Data>(answer: { data?: Data; error?: Schemas["Problem"] }): Data {
  if (answer.data !== undefined) return answer.data;
  throw new Error(`${answer.error?.code}: ${answer.error?.detail} ${answer.error?.advice}`);
}

/** Yield id and type of every event of a match, over as many connections as it takes. */
async function* follow(match: string): AsyncGenerator<{ id: number; event: string }> {
  let lastId = "";
  for (;;) {
    const lost = new AbortController();
    let silence = setTimeout(() => lost.abort(), SILENCE_MS);
    try {
      const answer = await fetch(`${SERVER}/v1/matches/${match}/stream`, {
        headers: { Authorization: `Bearer ${token}`, ...(lastId && { "Last-Event-ID": lastId }) },
        signal: lost.signal,
      });
      let text = "";
      const body = answer.ok && answer.body ? answer.body.pipeThrough(new TextDecoderStream()) : [];
      for await (const chunk of body) {
        clearTimeout(silence);
        silence = setTimeout(() => lost.abort(), SILENCE_MS);
        const blocks = (text += chunk).split("\n\n"); // an empty line ends an event
        text = blocks.pop() ?? "";
        for (const block of blocks) {
          const event = /^event: (.*)$/m.exec(block)?.[1];
          const id = /^id: (.*)$/m.exec(block)?.[1];
          if (event === undefined || id === undefined) continue;
          lastId = id;
          yield { id: Number(id), event };
        }
      }
    } catch {
      // Cut off: from the last event on, once more.
    } finally {
      clearTimeout(silence);
      lost.abort();
    }
    await sleep(PAUSE_MS);
  }
}

/** Choose one of the legal moves, of which there is at least one. */
function choose({ legal, view, your_seat }: MatchView & { your_seat: number }): Move {
  const find = <Type extends LegalMove["type"]>(type: Type) =>
    legal.find((move): move is Extract<LegalMove, { type: Type }> => move.type === type);

  const stake = find("stake"); // offered as its range
  if (stake) return { type: "stake", amount: stake.min };
  switch (view.game) {
    case "dice-race":
      return find("stand") && view.total > view.target - 4 ? { type: "stand" } : { type: "roll" };
    case "dice-bank": {
      const total = view.players[your_seat]?.total ?? 0;
      return find("stand") && total > view.target - 4 ? { type: "stand" } : { type: "roll" };
    }
    case "cards-bank":
      return (view.players[your_seat]?.total ?? 0) <= 4 ? { type: "ask" } : { type: "stand" };
    case "cards-points":
    case "cards-places": {
      // The word first, then somebody who has not said it, then as many cards as can go.
      const urgent = find("call") ?? find("catch");
      if (urgent) return urgent;
      const plays = legal.filter((move) => move.type === "play");
      const best = plays.sort((one, other) => other.cards.length - one.cards.length)[0];
      return best ?? find("take") ?? find("draw") ?? find("pass") ?? find("sit-out") ?? { type: "leave" };
    }
  }
}

/** Play a match to its end, and return its last view. */
async function play(match: string): Promise<MatchView> {
  const path = { match_id: match };
  const look = async () => good(await macao.GET("/v1/matches/{match_id}", { params: { path } }));
  let seen = 0;
  for await (const { id, event } of follow(match)) {
    if (id <= seen && event !== "snapshot") continue; // one command leads to several events; the view knew them all
    let view = await look();
    while (view.legal.length > 0 && view.your_seat !== null) {
      const answer = await macao.POST("/v1/matches/{match_id}/moves", {
        params: { path, header: { ...fresh(), "If-Match": `"${view.version}"` } },
        body: { move: choose({ ...view, your_seat: view.your_seat }) },
      });
      // 409 and 412: somebody was faster, and the match has moved on.
      if (![409, 412].includes(answer.response.status)) good(answer);
      view = await look();
    }
    if (view.status !== "running") return view;
    seen = view.version;
  }
  throw new Error("a stream does not end before its match");
}

const [game = "dice-race", level = "casual"] = process.argv.slice(2);
if (level !== "casual" && level !== "sharp") throw new Error("the level is casual or sharp");

token = good(await macao.POST("/v1/players", { body: { name: "Typed Bot" }, params: { header: fresh() } })).token;
const table = good(await macao.POST("/v1/tables", { body: { game, seats: 2 }, params: { header: fresh() } })).id;
const params = { path: { table_id: table }, header: fresh() };
good(await macao.POST("/v1/tables/{table_id}/bots", { body: { level }, params }));
const started = await macao.POST("/v1/tables/{table_id}/start", { params: { ...params, header: fresh() } });
const match = good(started).match_id;
console.log(`Playing ${match}`);
const last = await play(match);
console.log(`Place ${last.places?.[last.your_seat ?? 0]} of ${last.seats.length} in ${last.version} events`);
