// SPDX-License-Identifier: Apache-2.0
//
// usage: node llamacpp.mjs FOLDER MODULES, with LLAMA_WEIGHTS, LLAMA_TOKENS, LLAMA_BACKEND, WEBNN_THREADS and PEER_SECONDS
// in the environment, which webnn-bench-llama sets
//
// Runs the network of conformance/bench/llama.c in llama.cpp, whose package @node-llama-cpp/linux-x64 (linux-x64-vulkan for
// a GPU) lies in the folder MODULES: the same sizes, weights of the same number of bits in blocks of 32, and random. Prints
// the fewest milliseconds that a batch of LLAMA_TOKENS tokens took, as `webnn bench --vs` reads it. FOLDER keeps the models.

import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const [folder, modules] = process.argv.slice(2);
const weights = process.env.LLAMA_WEIGHTS ?? 'float16';
const tokens = Number(process.env.LLAMA_TOKENS ?? 1);
const gpu = process.env.LLAMA_BACKEND === 'gpu';
const threads = Number(process.env.WEBNN_THREADS ?? 1);
const milliseconds = Number(process.env.PEER_SECONDS ?? 0.3) * 1000;

const sizes = { layers: 30, hidden: 576, heads: 9, pairs: 3, head: 64, inner: 1536, vocabulary: 49152, context: 256 };

// The types of GGUF: number, elements of a block and its bytes.
const FLOAT32 = { id: 0, elements: 1, bytes: 4 };
const matrixTypes = {
  float16: { id: 1, elements: 1, bytes: 2 },
  uint4: { id: 2, elements: 32, bytes: 18 }, // Q4_0
  int8: { id: 8, elements: 32, bytes: 34 }, // Q8_0
};
const ALIGNMENT = 32;

function number(value, bytes) {
  const buffer = Buffer.alloc(bytes);
  if (bytes === 8) buffer.writeBigUInt64LE(BigInt(value));
  else buffer.writeUInt32LE(value);
  return buffer;
}
const text = (value) => Buffer.concat([number(Buffer.byteLength(value), 8), Buffer.from(value)]);

function property(key, value) {
  if (typeof value === 'string') return Buffer.concat([text(key), number(8, 4), text(value)]);
  if (Number.isInteger(value)) return Buffer.concat([text(key), number(4, 4), number(value, 4)]);
  const real = Buffer.alloc(4);
  real.writeFloatLE(value);
  return Buffer.concat([text(key), number(6, 4), real]);
}

// The name, the shape with the innermost dimension first, and the type of each tensor.
function tensors(matrix) {
  const { hidden, inner, pairs, head, vocabulary } = sizes;
  const list = [['token_embd', [hidden, vocabulary], matrix], ['output_norm', [hidden], FLOAT32]];
  for (let i = 0; i < sizes.layers; i++) {
    for (const [name, shape] of Object.entries({
      attn_q: [hidden, hidden], attn_k: [hidden, pairs * head], attn_v: [hidden, pairs * head],
      attn_output: [hidden, hidden], ffn_gate: [hidden, inner], ffn_up: [hidden, inner], ffn_down: [inner, hidden],
    })) list.push([`blk.${i}.${name}`, shape, matrix]);
    for (const name of ['attn_norm', 'ffn_norm']) list.push([`blk.${i}.${name}`, [hidden], FLOAT32]);
  }
  return list.map(([name, shape, type]) => {
    const elements = shape.reduce((a, b) => a * b);
    return { name: `${name}.weight`, shape, type, elements, bytes: elements / type.elements * type.bytes };
  });
}

let state = 88172645;
function random() { // 32 bits
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return state;
}

// Numbers about 0.04 in size, and scales that make as much of integers.
function values(tensor) {
  const data = Buffer.allocUnsafe(tensor.bytes);
  if (tensor.type === FLOAT32) {
    for (let i = 0; i < tensor.elements; i++) data.writeFloatLE(1, 4 * i);
    return data;
  }
  for (let i = 0; i + 4 <= data.length; i += 4) data.writeInt32LE(random(), i);
  const scale = { float16: 0, uint4: 0x1d00, int8: 0x0d00 }[weights]; // 0.005 and 0.0003
  if (scale) for (let i = 0; i < data.length; i += tensor.type.bytes) data.writeUInt16LE(scale, i);
  else for (let i = 0; i < data.length; i += 2) data.writeUInt16LE(data.readUInt16LE(i) & 0x83ff | 0x2800, i);
  return data;
}

function writeModel(file) {
  const list = tensors(matrixTypes[weights]), { head, hidden, heads, pairs, inner, layers, vocabulary, context } = sizes;
  const properties = [
    property('general.architecture', 'llama'), property('llama.context_length', context),
    property('llama.embedding_length', hidden), property('llama.block_count', layers),
    property('llama.feed_forward_length', inner), property('llama.attention.head_count', heads),
    property('llama.attention.head_count_kv', pairs), property('llama.attention.layer_norm_rms_epsilon', 1e-5),
    property('llama.rope.dimension_count', head), property('llama.vocab_size', vocabulary),
    property('tokenizer.ggml.model', 'no_vocab'),
  ];
  const parts = [Buffer.from('GGUF'), number(3, 4), number(list.length, 8), number(properties.length, 8), ...properties];
  let offset = 0;
  for (const { name, shape, type, bytes } of list) {
    parts.push(text(name), number(shape.length, 4), ...shape.map((size) => number(size, 8)), number(type.id, 4),
      number(offset, 8));
    offset += Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
  }
  const header = Buffer.concat(parts), out = openSync(`${file}.new`, 'w');
  writeSync(out, header);
  writeSync(out, Buffer.alloc((ALIGNMENT - header.length % ALIGNMENT) % ALIGNMENT));
  for (const tensor of list) {
    writeSync(out, values(tensor));
    writeSync(out, Buffer.alloc((ALIGNMENT - tensor.bytes % ALIGNMENT) % ALIGNMENT));
  }
  closeSync(out);
  renameSync(`${file}.new`, file);
}

const variant = gpu ? 'linux-x64-vulkan' : 'linux-x64';
const folderOfPackage = path.resolve(modules, 'node_modules/@node-llama-cpp', variant);
if (!existsSync(folderOfPackage) || !matrixTypes[weights]) {
  console.log(existsSync(folderOfPackage) ? `skipped: no ${weights} here` : `skipped: there is no ${folderOfPackage}; install.sh brings it`);
  process.exit(77);
}
mkdirSync(folder, { recursive: true });
const file = path.join(folder, `llama-${weights}.gguf`);
if (!existsSync(file)) writeModel(file);

const binaries = path.join(folderOfPackage, 'bins', variant);
const { release } = JSON.parse(readFileSync(path.join(binaries, '_nlcBuildMetadata.json'))).buildOptions.llamaCpp;
const addon = createRequire(import.meta.url)(path.join(binaries, 'llama-addon.node'));
addon.setLoggerLogLevel(Number(process.env.LLAMA_LOG ?? 0));
addon.loadBackends(binaries);
await addon.init();
const model = new addon.AddonModel(file, { gpuLayers: gpu ? sizes.layers + 1 : 0, useMmap: true, addonExports: addon });
if (!await model.init()) throw new Error(`llama.cpp does not read ${file}`);
const context = new addon.AddonContext(model, { contextSize: sizes.context, batchSize: Math.max(tokens, 32), threads });
if (!await context.init()) throw new Error('llama.cpp makes no context');
context.setThreads(threads);

// The same place each time, so that every run is as much work.
async function run(position) {
  context.initBatch(tokens);
  const batch = Uint32Array.from({ length: tokens }, (_, i) => (i * 7919 + 1) % sizes.vocabulary);
  context.addToBatch(0, position, batch, Uint32Array.of(tokens - 1));
  await context.decodeBatch();
  context.removeTokenCellsFromSequence(0, position, position + tokens);
}
const position = 0;
let least = Infinity;
const begin = performance.now();
for (let runs = 0; runs < 3 || performance.now() - begin < milliseconds; runs++) {
  const start = performance.now();
  await run(position);
  least = Math.min(least, performance.now() - start);
}
console.log(JSON.stringify({ peer: `llama.cpp ${release}`, min_ms: least }));
process.exit(0);
