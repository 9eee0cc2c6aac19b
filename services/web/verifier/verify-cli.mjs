#!/usr/bin/env node
/**
 * node services/web/verifier/verify-cli.mjs FILE [--key KEY] [--json]
 *
 * FILE is a record, - for standard input; KEY the service's public key, known from elsewhere: base64url, or the path of
 * a saved /.well-known/jwks.json. Exit code 0: sound; 1: not sound; 2: the file or the key cannot be read, or this Node
 * lacks what a check needs.
 */

import { createReadStream, existsSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";

import { verify } from "./macao-verify.js";

const SOUND = 0;
const NOT_SOUND = 1;
const UNREADABLE = 2;

async function main() {
  let file;
  let options;
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { key: { type: "string" }, json: { type: "boolean", default: false } },
    });
    if (positionals.length !== 1) throw new Error("give one file, or - for standard input");
    [file] = positionals;
    options = values;
  } catch (error) {
    return unreadable(error.message);
  }
  let verdict;
  try {
    const source = file === "-" ? process.stdin : createReadStream(file);
    verdict = await verify(source, { keys: options.key === undefined ? null : readKey(options.key) });
  } catch (error) {
    return unreadable(error.message);
  }
  if (verdict.header === null && verdict.events === 0 && verdict.checkable) {
    return unreadable(`${file} is not the record of a match`);
  }
  console.log(options.json ? JSON.stringify(verdict, null, 2) : describe(verdict));
  if (verdict.sound) return SOUND;
  return verdict.checkable ? NOT_SOUND : UNREADABLE;
}

function readKey(given) {
  if (!existsSync(given)) return given;
  try {
    return JSON.parse(readFileSync(given, "utf8")) ?? "";
  } catch {
    throw new Error(`${given} holds no keys: give base64url, or the path of a saved /.well-known/jwks.json`);
  }
}

function describe(verdict) {
  const lines = [headline(verdict)];
  for (const { version, check, words } of verdict.findings) {
    lines.push(`  ${version === null ? "" : `version ${version}, `}${check}: ${words}`);
  }
  if (verdict.more_findings) lines.push("  … and more");
  return lines.join("\n");
}

function headline(verdict) {
  const { events, commands, draws, seals } = verdict;
  if (verdict.sound) {
    const counts = `${events} events, ${commands} commands, ${draws} draws and ${seals} seals are as they must be`;
    const key = verdict.key_known ? "" : "\n  The key is known from the record alone: give --key to know who signed.";
    return `Sound: ${counts}. Whether the rules were kept is for \`macao verify\` to say.${key}`;
  }
  if (!verdict.checkable) return "Not everything could be checked:";
  const place = verdict.first_bad_version === null ? "" : `: it goes wrong at version ${verdict.first_bad_version}`;
  return `Not sound${place}.`;
}

function unreadable(problem) {
  console.error(`macao-verify: ${problem}`);
  return UNREADABLE;
}

process.exitCode = await main();
