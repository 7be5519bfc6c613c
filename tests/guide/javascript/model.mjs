// The frozen model and the adapter on it: config.json, weights by name, adapter tensors in adapter order.
//
// Separate from the forward pass, which takes both as given. Everything read here is owned by the scope passed in.

import fs from "node:fs";
import path from "node:path";

import { LineError, parseLine } from "./lines.mjs";
import { RequestError } from "./requests.mjs";
import { Checkpoint, Scope } from "./safe.mjs";

const ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"];
const FEED_FORWARD = ["gate_proj", "up_proj", "down_proj"];
const SHOWN = 3;

/** A JSON file that must hold an object; throws RequestError (`checkpoint`). */
function readObject(file) {
  try {
    const value = parseLine(fs.readFileSync(file));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
    throw new LineError("not an object");
  } catch (error) {
    if (error instanceof LineError || error.syscall) throw new RequestError("checkpoint", error.message, file);
    throw error;
  }
}

/** The shape in a model folder's config.json. */
export function readConfig(folder) {
  const file = path.join(folder, "config.json");
  const config = readObject(file);
  const refuse = (key) => {
    throw new RequestError("checkpoint", `${key} is ${JSON.stringify(config[key])}`, `${file}: ${key}`);
  };
  const count = (key) => (Number.isSafeInteger(config[key]) && config[key] > 0 ? config[key] : refuse(key));
  if (!["qwen3", "llama"].includes(config.model_type)) refuse("model_type");
  const theta = config.rope_theta ?? config.rope_parameters?.rope_theta;
  if (typeof theta !== "number") refuse("rope_theta");
  if (typeof config.rms_norm_eps !== "number") refuse("rms_norm_eps");
  return {
    layers: count("num_hidden_layers"),
    hidden: count("hidden_size"),
    intermediate: count("intermediate_size"),
    heads: count("num_attention_heads"),
    kvHeads: count("num_key_value_heads"),
    headDim: count("head_dim"),
    vocabulary: count("vocab_size"),
    epsilon: config.rms_norm_eps,
    theta,
    tied: config.tie_word_embeddings === true,
    headNorms: config.model_type === "qwen3",
  };
}

/** [out, in] of each projection. */
function projections(config) {
  const query = config.heads * config.headDim;
  const key = config.kvHeads * config.headDim;
  return {
    q_proj: [query, config.hidden],
    k_proj: [key, config.hidden],
    v_proj: [key, config.hidden],
    o_proj: [config.hidden, query],
    gate_proj: [config.intermediate, config.hidden],
    up_proj: [config.intermediate, config.hidden],
    down_proj: [config.hidden, config.intermediate],
  };
}

const block = (target) => (ATTENTION.includes(target) ? "self_attn" : "mlp");

/** Names and shapes of all weights that the config asks for. */
function weightShapes(config) {
  const shapes = { "model.embed_tokens.weight": [config.vocabulary, config.hidden], "model.norm.weight": [config.hidden] };
  if (!config.tied) shapes["lm_head.weight"] = [config.vocabulary, config.hidden];
  for (let layer = 0; layer < config.layers; layer++) {
    const prefix = `model.layers.${layer}`;
    shapes[`${prefix}.input_layernorm.weight`] = [config.hidden];
    shapes[`${prefix}.post_attention_layernorm.weight`] = [config.hidden];
    for (const [target, shape] of Object.entries(projections(config))) shapes[`${prefix}.${block(target)}.${target}.weight`] = shape;
    if (config.headNorms) {
      for (const norm of ["q_norm", "k_norm"]) shapes[`${prefix}.self_attn.${norm}.weight`] = [config.headDim];
    }
  }
  return shapes;
}

/** Entries of a checkpoint held to names and shapes; other names or shapes are refused with counts and first names. */
function matched(checkpoint, shapes, where, allowed = []) {
  const entries = checkpoint.entries().filter(({ name }) => !allowed.includes(name));
  const found = new Map(entries.map((entry) => [entry.name, entry]));
  const missing = Object.keys(shapes).filter((name) => !found.has(name));
  const extra = [...found.keys()].filter((name) => !Object.hasOwn(shapes, name));
  const words = (names) => `${names.length}${names.length ? ` (${names.slice(0, SHOWN).join(", ")})` : ""}`;
  if (missing.length || extra.length) throw new RequestError("checkpoint", `missing ${words(missing)}, unexpected ${words(extra)}`, where);
  for (const [name, shape] of Object.entries(shapes)) {
    const seen = found.get(name).shape;
    if (seen.join() !== shape.join()) throw new RequestError("checkpoint", `${name} has shape [${seen}], not [${shape}]`, where);
  }
  return found;
}

/** The frozen weights by name, owned by `scope`. */
export function loadModel(scope, context, folder) {
  const config = readConfig(folder);
  const weights = Scope.run((files) => {
    const checkpoint = files.own(new Checkpoint(folder));
    const entries = matched(checkpoint, weightShapes(config), folder, config.tied ? ["lm_head.weight"] : []);
    return Object.fromEntries([...entries].map(([name, { index }]) => [name, scope.own(checkpoint.read(index, context))]));
  });
  return { config, weights, head: weights[config.tied ? "model.embed_tokens.weight" : "lm_head.weight"] };
}

/** Names and shapes of the adapter's tensors, in adapter order. */
export function adapterShapes(config, spec) {
  const shapes = {};
  for (let layer = 0; layer < config.layers; layer++) {
    for (const target of [...ATTENTION, ...FEED_FORWARD].filter((name) => spec.targets.includes(name))) {
      const [out, into] = projections(config)[target];
      const prefix = `base_model.model.model.layers.${layer}.${block(target)}.${target}`;
      shapes[`${prefix}.lora_A.weight`] = [spec.rank, into];
      shapes[`${prefix}.lora_B.weight`] = [out, spec.rank];
    }
  }
  return shapes;
}

/** Tensors of a file by name, in the order of `shapes`, owned by `scope`. */
export function loadTensors(scope, context, file, shapes) {
  return Scope.run((files) => {
    const checkpoint = files.own(new Checkpoint(file));
    const entries = matched(checkpoint, shapes, file);
    return new Map(Object.keys(shapes).map((name) => [name, scope.own(checkpoint.read(entries.get(name).index, context))]));
  });
}

/** adapter_config.json as bytes; its rank and alpha must be the spec's. */
export function adapterConfig(folder, spec) {
  const file = path.join(folder, "adapter_config.json");
  const config = readObject(file);
  for (const [key, right] of [["r", spec.rank], ["lora_alpha", spec.alpha]]) {
    if (config[key] !== right) throw new RequestError("checkpoint", `${key} is ${JSON.stringify(config[key])}, the spec says ${right}`, file);
  }
  return fs.readFileSync(file);
}

/** The adapter of a folder: tensors by name in adapter order. */
export function loadAdapter(scope, context, folder, config, spec) {
  return loadTensors(scope, context, path.join(folder, "adapter_model.safetensors"), adapterShapes(config, spec));
}
