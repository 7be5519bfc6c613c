// Records to ids and label flags (docs/spec.md, "Record" to "Order"): reading, rendering, the order of a run, batch digests.
//
// Separate from training because `render` shows exactly this, and nothing behind it can be right when this is not.

import fs from "node:fs";

import { LineError, parseLine } from "./lines.mjs";
import { RequestError } from "./requests.mjs";
import { Scope, Tokenizer } from "./safe.mjs";

const BLOCK_BYTES = 1 << 20;

/** The lines of a file without their \n, as Buffers; a last one needs no \n. */
function* linesOf(path) {
  let file;
  try {
    file = fs.openSync(path, "r");
    let rest = Buffer.alloc(0);
    const block = Buffer.alloc(BLOCK_BYTES);
    for (let count; (count = fs.readSync(file, block)) > 0; ) {
      rest = Buffer.concat([rest, block.subarray(0, count)]);
      let start = 0;
      for (let end; (end = rest.indexOf(10, start)) >= 0; start = end + 1) yield rest.subarray(start, end);
      rest = rest.subarray(start);
    }
    if (rest.length) yield rest;
  } catch (error) {
    if (error.syscall) throw new RequestError("io", error.message, path);
    throw error;
  } finally {
    if (file !== undefined) fs.closeSync(file);
  }
}

/** The records of a file in order; throws RequestError (`record`, where file:line). */
function* recordsOf(path) {
  const seen = new Set();
  let line = 0;
  for (const bytes of linesOf(path)) {
    const where = `${path}:${++line}`;
    let record;
    try {
      record = parseLine(bytes);
    } catch (error) {
      if (error instanceof LineError) throw new RequestError("record", error.message, where);
      throw error;
    }
    if (typeof record !== "object" || record === null || Array.isArray(record)) throw new RequestError("record", "not an object", where);
    for (const key of ["id", "question", "answer", ...(Object.hasOwn(record, "system") ? ["system"] : [])]) {
      if (!Object.hasOwn(record, key)) throw new RequestError("record", `key ${key} is missing`, where);
      if (typeof record[key] !== "string") throw new RequestError("record", `${key} is not a string`, where);
    }
    if (seen.has(record.id)) throw new RequestError("record", `id ${JSON.stringify(record.id)} is there twice`, where);
    seen.add(record.id);
    yield record;
  }
}

/** Renders records by one tokenizer and template. */
class Renderer {
  constructor(tokenizer, template, length) {
    this.encode = (text) => tokenizer.encode(text);
    this.length = length;
    this.start = tokenizer.idOf("<|im_start|>");
    this.end = tokenizer.idOf("<|im_end|>");
    this.newline = this.encode("\n");
    // What stands between the assistant's <|im_start|> and the answer's piece, and what that piece begins with.
    this.lead = [];
    this.prefix = "assistant\n";
    if (template === "qwen3") {
      const [think, noThink] = ["<think>", "</think>"].map((text) => tokenizer.idOf(text));
      this.lead = [...this.encode("assistant\n"), think, ...this.encode("\n\n"), noThink];
      this.prefix = "\n\n";
    }
    this.prefixIds = this.encode(this.prefix);
  }

  /** {ids, flags} after the cut, or {rejected}. */
  render(record) {
    if (record.answer.includes("</think>")) return { rejected: "think" };
    const answer = record.answer.replace(/^\n+/, "");
    if (answer === "") return { rejected: "empty" };
    const piece = this.encode(this.prefix + answer);
    if (!this.prefixIds.every((id, index) => piece[index] === id)) return { rejected: "joined" };
    const turn = (words) => [this.start, ...this.encode(words), this.end, ...this.newline];
    const before = [
      ...(Object.hasOwn(record, "system") ? turn(`system\n${record.system}`) : []),
      ...turn(`user\n${record.question}`),
      this.start,
      ...this.lead,
    ];
    const first = before.length + this.prefixIds.length;
    const ids = [...before, ...piece, this.end, ...this.newline];
    const last = before.length + piece.length; // the <|im_end|> behind the answer
    const flags = ids.map((_, index) => (index >= first && index <= last ? 1 : 0));
    const cut = { ids: ids.slice(0, this.length), flags: flags.slice(0, this.length) };
    return cut.flags.includes(1) ? cut : { rejected: "no_label" };
  }
}

/** Render a whole file: `each` gets every record's id and rendering; answers {accepted, rejected, markers}. */
export function renderFile(tokenizerFolder, path, template, length, each = () => {}) {
  return Scope.run((scope) => {
    const tokenizer = scope.own(new Tokenizer(tokenizerFolder));
    const renderer = new Renderer(tokenizer, template, length);
    const added = tokenizer.added();
    const accepted = [];
    const rejected = {};
    let markers = 0;
    for (const record of recordsOf(path)) {
      const texts = [record.system ?? "", record.question, record.answer];
      if (texts.some((text) => added.some((marker) => text.includes(marker)))) markers++;
      const rendered = renderer.render(record);
      if (rendered.rejected) rejected[rendered.rejected] = (rejected[rendered.rejected] ?? 0) + 1;
      else accepted.push(rendered);
      each(record.id, rendered);
    }
    return { accepted, rejected, markers };
  });
}

/** As renderFile, for a run: a file with no accepted record is an error. */
export function corpus(tokenizerFolder, path, spec) {
  const rendered = renderFile(tokenizerFolder, path, spec.template, spec.length);
  if (!rendered.accepted.length) throw new RequestError("record", "no accepted record", path);
  return rendered;
}

const WORD = (1n << 64n) - 1n;

/** The order of n records in an epoch: SplitMix64, state seed·2^32 + epoch, exchanges from the end. */
export function shuffled(n, seed, epoch) {
  let state = (BigInt(seed) << 32n) + BigInt(epoch);
  const next = () => {
    state = (state + 0x9e3779b97f4a7c15n) & WORD;
    let z = state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & WORD;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & WORD;
    return z ^ (z >> 31n);
  };
  const order = Array.from({ length: n }, (_, index) => index);
  for (let i = n - 1; i >= 1; i--) {
    const j = Number(next() % BigInt(i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

/** FNV-1a 64 over records' id counts, ids and flags; 16 hex digits. Two halves of 32 bits, since a Number holds 53. */
export function batchDigest(records) {
  let [high, low] = [0xcbf29ce4, 0x84222325];
  const byte = (value) => {
    low = (low ^ value) >>> 0;
    const product = low * 0x1b3; // the prime is 2^40 + 0x1b3
    high = (Math.imul(high, 0x1b3) + Math.floor(product / 2 ** 32) + (low << 8)) >>> 0;
    low = product >>> 0;
  };
  const word = (value) => [0, 8, 16, 24].forEach((shift) => byte((value >>> shift) & 255));
  for (const { ids, flags } of records) {
    word(ids.length);
    ids.forEach(word);
    flags.forEach(byte);
  }
  return [high, low].map((half) => half.toString(16).padStart(8, "0")).join("");
}
