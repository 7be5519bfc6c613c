// The trainer javascript: requests on stdin, events on stdout, free text on stderr (docs/protocol.md).
//
// Separate from the requests' own modules: it reads lines, sends each request to its module, and turns what went
// wrong into the `error` that ends it. stdin is read in the background, so that a run learns of its end.

import fs from "node:fs";
import path from "node:path";

import { corpus, renderFile } from "./records.mjs";
import { LineError, parseLine, send } from "./lines.mjs";
import { loadAdapter, loadModel, readConfig, adapterConfig } from "./model.mjs";
import { operators } from "./operators.mjs";
import { checkRequest, checkSpec, RequestError } from "./requests.mjs";
import { Checkpoint, checkVersion, digest, HexaplaError, processMemory, Scope } from "./safe.mjs";
import { abiVersion, buildFaults, buildInfo, constants, layout, missing } from "./sys.mjs";
import { contextOf, sendEvaluation, train } from "./train.mjs";

const NAME = "javascript";
// Every request that is not answered with `skipped`, and what of a context works; the harness plans by this list.
const CAPABILITIES = ["hello", "abi", "operators", "load", "render", "evaluate", "train", "bye", "spill", "memory_limit", "ledger"];
const LINE_BYTES_MAX = 16 << 20;
const [READABLE, FAILED, UNREADABLE, HANDLES_LIVE] = [0, 1, 2, 3]; // exit statuses; the largest that applies

let exitStatus = READABLE;
const worst = (status) => (exitStatus = Math.max(exitStatus, status));

/** Why install.mjs left no package, in npm's words; "" when it did. */
function notInstalled() {
  if (!missing) return "";
  try {
    return fs.readFileSync(path.join(process.env.HEXAPLA_MODULES, "not-installed"), "utf8");
  } catch {
    return missing;
  }
}

const ANSWERS = {
  hello({ id }) {
    send(id, "hello", {
      protocol: 1,
      implementation: NAME,
      language: "JavaScript",
      runtime: `Node.js ${process.version}`,
      stack: "core",
      core: buildInfo(),
      faults: buildFaults().split(",").filter(Boolean),
      capabilities: CAPABILITIES,
    });
    send(id, "done");
  },
  abi({ id }) {
    send(id, "abi", { abi_version: abiVersion(), types: layout, constants });
    send(id, "done");
  },
  operators,
  load({ id, context: wanted, model }) {
    const { tied } = readConfig(model);
    let [tensors, parameters] = [0, 0];
    Scope.run((scope) => {
      const context = contextOf(scope, wanted);
      const checkpoint = scope.own(new Checkpoint(model));
      for (const { index, name, shape, dtype, elements } of checkpoint.entries()) {
        if (tied && name === "lm_head.weight") continue;
        const hash = Scope.run((one) => digest([one.own(checkpoint.read(index, context))]));
        send(id, "tensor", { name, shape, dtype, digest: hash });
        tensors++;
        parameters += elements;
      }
    });
    send(id, "done", { tensors, parameters });
  },
  render({ id, tokenizer, records, template, length }) {
    if (!["qwen3", "chatml"].includes(template)) throw new RequestError("request", `template is ${JSON.stringify(template)}`, "template");
    if (length < 2) throw new RequestError("request", `length is ${length}, must be at least 2`, "length");
    const said = renderFile(tokenizer, records, template, length, (record, { ids, flags, rejected }) =>
      send(id, "record", rejected ? { record, rejected } : { record, ids, labels: flags.join("") }),
    );
    send(id, "done", { accepted: said.accepted.length, rejected: said.rejected, markers: said.markers });
  },
  evaluate({ id, context: wanted, spec, model: folder, tokenizer, heldout, adapter }) {
    checkSpec(spec);
    const records = corpus(tokenizer, heldout, spec);
    Scope.run((scope) => {
      const context = contextOf(scope, wanted);
      const model = loadModel(scope, context, folder);
      if (adapter !== null) adapterConfig(adapter, spec);
      const tensors = adapter === null ? null : loadAdapter(scope, context, adapter, model.config, spec);
      sendEvaluation(id, 0, model, tensors, spec, records.accepted);
    });
    send(id, "done");
  },
  async train(request) {
    for (const [key, only] of [["schedule", "pinned"], ["release", "explicit"]]) {
      if (request[key] !== only) return send(request.id, "skipped", { reason: `${key} ${request[key]}: this trainer has ${only} only` });
    }
    await train(request, () => ended);
  },
};

/** Answer one readable request. */
async function answer(request) {
  const { id } = request;
  try {
    const known = checkRequest(request);
    if (missing) return send(id, "skipped", { reason: notInstalled() });
    if (!known || !ANSWERS[request.request]) return send(id, "skipped", { reason: `${request.request} is not written` });
    await ANSWERS[request.request](request);
  } catch (error) {
    worst(FAILED);
    const status = error instanceof HexaplaError || error instanceof RequestError ? error.status : "internal";
    if (status === "internal") process.stderr.write(`${error.stack}\n`);
    send(id, "error", { status, message: error.message, where: error.where ?? request.request });
  }
}

function bye(id) {
  const memory = missing ? null : processMemory();
  if (memory?.liveHandles) worst(HANDLES_LIVE);
  send(id, "bye", { handles_live: memory?.liveHandles ?? null, bytes_live: memory?.liveBytes ?? null });
  process.exit(exitStatus);
}

/** One line of stdin. */
async function handle(line, number) {
  let request;
  try {
    if (line.length > LINE_BYTES_MAX) throw new LineError(`longer than ${LINE_BYTES_MAX} bytes`);
    request = parseLine(line);
    if (typeof request?.id !== "string") throw new LineError("no object with a string id");
  } catch (error) {
    if (!(error instanceof LineError)) throw error;
    worst(UNREADABLE);
    return send("", "error", { status: "request", message: error.message, where: `stdin:${number}` });
  }
  if (request.request !== "bye") return answer(request);
  try {
    checkRequest(request);
  } catch {
    return answer(request); // a bye that is no good is an error like any other
  }
  bye(request.id);
}

let ended = false;

/** Lines as they come, read ahead of the requests that are being answered. */
async function* lines() {
  const waiting = [];
  let rest = [];
  let wake = () => {};
  process.stdin.on("data", (chunk) => {
    for (let end; (end = chunk.indexOf(10)) >= 0; chunk = chunk.subarray(end + 1)) {
      waiting.push(Buffer.concat([...rest, chunk.subarray(0, end)]));
      rest = [];
    }
    if (chunk.length) rest.push(chunk);
    wake();
  });
  process.stdin.on("end", () => {
    if (rest.length) waiting.push(Buffer.concat(rest));
    ended = true;
    wake();
  });
  while (!ended || waiting.length) {
    if (waiting.length) yield waiting.shift();
    else await new Promise((resolve) => (wake = resolve));
  }
}

process.stdout.on("error", () => process.exit(FAILED));
if (!missing) checkVersion();
let count = 0;
for await (const line of lines()) await handle(line, ++count);
bye("");
