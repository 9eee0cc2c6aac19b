/**
 * Is the record of a match whole and true? A second verifier, written from docs/record.md alone.
 *
 * It shares no line with the service, so that a fault in one of the two shows as a difference between both. It runs in
 * a browser and in Node 20 or newer, needs nothing but WebCrypto, and reads a record of any length piece by piece.
 *
 * Checked are form, order, chain, seals, chance, signature and receipt. Whether the players kept to the rules takes the
 * rules as code: `macao verify` and the service's audit decide every move again.
 *
 *     const keys = await (await fetch("/.well-known/jwks.json")).json();
 *     const verdict = await verify(await fetch("/v1/matches/m_…/record"), { keys });
 *     verdict.sound, verdict.first_bad_version, verdict.findings
 */

export const FORMAT = "macao-record/1";
export const CHAIN = "macao-chain/1";
export const SEAL = "macao-seal/1";
export const FAIRNESS = "macao-fair/1";
export const SIGNATURE = "macao-record-signature/1";
export const CHECKPOINT = "macao-checkpoint/1";
export const LEAF = "macao-leaf/1";

export const LINE_BYTES_MAX = 1 << 20;
export const LINES_MAX = 1_000_000;
/** So many findings are kept; a record with more is told to have more. */
export const FINDINGS_MAX = 100;
/** No proof is longer: positions have 53 bits. */
const PROOF_MAX = 54;
/** How many lines are hashed side by side. */
const BATCH_LINES = 256;
/** How far back a line is looked for that a later one continues. */
const LOOK_BACK_LINES = 1000;

/** What is checked, in the order in which a page would show it. */
export const CHECKS = ["form", "order", "chain", "seal", "actor", "time", "chance", "signature", "receipt"];

/**
 * @typedef {object} Finding
 * @property {string} check    one of CHECKS
 * @property {string} code     what is wrong, for programs
 * @property {?number} version the version that is bad; null for header, closing line and receipt
 * @property {number} line     where it shows, from 1
 * @property {string} words    what is wrong, for people
 */

/**
 * @typedef {object} Verdict
 * @property {boolean} sound           everything was checked, and nothing is wrong
 * @property {boolean} checkable       false if this browser lacks something that a check needs
 * @property {?number} first_bad_version  the first that a finding names
 * @property {Finding[]} findings      in the order of the record
 * @property {boolean} more_findings   there were more than FINDINGS_MAX
 * @property {Object<string, string>} checks  for each of CHECKS: good, bad, unchecked or absent
 * @property {?object} header          the header line, if it could be read
 * @property {?object} closing         the closing line, if it could be read; with the receipt
 * @property {boolean} key_known       the signature was checked with a key that was given
 * @property {number} events
 * @property {number} commands
 * @property {number} draws            random operations drawn again
 * @property {number} seals            sealed bodies opened
 * @property {?number} receipt_size    how many events the log had in which the receipt shows the match
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
    for (const check of CHECKS) report.state(check, "unchecked");
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
    this.lines = 0; // how many were read
    this.shift = 1; // from versions to lines: the header has one
    this.states = Object.fromEntries(CHECKS.map((check) => [check, "good"]));
  }

  /** Take a finding down. Where no line is given it is that of the version, or without one the closing line. */
  add(check, code, version, words, line = version === null ? this.lines : version + this.shift) {
    this.made += 1;
    this.keep({ check, code, version, line, words }, "bad");
  }

  /** Something cannot be checked here: that is no verdict against the record, and none for it. */
  unchecked(check, code, words) {
    this.keep({ check, code, version: null, line: this.lines, words }, "unchecked");
  }

  keep(finding, state) {
    this.state(finding.check, state);
    this.tell({ kind: "finding", finding });
    this.findings.push(finding);
    if (this.findings.length <= FINDINGS_MAX) return;
    // The first bad line must not be lost among later ones.
    const last = this.findings.reduce((a, b) => (a.line > b.line ? a : b));
    this.findings.splice(this.findings.indexOf(last), 1);
  }

  state(check, state) {
    if (this.states[check] === state || this.states[check] === "bad") return;
    this.states[check] = state;
    this.tell({ kind: "check", check, state });
  }

  verdict(header, counts) {
    const findings = [...this.findings].sort((a, b) => a.line - b.line);
    const first = findings.find(({ version }) => version !== null)?.version ?? null;
    for (const check of CHECKS) this.tell({ kind: "check", check, state: this.states[check] });
    return {
      sound: findings.length === 0,
      checkable: !Object.values(this.states).includes("unchecked"),
      first_bad_version: first,
      findings,
      more_findings: this.made > FINDINGS_MAX,
      checks: this.states,
      header,
      closing: null,
      key_known: false,
      events: 0,
      commands: 0,
      draws: 0,
      seals: 0,
      receipt_size: null,
      ...counts,
    };
  }
}

const ZEROS = "0".repeat(64);

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

const CHECKPOINT_FIELDS = {
  log: (value) => typeof value === "string" && /^[a-z][a-z0-9]{0,31}$/.test(value), size: version, root: hex(64),
  at_ms: number, key_id: word, public_key: base64(32), signature: base64(64),
};
const RECEIPT_FIELDS = {
  position: version, proof: (value) => list(hex(64))(value) && value.length <= PROOF_MAX,
  checkpoint: fields(CHECKPOINT_FIELDS),
};

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
    receipt: maybe(fields(RECEIPT_FIELDS)),
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
  if (Object.keys(line).join() !== names.join()) return "the fields do not stand in their order";
  if (JSON.stringify(line) !== written) return "the line is not written in the one way in which a record's lines are";
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
    this.place = 0; // how many lines stand where events belong
    this.held = null; // the last line read: it may be the closing one
    this.only = null; // a closing line at the top: all that is left of a record
    this.started = null; // the fact of the first event
    this.expected = 1;
    this.before = null; // the line in front, if it is an event: {event, at, bad}
    this.broken = null; // a link that does not fit, until the next line tells which of the two is to blame
    this.recent = new Map(); // hash -> place, of the last lines
    this.command = null; // the command that is going on: {id, actor, at_ms}
    this.commands = new Set();
    this.atMs = 0;
    this.events = 0;
    this.seals = 0;
    this.chance = new Chance(report);
  }

  get full() {
    return this.report.lines > LINES_MAX;
  }

  /** Take the next lines, as bytes. The last of them is held back, since it may be the closing line. */
  async take(batch) {
    const read = [];
    for (const bytes of batch) {
      this.report.lines += 1;
      if (this.full) {
        this.report.add("form", "too-many-lines", null,
          `a record has at most ${LINES_MAX} lines; what follows was not read`);
        break;
      }
      const line = readLine(bytes);
      if (this.report.lines === 1 && this.takeFirst(line, bytes)) continue;
      if (this.held) read.push(this.held);
      this.held = line;
    }
    await this.takeEvents(read);
  }

  /** Take the first line; false if it is an event, that is if the header is missing. */
  takeFirst(line, bytes) {
    if (line.line === "event") {
      this.report.shift = 0;
      this.report.add("form", "header-missing", null, "the header line is missing", 1);
      return false;
    }
    if (line.line === "header") {
      this.header = line;
      this.headerLine = DECODER.decode(bytes);
    } else {
      this.only = line.line === "closing" ? line : null;
      const found = typeof line === "string" ? line : "a closing line stands in its place";
      this.report.add("form", "header-missing", null, `the header line is missing or damaged: ${found}`, 1);
    }
    return true;
  }

  async end() {
    if (this.report.lines === 0) {
      this.report.add("form", "empty", null, "the record is empty");
    } else {
      await this.takeLast();
    }
    if (this.command) this.commands.add(this.command.id);
    const draws = await this.chance.end(this.started, this.expected);
    const keyKnown = await this.checkSignature();
    const receiptSize = await this.checkReceipt();
    return this.report.verdict(this.header, {
      closing: this.closing, key_known: keyKnown, events: this.events, commands: this.commands.size, draws,
      seals: this.seals, receipt_size: receiptSize,
    });
  }

  async takeLast() {
    const line = this.held ?? this.only;
    if (line?.line === "closing") {
      this.closing = line;
      this.blame(line.hash);
      if (line !== this.only) this.checkClosing(line);
      return;
    }
    if (line && typeof line !== "string") await this.takeEvents([line]);
    this.blame(null);
    const found = typeof line === "string" ? `, and the last line cannot be read: ${line}` : "";
    this.report.add("form", "closing-missing", this.expected,
      `the closing line is missing: the record was cut off or damaged at its end${found}`,
      this.report.lines);
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
        this.blame(null);
        this.before = null;
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
    const own = computed.hash === event.hash;
    this.checkVersion(event, at);
    this.checkChain(event, at, own);
    this.checkSeal(event, at, computed.seal);
    this.checkCommand(event, at);
    const fact = this.checkFact(event, at);
    if (at === 1) this.checkStart(event, fact);
    if (fact) await this.chance.take(fact, at);
  }

  checkVersion(event, at) {
    const { expected } = this;
    this.expected = event.version + 1;
    if (event.version < expected && this.findsPutIn(event, at)) return;
    if (event.version !== expected) {
      this.report.add("order", "version", at,
        `version ${expected} ought to stand here, and version ${event.version} does`);
    }
  }

  /** Where an event goes on from further back than the line before, what lies between was put in: say so. */
  findsPutIn(event, at) {
    const from = event.previous === ZEROS ? 0 : this.recent.get(event.previous);
    // A copy of an event is no reason to doubt the first one.
    if (from === undefined || from >= at - 1 || this.recent.has(event.hash)) return false;
    this.report.add("order", "inserted", from + 1,
      `the chain goes on at place ${at} from what stands before this: what lies between was put in`);
    return true;
  }

  checkChain(event, at, own) {
    this.blame(event.previous);
    let bad = !own;
    if (!own) this.report.add("chain", "hash", at, "the event's hash is not that of its content: it was changed");
    if (event.version === 1 && event.previous !== ZEROS) {
      bad = true;
      this.report.add("chain", "previous", at, "the first event has to follow a hash of zeros");
    }
    const { before } = this;
    this.before = { event, at, bad };
    if (before && before.event.version + 1 === event.version && before.event.hash !== event.previous
        && !this.findsPutIn(event, at) && !before.bad) {
      this.broken = { ...this.before, own };
    }
    this.recent.set(event.hash, at);
    if (this.recent.size > LOOK_BACK_LINES) this.recent.delete(this.recent.keys().next().value);
  }

  /** Where two neighbours do not fit, the later is the bad one, unless what comes behind goes on from it. */
  blame(previous) {
    if (!this.broken) return;
    const { event, at, own } = this.broken;
    this.broken = null;
    if (own && event.hash === previous) {
      this.report.add("chain", "replaced", at - 1,
        `what follows was chained to another event than this: this one was put in its place`);
    } else {
      if (this.before?.at === at) this.before.bad = true;
      this.report.add("chain", "previous", at, "the event was not chained to the one before it as it stands here");
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
      this.report.add("time", "time", at, `the time goes back by ${this.atMs - event.at_ms} ms`);
    }
    this.atMs = event.at_ms;
    if (this.command?.id === event.command) {
      const { actor, at_ms } = this.command;
      if (event.actor !== actor) this.report.add("actor", "actor", at, "one command has two actors");
      if (event.at_ms !== at_ms) this.report.add("time", "command-time", at, "one command has two times");
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
    if (this.header && this.stream !== fact.match) {
      this.report.add("form", "stream", 1, `the events are chained as ${this.stream}, and this is another match`);
    }
    const rules = `${fact.game}@${fact.rules_version}`;
    for (const [name, said] of Object.entries({ stream: fact.match, rules, seats: fact.seats })) {
      if (this.header && JSON.stringify(this.header[name]) !== JSON.stringify(said)) {
        this.report.add("form", "header", null, `the header names other ${name} than match-started does`, 1);
      }
    }
  }

  checkClosing(closing) {
    if (closing.version >= this.expected) {
      this.report.add("order", "cut-off", this.expected,
        `the closing line names version ${closing.version} as the last, and the record ends before it`,
        this.report.lines);
    } else if (closing.version < this.expected - 1) {
      this.report.add("order", "too-many", closing.version + 1,
        `the closing line names version ${closing.version} as the last, and there are more`, this.report.lines);
    } else if (this.before && closing.hash !== this.before.event.hash && !this.before.bad) {
      this.report.add("chain", "end", this.before.event.version,
        "the chain ends in another hash than the closing line names: this event was changed, or an earlier one and all"
        + " that follow chained anew", this.before.at + this.report.shift);
    }
    if (closing.events !== this.place) {
      this.report.add("order", "count", null,
        `the closing line counts ${closing.events} events, and there are ${this.place}`);
    }
    if (this.header && closing.key_id !== this.header.key_id) {
      this.report.add("signature", "key-id", null, "header and closing line name different keys");
    }
  }

  /** Return whether the key that signed was among those given. */
  async checkSignature() {
    if (!this.header || !this.closing) {
      this.report.add("signature", "signature-missing", null,
        "without a header and a closing line there is no signature to check");
      return false;
    }
    const { key_id: id, public_key: key } = this.header;
    const { version: last, hash, events, signature } = this.closing;
    const message = [SIGNATURE, this.headerLine, last, hash, events].join("\n");
    return (await this.checkSigned("signature", id, key, signature, message)) && this.keys !== null;
  }

  /** Check a signature, and where keys were given that it is by one of them. Return whether both is so. */
  async checkSigned(check, id, key, signature, message) {
    const known = this.keys === null ? key : this.keys(id);
    if (known !== key) {
      this.report.add(check, "other-key", null, known === undefined
        ? `the key ${id} is not among the keys that were given`
        : `signed with another key than the one that was given for ${id}`);
      return false;
    }
    const good = await ed25519Verifies(key, signature, message);
    if (good === null) {
      this.report.unchecked(check, "signature-not-checkable",
        "signature not checkable in this browser: it has no Ed25519; use a newer one, or `macao verify`");
    } else if (!good) {
      this.report.add(check, "signature", null, `the key ${id} did not sign this`);
    }
    return good === true;
  }

  /** Check that the match lies in the log of the checkpoint. Return how large that was, null without a good receipt. */
  async checkReceipt() {
    const receipt = this.closing?.receipt;
    if (!receipt) {
      this.report.state("receipt", "absent");
      return null;
    }
    const { position, proof, checkpoint } = receipt;
    const { size, root, key_id: id, public_key: key, signature } = checkpoint;
    const signed = await this.checkSigned("receipt", id, key, signature, checkpointMessage(checkpoint));
    const { version: last, hash } = this.closing;
    const leaf = await leafHash(position, this.stream ?? this.header?.stream ?? "-", last, hash);
    const holds = await inclusionHolds(position, size, leaf, proof, root);
    if (!holds) {
      this.report.add("receipt", "proof", null, "the receipt does not prove that the match lies in the log it names");
    }
    return signed && holds ? size : null;
  }
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
    this.said = []; // every commitment and every key, wherever it stands
    this.open = null;
    this.seed = null; // {version, seed}
    this.drawn = 0;
  }

  bad(code, at, words, line) {
    this.report.add("chance", code, at, words, line);
  }

  async take(fact, at) {
    if (fact.type === "chance-committed") this.commit(fact, at);
    else if (fact.type === "chance-revealed") await this.reveal(fact, at);
    else if (fact.type === "seed-revealed") this.revealSeed(fact, at);
    if (Object.hasOwn(fact, "draw")) this.draw(fact.draw, at);
  }

  commit({ round, commitment }, at) {
    if (!number(round) || !hex(64)(commitment)) return this.bad("fact", at, "this is no commitment to a round");
    this.said.push({ round, commitment });
    if (this.seed) this.bad("after-seed", at, "a round begins when the service's seed is already known");
    if (this.open) this.bad("round-open", at, `round ${round} begins while round ${this.open.number} is open`);
    if (this.rounds.has(round)) return this.bad("round-again", at, `round ${round} was before`);
    this.open = { number: round, commitment, committedAt: at, key: null, revealedAt: null, ops: 0, draws: [] };
    this.rounds.set(round, this.open);
  }

  async reveal({ round, key }, at) {
    if (!number(round) || !hex(64)(key)) return this.bad("fact", at, "this is no key of a round");
    this.said.push({ round, key });
    if (this.open?.number !== round) return this.bad("round-not-open", at, `round ${round} is not open`);
    const opened = this.open;
    this.open = null;
    opened.key = key;
    opened.revealedAt = at;
    // If the key does not open the commitment, the service's seed will tell at the end which of the two is wrong.
    if ((await roundCommitment(key)) === opened.commitment) await this.settle(opened, key);
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

  /**
   * Check what needs the service's seed, which comes last. What is missing has the version `after` the last event.
   * Returns how many operations were drawn again.
   */
  async end(started, after) {
    const { lines } = this.report;
    if (this.open) this.bad("round-not-closed", after, `the key of round ${this.open.number} is not revealed`, lines);
    const key = await this.keyOfMatch(started, after);
    const trusted = key !== null && (await this.findFault(started, key));
    for (const round of this.rounds.values()) {
      await this.close(round, trusted ? await roundKey(key, round.number) : null);
    }
    return this.drawn;
  }

  /** Compare a round with the key that the seeds give, where that can be trusted. */
  async close(round, right) {
    if (right !== null) {
      if ((await roundCommitment(right)) !== round.commitment) {
        this.bad("round-commitment", round.committedAt,
          `the seeds of the service and the players give another commitment for round ${round.number}`);
      }
      if (round.key !== null && round.key !== right) {
        this.bad("round-key", round.revealedAt,
          `the seeds of the service and the players give another key for round ${round.number}`);
      }
    } else if (round.key !== null && (await roundCommitment(round.key)) !== round.commitment) {
      this.bad("round-key", round.revealedAt, `this key does not open the commitment of round ${round.number}`);
    }
    // A key that opens nothing proves nothing against the draws.
    if (round.draws && right !== null) await this.settle(round, right);
  }

  /** Return the match's key as the seeds give it, null if they are not all there. */
  async keyOfMatch(started, after) {
    if (!started) return null;
    const { match, game, rules_version: rules, seats, commitment } = started.fact;
    if (!word(match) || !word(game) || !version(rules) || !list(fields(SEAT))(seats) || !hex(64)(commitment)) {
      this.bad("fact", started.version, "match-started does not say what it must");
      return null;
    }
    const odd = seats.findIndex(({ seed }) => !SEED_FORM.test(seed));
    if (odd >= 0) {
      this.bad("player-seed", started.version, `the seed of seat ${odd} does not have the form of one`);
      return null;
    }
    if (!this.seed) {
      this.bad("seed-missing", after, "the service's seed is not revealed", this.report.lines);
      return null;
    }
    return matchKey(match, `${game}@${rules}`, seats.map(({ seed }) => seed), this.seed.seed);
  }

  /**
   * The service's seed has to open the commitment, and with the players' seeds has to give the rounds' keys. Which of
   * the two does not hold tells which part was exchanged; if neither holds it is the seed. Returns whether the keys
   * that the seeds give are those of the match.
   */
  async findFault(started, key) {
    const { match, commitment } = started.fact;
    const opens = (await commitmentOf(match, this.seed.seed)) === commitment;
    const fits = await this.fit(key);
    if (opens && fits !== false) return true;
    if (fits) {
      this.bad("commitment", started.version, "the revealed seed does not open the commitment that stands here");
    } else if (opens) {
      this.bad("player-seed", started.version,
        "the players' seeds, the game and the rules that stand here do not give the keys of the rounds");
    } else {
      this.bad("seed", this.seed.version, "the seed that is revealed here is not the one that was committed to");
    }
    return fits === true;
  }

  /** Whether any commitment or key in the record is one that the seeds give; null if there is none to compare. */
  async fit(key) {
    for (const { round, commitment, key: revealed } of this.said) {
      const right = await roundKey(key, round);
      if (revealed === right || commitment === (await roundCommitment(right))) return true;
    }
    return this.said.length ? false : null;
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// The log: a Merkle tree as in RFC 6962. Positions have up to 53 bits, so that numbers are divided and not shifted.

/** What is signed of a checkpoint. */
export const checkpointMessage = ({ log, size, root, at_ms: at, key_id: id }) =>
  [CHECKPOINT, log, size, root, at, id].join("\n");

/** The hash, in hex, of the leaf of an event. */
export const leafHash = (position, stream, version, hash) =>
  hashOfBytes(Uint8Array.of(0, ...ENCODER.encode([LEAF, position, stream, version, hash].join("\n"))));

const nodeHash = (left, right) => hashOfBytes(Uint8Array.of(1, ...fromHex(left), ...fromHex(right)));

/** Whether the leaf stands at a position (from 1) of the log of a size whose tree has this root. All hashes in hex. */
export async function inclusionHolds(position, size, leaf, proof, root) {
  let n = position - 1;
  let last = size - 1;
  if (!(number(n) && number(last) && n <= last)) return false;
  let hash = leaf;
  for (const other of proof) {
    if (last === 0) return false;
    const left = n % 2 === 1 || n === last;
    hash = left ? await nodeHash(other, hash) : await nodeHash(hash, other);
    if (left) [n, last] = skipEven(n, last);
    [n, last] = [half(n), half(last)];
  }
  return last === 0 && hash === root;
}

/** Whether the log of the second size begins with all of the first. */
export async function consistencyHolds(first, firstRoot, second, secondRoot, proof) {
  if (!(version(first) && version(second) && first <= second)) return false;
  if (first === second) return proof.length === 0 && firstRoot === secondRoot;
  let n = first - 1;
  let last = second - 1;
  while (n % 2 === 1) [n, last] = [half(n), half(last)];
  // A first size that is a power of two is a whole subtree, and its root begins the way.
  const [start, ...others] = n === 0 ? [firstRoot, ...proof] : proof;
  if (start === undefined) return false;
  let a = start;
  let b = start;
  for (const other of others) {
    if (last === 0) return false;
    if (n % 2 === 1 || n === last) {
      a = await nodeHash(other, a);
      b = await nodeHash(other, b);
      [n, last] = skipEven(n, last);
    } else {
      b = await nodeHash(b, other);
    }
    [n, last] = [half(n), half(last)];
  }
  return last === 0 && a === firstRoot && b === secondRoot;
}

const half = (x) => Math.floor(x / 2);

function skipEven(n, last) {
  while (n % 2 === 0 && n !== 0) [n, last] = [half(n), half(last)];
  return [n, last];
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
  if (!isPlain(given)) throw new TypeError("keys are a JWKS, an object of base64url by id, or one key in base64url");
  const pairs = Array.isArray(given.keys) ? jwksPairs(given.keys) : Object.entries(given);
  const known = new Map(pairs.map(([id, key]) => [id, requireKey(key)]));
  if (known.size === 0) throw new TypeError("no key for records was given");
  return (id) => known.get(id);
}

// Keys of a service have a purpose; those for tokens sign no records.
function jwksPairs(keys) {
  return keys
    .filter((key) => isPlain(key) && key.crv === "Ed25519" && (key.macao_purpose ?? "record") === "record")
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

const hashOfBytes = async (bytes) => toHex(await crypto.subtle.digest("SHA-256", bytes));

const sha256 = (message) => hashOfBytes(ENCODER.encode(message));

function hmacKey(key) {
  return crypto.subtle.importKey("raw", fromHex(key), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}

const mac = async (key, message) =>
  toHex(await crypto.subtle.sign("HMAC", await hmacKey(key), ENCODER.encode(message)));

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
