// JSON lines as strictly as docs/protocol.md, "Lines", asks, and events on their way out.
//
// Separate because JSON.parse lets duplicate keys, lone surrogates, numbers past f64 and any depth pass. It parses
// everything itself, and knows nothing of requests or records.

import fs from "node:fs";

const DEPTH_MAX = 64;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPES = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** A line that is not one strict JSON value. */
export class LineError extends Error {}

/** Parse the bytes of one line without its \n. Throws LineError. */
export function parseLine(bytes) {
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new LineError("not UTF-8");
  }
  if (text.startsWith("\ufeff")) throw new LineError("byte-order mark");
  const parser = new Parser(text);
  const value = parser.value(0);
  parser.end();
  return value;
}

class Parser {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  fail(what) {
    throw new LineError(`${what} at column ${this.at + 1}`);
  }

  blank() {
    while (" \t\r\n".includes(this.text[this.at] ?? "x")) this.at++;
  }

  take(character) {
    if (this.text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  end() {
    this.blank();
    if (this.at < this.text.length) this.fail("text behind the value");
  }

  value(depth) {
    this.blank();
    if (this.at >= this.text.length) this.fail(this.text.trim() ? "the value ends too early" : "empty line");
    if (this.take("{")) return this.object(depth + 1);
    if (this.take("[")) return this.array(depth + 1);
    if (this.take('"')) return this.string();
    for (const [word, value] of [["true", true], ["false", false], ["null", null]]) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    return this.number();
  }

  number() {
    NUMBER.lastIndex = this.at;
    const digits = NUMBER.exec(this.text)?.[0];
    if (!digits) this.fail("no JSON value");
    const value = Number(digits);
    if (!Number.isFinite(value)) this.fail(`number ${digits.slice(0, 40)} is not finite in f64`);
    this.at += digits.length;
    return value;
  }

  string() {
    let found = "";
    for (;;) {
      PLAIN.lastIndex = this.at;
      const plain = PLAIN.exec(this.text)[0];
      found += plain;
      this.at += plain.length;
      if (this.take('"')) break;
      if (!this.take("\\")) this.fail("control character or end inside a string");
      found += this.escape();
    }
    if (!found.isWellFormed()) this.fail("lone surrogate");
    return found;
  }

  escape() {
    const letter = this.text[this.at++];
    if (letter === "u") {
      const digits = this.text.slice(this.at, this.at + 4);
      if (!/^[0-9a-fA-F]{4}$/.test(digits)) this.fail("bad escape");
      this.at += 4;
      return String.fromCharCode(parseInt(digits, 16));
    }
    if (!Object.hasOwn(ESCAPES, letter ?? "")) this.fail("bad escape");
    return ESCAPES[letter];
  }

  array(depth) {
    if (depth > DEPTH_MAX) this.fail(`nesting past ${DEPTH_MAX}`);
    const found = [];
    this.blank();
    if (this.take("]")) return found;
    do found.push(this.value(depth));
    while (this.more("]"));
    return found;
  }

  object(depth) {
    if (depth > DEPTH_MAX) this.fail(`nesting past ${DEPTH_MAX}`);
    const found = new Map();
    this.blank();
    if (this.take("}")) return {};
    do {
      this.blank();
      if (!this.take('"')) this.fail("no key");
      const key = this.string();
      if (found.has(key)) this.fail(`duplicate key ${JSON.stringify(key)}`);
      this.blank();
      if (!this.take(":")) this.fail("no colon");
      found.set(key, this.value(depth));
    } while (this.more("}"));
    return Object.fromEntries(found); // own properties, also of a key like __proto__
  }

  more(close) {
    this.blank();
    if (this.take(",")) return true;
    if (!this.take(close)) this.fail(`no comma or ${close}`);
    return false;
  }
}

/** Write one event and wait until the pipe has taken it. */
export function send(id, event, values = {}) {
  const line = Buffer.from(`${JSON.stringify({ id, event, ...values })}\n`);
  for (let sent = 0; sent < line.length; ) {
    try {
      sent += fs.writeSync(1, line, sent);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1); // a pipe that is full and does not block
    }
  }
}

/** {name: x, name_bits: "0x…"}; what is not finite travels as a string. */
export function withBits(name, value) {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return { [name]: number(value), [`${name}_bits`]: `0x${bytes.toString("hex")}` };
}

/** A number as events hold it. JSON.stringify would write NaN as null. */
export function number(value) {
  return Number.isFinite(value) ? value : String(value);
}
