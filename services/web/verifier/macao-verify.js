/**
 * Is the record of a match whole and true? A second verifier, written from docs/record.md alone.
 *
 * It shares no line with the service, so that a fault in one of the two shows as a difference between both. It runs in
 * a browser and in Node 20 or newer, needs nothing but WebCrypto, and reads a record of any length piece by piece.
 *
 * Checked are form, order, chain, seals, chance, signature and receipt. Whether the players kept to the rules takes the
 * rules as code: `macao verify` and the service's audit decide every move again.
 *
 *     const verdict = await verify(await fetch("/v1/matches/m_…/record"), { keys: await (await fetch(JWKS)).json() });
 *     verdict.sound, verdict.first_bad_version, verdict.findings
 */

export const FORMAT = "macao-record/1";
export const CHAIN = "macao-chain/1";
export const SEAL = "macao-seal/1";
export const FAIRNESS = "macao-fair/1";
export const SIGNATURE = "macao-record-signature/1";

export const LINE_BYTES_MAX = 1 << 20;
export const LINES_MAX = 1_000_000;
/** So many findings are kept; a record with more is told to have more. */
export const FINDINGS_MAX = 100;
/** How many lines are hashed side by side. */
const BATCH_LINES = 256;
/** How far back a line is looked for that a later one continues. */
const LOOK_BACK_LINES = 1000;

/** What is checked, in the order in which a page would show it. */
export const CHECKS = ["form", "order", "chain", "seal", "chance", "signature", "receipt"];

/**
 * @typedef {object} Finding
 * @property {string} check    one of CHECKS
 * @property {string} code     what is wrong, for programs
 * @property {?number} version the version that is bad; null for header, closing line and receipt
 * @property {string} words    what is wrong, for people
 */

/**
 * @typedef {object} Verdict
 * @property {boolean} sound           everything was checked, and nothing is wrong
 * @property {boolean} checkable       false if this browser lacks something that a check needs
 * @property {?number} first_bad_version
 * @property {Finding[]} findings      by version, those without one last
 * @property {boolean} more_findings   there were more than FINDINGS_MAX
 * @property {Object<string, string>} checks  for each of CHECKS: good, bad, unchecked or absent
 * @property {?object} header          the header line, if it could be read
 * @property {boolean} key_known       the signature was checked with a key that was given
 * @property {number} events
 * @property {number} commands
 * @property {number} draws            random operations drawn again
 * @property {number} seals            sealed bodies opened
 */

/**
 * Check a record. Never throws, whatever the bytes; it rejects only if the source cannot be read.
 *
 * @param source  string, bytes, Blob, Response, ReadableStream or (async) iterable of bytes
 * @param {object} [options]
 * @param [options.keys]  the service's public keys, known from elsewhere: a JWKS, an object of base64url by key id, or
 *     one key in base64url whatever its id. Without them the key in the record is believed, and key_known is false.
 * @param {function(object): void} [options.onProgress]  called with
 *     `{kind: "event", version, type, good}` for every line between header and closing line,
 *     `{kind: "finding", finding}` for every finding when it is made,
 *     `{kind: "read", bytes, events}` after every batch,
 *     `{kind: "check", check, state}` when a check turns bad, and for each at the end.
 * @returns {Promise<Verdict>}
 */
export async function verify(source, { keys = null, onProgress = () => {} } = {}) {
  const report = new Report(onProgress);
  if (!globalThis.crypto?.subtle) {
    report.unchecked("chain", "webcrypto-missing",
      "this page has no WebCrypto, without which no hash can be computed: open it by https, or in a newer browser");
    return report.verdict(null, {});
  }
  const audit = new Audit(report, readKeys(keys));
  let batch = [];
  let bytes = 0;
  for await (const line of linesOf(source)) {
    batch.push(line);
    bytes += line.length + 1;
    if (batch.length === BATCH_LINES) {
      await audit.take(batch);
      batch = [];
      onProgress({ kind: "read", bytes, events: audit.place });
    }
    if (audit.full) break;
  }
  await audit.take(batch);
  return audit.end();
}

// ---------------------------------------------------------------------------------------------------------------------
// Findings

class Report {
  constructor(onProgress) {
    this.tell = onProgress;
    this.findings = [];
    this.made = 0;
    this.states = Object.fromEntries(CHECKS.map((check) => [check, "good"]));
  }

  add(check, code, version, words) {
    this.state(check, "bad");
    this.made += 1;
    const finding = { check, code, version, words };
    this.tell({ kind: "finding", finding });
    if (this.findings.length < FINDINGS_MAX) {
      this.findings.push(finding);
      return;
    }
    // The first bad version must not be lost among later ones.
    const last = this.findings.reduce((a, b) => (order(a) >= order(b) ? a : b));
    if (order(finding) < order(last)) this.findings[this.findings.indexOf(last)] = finding;
  }

  /** Something cannot be checked here: that is no verdict against the record, and none for it. */
  unchecked(check, code, words) {
    this.state(check, "unchecked");
    this.findings.push({ check, code, version: null, words });
    this.tell({ kind: "finding", finding: this.findings.at(-1) });
  }

  state(check, state) {
    if (this.states[check] === state || this.states[check] === "bad") return;
    this.states[check] = state;
    this.tell({ kind: "check", check, state });
  }

  bad(check) {
    return this.states[check] === "bad";
  }

  verdict(header, counts) {
    const findings = [...this.findings].sort((a, b) => order(a) - order(b));
    const first = findings.length ? findings[0].version : null;
    for (const check of CHECKS) this.tell({ kind: "check", check, state: this.states[check] });
    return {
      sound: findings.length === 0,
      checkable: !Object.values(this.states).includes("unchecked"),
      first_bad_version: first,
      findings,
      more_findings: this.made > FINDINGS_MAX,
      checks: this.states,
      header,
      key_known: false,
      events: 0,
      commands: 0,
      draws: 0,
      seals: 0,
      ...counts,
    };
  }
}

const order = (finding) => finding.version ?? Infinity;

// ---------------------------------------------------------------------------------------------------------------------
// The file: bytes into lines

/** Yield lines without their line feeds, as bytes; the last one only after its line feed, or with `cut` set. */
async function* linesOf(source) {
  let kept = [];
  let keptBytes = 0;
  for await (const chunk of chunksOf(source)) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      yield join(kept, chunk.subarray(start, end));
      kept = [];
      keptBytes = 0;
      start = end + 1;
    }
    // Of a line that is too long no more is kept than shows that it is.
    if (start < chunk.length && keptBytes <= LINE_BYTES_MAX) {
      kept.push(chunk.slice(start, start + LINE_BYTES_MAX + 1));
      keptBytes += kept.at(-1).length;
    }
  }
  if (keptBytes) {
    const line = join(kept, new Uint8Array());
    line.cut = true;
    yield line;
  }
}

function join(kept, last) {
  if (!kept.length) return last.slice();
  const whole = new Uint8Array(kept.reduce((sum, part) => sum + part.length, last.length));
  let at = 0;
  for (const part of [...kept, last]) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

async function* chunksOf(source) {
  if (typeof source === "string") yield ENCODER.encode(source);
  else if (source instanceof ArrayBuffer) yield new Uint8Array(source);
  else if (ArrayBuffer.isView(source)) yield new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  else if (typeof source.getReader === "function") yield* readerChunks(source.getReader());
  else if (typeof source.stream === "function") yield* chunksOf(source.stream());
  else if (source.body && typeof source.body.getReader === "function") yield* chunksOf(source.body);
  else for await (const chunk of source) yield* chunksOf(chunk);
}

// Not every browser lets a stream be walked with `for await`.
async function* readerChunks(reader) {
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
  } finally {
    reader.releaseLock();
  }
}

const ENCODER = new TextEncoder();
// A byte order mark is not swallowed: it belongs in no record.
const DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

// ---------------------------------------------------------------------------------------------------------------------
// The form of a line

const word = (value) => typeof value === "string" && /^[!-~]{1,200}$/.test(value);
const text = (value) => typeof value === "string" && !/[\ud800-\udfff]/u.test(value);
const number = (value) => Number.isSafeInteger(value) && value >= 0 && !Object.is(value, -0);
const version = (value) => number(value) && value >= 1;
const hex = (digits) => (value) => typeof value === "string" && value.length === digits && /^[0-9a-f]+$/.test(value);
const object = (value) => text(value) && /^\{[^\u0000-\u001f]*\}$/.test(value);
const is = (wanted) => (value) => value === wanted;
const maybe = (form) => (value) => value === null || form(value);
const base64 = (bytes) => (value) => typeof value === "string" && fromBase64url(value)?.length === bytes;
const fields = (table) => (value) => isPlain(value) && Object.keys(value).join() === Object.keys(table).join()
  && Object.entries(table).every(([name, form]) => form(value[name]));
const list = (form) => (value) => Array.isArray(value) && value.every(form);

const isPlain = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

const SEAT = { player: text, seed: text, bot: maybe(text) };

const LINES = {
  header: {
    line: is("header"), format: is(FORMAT), stream: word, rules: word, seats: list(fields(SEAT)), chain: is(CHAIN),
    seal: is(SEAL), fairness: is(FAIRNESS), signature: is(SIGNATURE), key_id: word, public_key: base64(32),
  },
  event: {
    line: is("event"), version, type: word, schema: version, actor: word, command: word, at_ms: number,
    cause: maybe(object), body: object, sealed: maybe(object), salt: maybe(hex(32)), seal: maybe(hex(64)),
    previous: hex(64), hash: hex(64),
  },
  closing: {
    line: is("closing"), version, hash: hex(64), events: version, key_id: word, signature: base64(64),
    receipt: is(null),
  },
};

/** Return the line that the bytes are, or a sentence that says what is wrong with them. */
function readLine(bytes) {
  if (bytes.length > LINE_BYTES_MAX) return `the line is longer than ${LINE_BYTES_MAX} bytes`;
  let written;
  let line;
  try {
    written = DECODER.decode(bytes);
  } catch {
    return "the line is not UTF-8";
  }
  try {
    line = JSON.parse(written);
  } catch {
    return written === "" ? "the line is empty" : "the line is not JSON";
  }
  const table = isPlain(line) && typeof line.line === "string" && Object.hasOwn(LINES, line.line) && LINES[line.line];
  if (!table) return "the line is no header, no event and no closing line";
  const names = Object.keys(table);
  const odd = Object.keys(line).find((name) => !names.includes(name));
  if (odd !== undefined) return `a line of this kind has no field ${JSON.stringify(odd)}`;
  for (const name of names) {
    if (!Object.hasOwn(line, name)) return `the field ${name} is missing`;
    if (!table[name](line[name])) return `the field ${name} does not have the form that it must have`;
  }
  if (JSON.stringify(line) !== written) return "the line says something that a record holds, but is written in other bytes";
  if (bytes.cut) return "the last line does not end with a line feed";
  return line;
}

/** Return what a body says; null unless it is one JSON object, written in the one way. */
function readObject(written) {
  try {
    const said = JSON.parse(written);
    return isPlain(said) && JSON.stringify(said) === written && !hasLoneSurrogate(written) ? said : null;
  } catch {
    return null;
  }
}

// JSON.stringify writes half a surrogate pair as an escape, so that it comes through unchanged; UTF-8 has none.
const hasLoneSurrogate = (written) => written.includes("\\ud") && /\\ud/.test(written.replaceAll("\\\\", ""));

// ---------------------------------------------------------------------------------------------------------------------
// The audit, line by line

class Audit {
  constructor(report, keys) {
    this.report = report;
    this.keys = keys;
    this.header = null;
    this.headerLine = "";
    this.closing = null;
    this.stream = null; // under which the events are hashed
    this.lines = 0;
    this.place = 0; // how many lines stand where events belong
    this.held = null; // the last line read: it may be the closing one
    this.started = null; // the fact of the first event
    this.expected = 1;
    this.head = "0".repeat(64);
    this.recent = new Map(); // hash -> place, of the last lines
    this.command = null; // the command that is going on: {id, actor, at_ms}
    this.commands = new Set();
    this.atMs = 0;
    this.events = 0;
    this.seals = 0;
    this.chance = new Chance(report);
  }

  get full() {
    return this.lines > LINES_MAX;
  }

  /** Take the next lines, as bytes. The last of them is held back, since it may be the closing line. */
  async take(batch) {
    const read = [];
    for (const bytes of batch) {
      this.lines += 1;
      if (this.full) {
        this.report.add("form", "too-many-lines", null,
          `a record has at most ${LINES_MAX} lines; what follows was not read`);
        break;
      }
      const line = readLine(bytes);
      if (this.lines === 1 && this.takeFirst(line, bytes)) continue;
      if (this.held) read.push(this.held);
      this.held = { line, bytes };
    }
    await this.takeEvents(read.map(({ line }) => line));
  }

  /** Take the first line; false if it is an event, that is if the header is missing. */
  takeFirst(line, bytes) {
    if (line.line === "event") {
      this.report.add("form", "header-missing", null, "the header line is missing");
      return false;
    }
    if (line.line === "header") {
      this.header = line;
      this.headerLine = DECODER.decode(bytes);
    } else {
      const found = typeof line === "string" ? line : "a closing line stands in its place";
      this.report.add("form", "header-missing", null, `the header line is missing or damaged: ${found}`);
    }
    return true;
  }

  async end() {
    if (this.lines === 0) {
      this.report.add("form", "empty", null, "the record is empty");
    } else {
      await this.takeLast();
    }
    this.commands.add(this.command?.id);
    this.commands.delete(undefined);
    const draws = await this.chance.end(this.started);
    const keyKnown = await this.checkSignature();
    this.report.state("receipt", this.closing?.receipt ? "good" : "absent");
    return this.report.verdict(this.header, {
      key_known: keyKnown, events: this.events, commands: this.commands.size, draws, seals: this.seals,
    });
  }

  async takeLast() {
    const { line, bytes } = this.held ?? {};
    if (line?.line === "closing") {
      this.closing = line;
      this.checkClosing(line);
      return;
    }
    if (typeof line === "string" && meansClosing(bytes)) {
      this.report.add("form", "closing-damaged", null, `the closing line is damaged: ${line}`);
      return;
    }
    if (line) await this.takeEvents([line]);
    this.report.add("form", "closing-missing", this.place + 1,
      "the closing line is missing: the end of the record was cut off");
  }

  /** Take lines that stand where events belong, whatever they are. */
  async takeEvents(lines) {
    const events = lines.filter((line) => line.line === "event");
    if (this.stream === null && events.length) await this.chooseStream(events[0]);
    const computed = new Map(await Promise.all(events.map(async (event) => [event, await this.digests(event)])));
    for (const line of lines) {
      this.place += 1;
      const before = this.report.made;
      if (line.line === "event") {
        await this.takeEvent(line, computed.get(line));
      } else {
        const words = typeof line === "string" ? line : `a ${line.line} line stands where an event belongs`;
        this.report.add("form", typeof line === "string" ? "not-a-line" : "misplaced", this.place, words);
      }
      this.report.tell({
        kind: "event", version: this.place, type: line.type ?? null, good: this.report.made === before,
      });
    }
  }

  /** Whoever changes the stream in the header alone should be told of the header, and not of every event. */
  async chooseStream(event) {
    const match = readObject(event.sealed ?? event.body)?.match;
    const claimed = this.header?.stream ?? null;
    this.stream = claimed ?? (word(match) ? match : "-");
    if (word(match) && match !== claimed && (await hashOf(event, match)) === event.hash) this.stream = match;
  }

  async digests(event) {
    const sealed = event.sealed !== null && event.salt !== null;
    const [hash, seal] = await Promise.all([
      hashOf(event, this.stream),
      sealed ? sha256(`${SEAL}\n${event.salt}\n${event.sealed}`) : null,
    ]);
    return { hash, seal };
  }

  async takeEvent(event, computed) {
    this.events += 1;
    const at = this.place;
    this.checkVersion(event, at);
    this.checkChain(event, at, computed.hash);
    this.checkSeal(event, at, computed.seal);
    this.checkCommand(event, at);
    const fact = this.checkFact(event, at);
    if (at === 1) this.checkStart(event, fact);
    if (fact) await this.chance.take(fact, at);
  }

  checkVersion(event, at) {
    if (event.version !== this.expected) {
      this.report.add("order", "version", at,
        `version ${this.expected} ought to stand here, and version ${event.version} does`);
    }
    this.expected = event.version + 1;
  }

  checkChain(event, at, hash) {
    if (hash !== event.hash) {
      this.report.add("chain", "hash", at, "the event's hash is not that of its content: it was changed");
    }
    if (event.previous !== this.head) this.tellOfBreak(event, at);
    this.head = event.hash;
    this.recent.set(event.hash, at);
    if (this.recent.size > LOOK_BACK_LINES) this.recent.delete(this.recent.keys().next().value);
  }

  /** The chain does not go on from the line before. If it goes on from an earlier one, what lies between was put in. */
  tellOfBreak(event, at) {
    const continued = event.previous === "0".repeat(64) ? 0 : this.recent.get(event.previous);
    const copy = this.recent.has(event.hash);
    if (continued === undefined || continued >= at - 1 || copy) {
      this.report.add("chain", "previous", at, "the event does not follow the one before it in the chain");
    } else {
      this.report.add("chain", "inserted", continued + 1,
        `the chain goes on from what stands before this to what stands at place ${at}: what lies between was put in`);
    }
  }

  checkSeal(event, at, seal) {
    const parts = [event.sealed, event.salt, event.seal].filter((part) => part !== null).length;
    if (parts === 0) return;
    if (parts < 3) {
      this.report.add("seal", "seal-incomplete", at, "of seal, salt and sealed body some are there and some are not");
    } else if (seal !== event.seal) {
      this.report.add("seal", "seal", at, "the sealed body is not the one that was committed to while the match ran");
    } else {
      this.seals += 1;
    }
  }

  checkCommand(event, at) {
    if (event.at_ms < this.atMs) {
      this.report.add("order", "time", at, `the time goes back by ${this.atMs - event.at_ms} ms`);
    }
    this.atMs = event.at_ms;
    if (this.command?.id === event.command) {
      const { actor, at_ms } = this.command;
      if (event.actor !== actor) this.report.add("order", "actor", at, "one command has two actors");
      if (event.at_ms !== at_ms) this.report.add("order", "command-time", at, "one command has two times");
      if (event.cause !== null) this.report.add("order", "cause", at, "only the first event of a command has a cause");
      return;
    }
    if (this.command) this.commands.add(this.command.id);
    if (this.commands.has(event.command)) {
      this.report.add("order", "command", at, `the command ${event.command} was over, and stands here again`);
    }
    this.command = { id: event.command, actor: event.actor, at_ms: event.at_ms };
  }

  /** Return what the event says, with what was sealed; null if that cannot be read. */
  checkFact(event, at) {
    const body = readObject(event.body);
    const whole = event.sealed === null ? body : readObject(event.sealed);
    const cause = event.cause === null ? {} : readObject(event.cause);
    for (const [name, said] of Object.entries({ body, sealed: whole, cause })) {
      if (said) continue;
      this.report.add("form", "not-an-object", at, `${name} is not one JSON object, written in the one way`);
      return null;
    }
    if (body.type !== event.type || whole.type !== event.type) {
      this.report.add("form", "type", at, `the line says ${event.type}, and what it holds says something else`);
      return null;
    }
    return whole;
  }

  checkStart(event, fact) {
    if (event.type !== "match-started" || fact === null) {
      if (event.type !== "match-started") {
        this.report.add("order", "start", 1, "a match begins with match-started");
      }
      return;
    }
    this.started = { version: 1, fact };
    const rules = `${fact.game}@${fact.rules_version}`;
    for (const [name, said] of Object.entries({ stream: fact.match, rules, seats: fact.seats })) {
      if (this.header && JSON.stringify(this.header[name]) !== JSON.stringify(said)) {
        this.report.add("form", "header", null, `the header names other ${name} than match-started does`);
      }
    }
  }

  checkClosing(closing) {
    if (closing.version >= this.expected) {
      this.report.add("order", "cut-off", this.place + 1,
        `the closing line names version ${closing.version} as the last, and the record ends before it`);
    } else if (closing.version < this.expected - 1) {
      this.report.add("order", "too-many", closing.version + 1,
        `the closing line names version ${closing.version} as the last, and there are more`);
    } else if (closing.hash !== this.head) {
      this.report.add("chain", "end", null, "the chain does not end with the hash that the closing line names");
    }
    if (closing.events !== this.place) {
      this.report.add("order", "count", null,
        `the closing line counts ${closing.events} events, and there are ${this.place}`);
    }
    if (this.header && closing.key_id !== this.header.key_id) {
      this.report.add("signature", "key-id", null, "header and closing line name different keys");
    }
  }

  /** Return whether a given key was used. */
  async checkSignature() {
    if (!this.header || !this.closing) {
      this.report.add("signature", "signature-missing", null,
        "without a header and a closing line there is no signature to check");
      return false;
    }
    const { key_id: id, public_key: written } = this.header;
    const known = this.keys === null ? written : this.keys(id);
    if (known === undefined) {
      this.report.add("signature", "key-unknown", null, `the key ${id} is not among the keys that were given`);
      return false;
    }
    if (known !== written) {
      this.report.add("signature", "key-other", null,
        `the record was signed with another key than the one that was given for ${id}`);
    }
    const { version: last, hash, events, signature } = this.closing;
    const message = [SIGNATURE, this.headerLine, last, hash, events].join("\n");
    const good = await ed25519Verifies(known, signature, message);
    if (good === null) {
      this.report.unchecked("signature", "signature-not-checkable",
        "signature not checkable in this browser: it has no Ed25519; use a newer one, or `macao verify`");
    } else if (!good) {
      this.report.add("signature", "signature", null,
        "the signature does not fit: the header or the closing line was changed, or somebody else signed");
    }
    return this.keys !== null;
  }
}

/** A damaged last line is taken for the closing line if it begins like one. */
function meansClosing(bytes) {
  const begin = ENCODER.encode('{"line":"closing"');
  return begin.every((byte, at) => bytes[at] === byte);
}

function hashOf(event, stream) {
  return sha256([
    CHAIN, event.previous, stream, event.version, event.type, event.schema, event.actor, event.command, event.at_ms,
    event.seal ?? "-", event.cause ?? "-", event.body,
  ].join("\n"));
}

// ---------------------------------------------------------------------------------------------------------------------
// Chance: macao-fair/1

/** SHA-256 commitment to the service's seed, given in hex. */
export const commitmentOf = (match, seed) => sha256(`${FAIRNESS}:commit:${match}:${seed}`);

/** The match's key, in hex, from the service's seed in hex and the players' seeds in the order of the seats. */
export const matchKey = (match, rules, seeds, seed) => mac(seed, `${FAIRNESS}:match:${match}:${rules}:${seeds.join()}`);

/** The key of a round, in hex, from the match's key in hex. */
export const roundKey = (key, round) => mac(key, `${FAIRNESS}:round:${round}`);

/** The commitment to a round's key. */
export const roundCommitment = (key) => sha256(`${FAIRNESS}:roundcommit:${key}`);

/** The stream of numbers of one random operation. */
export class Operation {
  constructor(key, op) {
    this.key = typeof key === "string" ? hmacKey(key) : key;
    this.op = op;
    this.block = 0;
    this.numbers = [];
  }

  /** Take the next of 32 bits. */
  async next() {
    if (!this.numbers.length) {
      const message = ENCODER.encode(`${FAIRNESS}:op:${this.op}:${this.block}`);
      const block = new DataView(await crypto.subtle.sign("HMAC", await this.key, message));
      this.numbers = Array.from({ length: 8 }, (_, at) => block.getUint32(28 - 4 * at));
      this.block += 1;
    }
    return this.numbers.pop();
  }

  /** Return one of 0 … n−1, each as likely as the others. */
  async uniform(n) {
    const end = 2 ** 32 - (2 ** 32 % n);
    let x = await this.next();
    while (x >= end) x = await this.next();
    return x % n;
  }

  async dice(count) {
    const faces = [];
    for (let thrown = 0; thrown < count; thrown += 1) faces.push(1 + (await this.uniform(6)));
    return faces;
  }

  async lot(among) {
    return among[await this.uniform(among.length)];
  }

  async shuffle(cards) {
    const shuffled = [...cards];
    for (let i = shuffled.length - 1; i > 0; i -= 1) {
      const j = await this.uniform(i + 1);
      [shuffled[i], shuffled[j]] = [shuffled[j], shuffled[i]];
    }
    return shuffled;
  }
}

const SEED_FORM = /^[A-Za-z0-9_-]{1,64}$/;
const numbers = list(number);

const DRAWS = {
  dice: {
    form: fields({ kind: is("dice"), round: number, op: number, count: version, result: numbers }),
    again: (operation, draw) => operation.dice(draw.count),
    bounded: (draw) => draw.result.length === draw.count,
  },
  lot: {
    form: fields({ kind: is("lot"), round: number, op: number, among: numbers, result: number }),
    again: (operation, draw) => operation.lot(draw.among),
    bounded: (draw) => draw.among.length > 0,
  },
  shuffle: {
    form: fields({ kind: is("shuffle"), round: number, op: number, cards: list(text), result: list(text) }),
    again: (operation, draw) => operation.shuffle(draw.cards),
    bounded: (draw) => draw.result.length === draw.cards.length,
  },
};

/** Follows the commitments, keys and draws of a match; no more is kept than a round's draws and two hashes a round. */
class Chance {
  constructor(report) {
    this.report = report;
    this.rounds = new Map(); // number -> {commitment, committedAt, key, revealedAt, draws}
    this.open = null;
    this.seed = null; // {version, seed}
    this.drawn = 0;
  }

  bad(code, at, words) {
    this.report.add("chance", code, at, words);
  }

  async take(fact, at) {
    if (fact.type === "chance-committed") this.commit(fact, at);
    else if (fact.type === "chance-revealed") await this.reveal(fact, at);
    else if (fact.type === "seed-revealed") this.revealSeed(fact, at);
    if (Object.hasOwn(fact, "draw")) this.draw(fact.draw, at);
  }

  commit({ round, commitment }, at) {
    if (!number(round) || !hex(64)(commitment)) return this.bad("fact", at, "this is no commitment to a round");
    if (this.seed) this.bad("after-seed", at, "a round begins when the service's seed is already known");
    if (this.open) this.bad("round-open", at, `round ${round} begins while round ${this.open.number} is open`);
    if (this.rounds.has(round)) return this.bad("round-again", at, `round ${round} was before`);
    this.open = { number: round, commitment, committedAt: at, key: null, revealedAt: null, ops: 0, draws: [] };
    this.rounds.set(round, this.open);
  }

  async reveal({ round, key }, at) {
    if (!number(round) || !hex(64)(key)) return this.bad("fact", at, "this is no key of a round");
    if (this.open?.number !== round) return this.bad("round-not-open", at, `round ${round} is not open`);
    const opened = this.open;
    this.open = null;
    opened.key = key;
    opened.revealedAt = at;
    if ((await roundCommitment(key)) === opened.commitment) await this.settle(opened, key);
    else this.bad("key", at, `the key does not open what was committed to for round ${round}`);
  }

  revealSeed({ seed }, at) {
    if (!hex(64)(seed)) return this.bad("fact", at, "this is no seed of 32 bytes");
    if (this.seed) return this.bad("seed-again", at, "the service's seed is revealed twice");
    this.seed = { version: at, seed };
  }

  draw(draw, at) {
    const kind = isPlain(draw) && typeof draw.kind === "string" && Object.hasOwn(DRAWS, draw.kind) && DRAWS[draw.kind];
    if (!kind || !kind.form(draw)) return this.bad("fact", at, "this is no random operation as it must be written");
    if (this.open?.number !== draw.round) {
      return this.bad("draw-outside", at, `something is drawn in round ${draw.round}, which is not open`);
    }
    if (draw.op !== this.open.ops) {
      this.bad("draw-number", at, `this is operation ${this.open.ops} of its round, and says to be ${draw.op}`);
    }
    this.open.ops = draw.op + 1;
    if (!kind.bounded(draw)) return this.bad("draw", at, "the result of the draw cannot come from its input");
    this.open.draws.push({ draw, at });
  }

  /** Draw everything in a round again. */
  async settle(round, key) {
    const imported = await hmacKey(key);
    for (const { draw, at } of round.draws) {
      this.drawn += 1;
      const again = await DRAWS[draw.kind].again(new Operation(imported, draw.op), draw);
      if (JSON.stringify(again) !== JSON.stringify(draw.result)) {
        this.bad("draw", at, `drawing again gives another result: ${JSON.stringify(again).slice(0, 200)}`);
      }
    }
    round.draws = null;
  }

  /** Check what needs the service's seed, which comes last. Returns how many operations were drawn again. */
  async end(started) {
    if (this.open) this.bad("round-not-closed", null, `round ${this.open.number} is still open at the end`);
    const key = await this.keyOfMatch(started);
    for (const round of this.rounds.values()) {
      const right = key && (await roundKey(key, round.number));
      if (right) await this.compare(round, right);
      const best = right && (await roundCommitment(right)) === round.commitment ? right : round.key ?? right;
      if (round.draws && best) await this.settle(round, best);
    }
    return this.drawn;
  }

  async compare(round, right) {
    if ((await roundCommitment(right)) !== round.commitment) {
      this.bad("round-commitment", round.committedAt,
        `what was committed to for round ${round.number} does not follow from the seeds of the service and the players`);
    }
    if (round.key !== null && round.key !== right) {
      this.bad("round-key", round.revealedAt,
        `the key of round ${round.number} does not follow from the seeds of the service and the players`);
    }
  }

  /** Return the match's key, or null if it cannot be known. */
  async keyOfMatch(started) {
    if (!started) return null;
    const { match, game, rules_version: rules, seats, commitment } = started.fact;
    if (!word(match) || !word(game) || !version(rules) || !list(fields(SEAT))(seats) || !hex(64)(commitment)) {
      this.bad("fact", started.version, "match-started does not say what it must");
      return null;
    }
    const odd = seats.findIndex(({ seed }) => !SEED_FORM.test(seed));
    if (odd >= 0) this.bad("player-seed", started.version, `the seed of seat ${odd} does not have the form of one`);
    if (!this.seed) {
      this.bad("seed-missing", null, "the service's seed is not revealed");
      return null;
    }
    if ((await commitmentOf(match, this.seed.seed)) !== commitment) {
      this.bad("seed", this.seed.version, "the seed does not open the commitment that the match began with");
      return null;
    }
    return matchKey(match, `${game}@${rules}`, seats.map(({ seed }) => seed), this.seed.seed);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Keys and cryptography

/**
 * Return a function from a key's id to the key in base64url, undefined where there is none; null if none were given.
 * Throws a TypeError where what was given is no key: that is the caller's fault and not the record's.
 */
function readKeys(given) {
  if (given === null) return null;
  if (typeof given === "string") {
    const key = requireKey(given);
    return () => key;
  }
  const pairs = Array.isArray(given.keys) ? jwksPairs(given.keys) : Object.entries(given);
  const known = new Map(pairs.map(([id, key]) => [id, requireKey(key)]));
  if (known.size === 0) throw new TypeError("no key for records was given");
  return (id) => known.get(id);
}

// Keys of a service have a purpose; those for tokens sign no records.
function jwksPairs(keys) {
  return keys
    .filter((key) => key.crv === "Ed25519" && (key.macao_purpose ?? "record") === "record")
    .map((key) => [key.kid, key.x]);
}

function requireKey(given) {
  if (!base64(32)(given)) throw new TypeError("a key is 32 bytes in base64url");
  return given;
}

const toHex = (bytes) => Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");

function fromHex(digits) {
  return Uint8Array.from({ length: digits.length / 2 }, (_, at) => parseInt(digits.slice(2 * at, 2 * at + 2), 16));
}

/** Return the bytes of a base64url text without padding; null if it is none, or has spare bits set. */
function fromBase64url(written) {
  if (!/^[A-Za-z0-9_-]*$/.test(written)) return null;
  try {
    const bytes = Uint8Array.from(atob(written.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    return toBase64url(bytes) === written ? bytes : null;
  } catch {
    return null;
  }
}

function toBase64url(bytes) {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

const sha256 = async (message) => toHex(await crypto.subtle.digest("SHA-256", ENCODER.encode(message)));

function hmacKey(key) {
  return crypto.subtle.importKey("raw", fromHex(key), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}

const mac = async (key, message) => toHex(await crypto.subtle.sign("HMAC", await hmacKey(key), ENCODER.encode(message)));

// The first example of RFC 8032: an empty message. Whatever cannot check this cannot check anything.
const RFC8032_KEY = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
const RFC8032_SIGNATURE =
  "5VZDAMNgrHKQhuLMgG6CioSHfx645dl02HPgZSJJAVVfuIIVkKM7rMYeOXAc-bRr0lv18FlbviRlUUFDjnoQCw";

/** Whether the signature fits; null where this browser has no Ed25519. Key and signature are base64url. */
async function ed25519Verifies(key, signature, message) {
  if (await verifies(key, signature, message)) return true;
  return (await verifies(RFC8032_KEY, RFC8032_SIGNATURE, "")) ? false : null;
}

async function verifies(key, signature, message) {
  try {
    const algorithm = { name: "Ed25519" };
    const imported = await crypto.subtle.importKey("raw", fromBase64url(key), algorithm, false, ["verify"]);
    return await crypto.subtle.verify(algorithm, imported, fromBase64url(signature), ENCODER.encode(message));
  } catch {
    return false; // no such algorithm here, or these 32 bytes are no key
  }
}
