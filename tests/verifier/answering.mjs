/**
 * The JavaScript verifier, kept running: a question a line on standard input, an answer a line on standard output.
 *
 * {"record": base64, "keys": null or as `verify` takes them, "piece": bytes at a time}  ->  verdict
 * {"call": name of an export, "arguments": […]}                                         ->  what it returns
 * {"operation": [key, op], "call": method, "arguments": […], "times": n}                ->  what the operation gives
 *
 * "throws" in an answer means that the verifier did, which it must not.
 */

import { createInterface } from "node:readline";

import * as verifier from "../../services/web/verifier/macao-verify.js";

async function answer({ record, keys, piece, operation, call, arguments: given, times }) {
  if (operation) {
    const drawing = new verifier.Operation(...operation);
    const drawn = [];
    while (drawn.length < times) drawn.push(await drawing[call](...given));
    return drawn;
  }
  if (call) return verifier[call](...given);
  const told = [];
  const verdict = await verifier.verify(pieces(Buffer.from(record, "base64"), piece ?? Infinity), {
    keys,
    onProgress: (progress) => told.push(progress),
  });
  return { ...verdict, told: summary(told) };
}

function* pieces(bytes, size) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

function summary(told) {
  const events = told.filter(({ kind }) => kind === "event");
  return {
    events: events.length,
    bad_events: events.filter(({ good }) => !good).map(({ version }) => version),
    findings: told.filter(({ kind }) => kind === "finding").length,
    checks: Object.fromEntries(told.filter(({ kind }) => kind === "check").map(({ check, state }) => [check, state])),
  };
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  let said;
  try {
    said = await answer(JSON.parse(line));
  } catch (error) {
    said = { throws: `${error.stack}` };
  }
  process.stdout.write(`${JSON.stringify(said)}\n`);
}
