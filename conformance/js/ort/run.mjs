// SPDX-License-Identifier: Apache-2.0
//
// Runs ONNX models in ONNX Runtime Web with its WebNN execution provider on this library, and compares each with the
// runtime's own CPU provider. Nothing may fall back unseen: sessions forbid it, unless expectations.txt has the model.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';

const here = path.dirname(new URL(import.meta.url).pathname);
const { values: options, positionals: filters } = parseArgs({ allowPositionals: true, options: {
  models: { type: 'string', multiple: true },
  ort: { type: 'string', default: path.join(here, 'node_modules/onnxruntime-web') },
  package: { type: 'string', default: path.join(here, '../../../build/conformance/js/index.mjs') },
  expect: { type: 'string', default: path.join(here, 'expectations.txt') },
  device: { type: 'string', default: 'cpu' }, time: { type: 'string' }, threads: { type: 'string' },
  'if-present': { type: 'boolean' }, verbose: { type: 'boolean' }, help: { type: 'boolean' },
} });
if (options.help) {
  console.log(`usage: node conformance/js/ort [options] [FILTER...]

  --models DIR      a folder of .onnx files; may be repeated. Default: those of models.py, and ../shared/models
  --ort DIR         onnxruntime-web; default: what \`npm install --prefix conformance/js/ort\` brings
  --package FILE    index.mjs of the package; default: that of build/
  --expect FILE     models that do not pass or not all on WebNN; default: expectations.txt
  --device cpu|gpu
  --threads N       compute threads; default: one per processor
  --time N          also the time of N runs of each model
  --if-present      without onnxruntime-web or python3-onnx, say so and end with status 77
  --verbose         name every model`);
  process.exit(0);
}

function missing(what) {
  console.log(`skipped: ${what}`);
  process.exit(options['if-present'] ? 77 : 2);
}

function makeModels() {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'webnn-models-'));
  process.on('exit', () => rmSync(folder, { recursive: true }));
  const made = spawnSync('/usr/bin/python3', [path.join(here, 'models.py'), folder], { encoding: 'utf8' });
  if (made.status !== 0) missing(`no models without python3-onnx: ${made.stderr?.trim().split('\n').at(-1)}`);
  const shared = path.join(here, '../../../../shared/models');
  return existsSync(shared) ? [folder, shared] : [folder];
}

if (!existsSync(options.ort)) missing(`there is no onnxruntime-web in ${path.relative('', options.ort)}`);
options.models ??= makeModels();

setFlagsFromString('--liftoff-only'); // the 26 MB of WebAssembly take a minute to optimise otherwise
const webnn = await import(pathToFileURL(path.resolve(options.package)));
const defaults = { deviceType: options.device };
if (options.threads) defaults.threadCount = Number(options.threads);
webnn.create({ defaults }).install(globalThis);
globalThis.GPUDevice ??= class GPUDevice {}; // the client asks whether something is one

// What the client calls.
const counts = { dispatch: 0, graphs: 0, operators: 0 };
function count(object, name, counter) {
  const original = object[name];
  object[name] = function (...values) {
    counts[counter]++;
    return original.apply(this, values);
  };
}
count(MLContext.prototype, 'dispatch', 'dispatch');
count(MLGraphBuilder.prototype, 'build', 'graphs');
for (const name of Object.keys(MLGraphBuilder.prototype).filter((one) => !['input', 'constant', 'build'].includes(one)))
  count(MLGraphBuilder.prototype, name, 'operators');

const dist = pathToFileURL(path.resolve(options.ort, 'dist')).href + '/';
const ort = await import(`${dist}ort.webgpu.mjs`);
ort.env.wasm.numThreads = 1;
ort.env.wasm.wasmPaths = dist;
ort.env.logLevel = 'fatal';

// ---------------------------------------------------------------------------------------------------------------

const ARRAYS = { float32: Float32Array, float16: globalThis.Float16Array ?? Uint16Array, int64: BigInt64Array,
                 int32: Int32Array, uint8: Uint8Array, int8: Int8Array, bool: Uint8Array };
const DYNAMIC = 4; // the size of dimensions that have a name

// Values in (-1, 1), as bit patterns where there is no Float16Array; integers are 1 and 0.
function feedsOf(session) {
  let seed = 1;
  const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 1073741824 - 1;
  const values = {
    float32: random,
    float16: () => { const value = random(); return ARRAYS.float16 === Uint16Array ? halfOf(value) : value; },
    int64: (i) => BigInt((i + 1) % 2),
  };
  return Object.fromEntries(session.inputMetadata.map(({ name, type, shape }) => {
    const sizes = shape.map((size) => (typeof size === 'number' ? size : DYNAMIC));
    const data = new ARRAYS[type](sizes.reduce((product, size) => product * size, 1));
    for (let i = 0; i < data.length; i++) data[i] = (values[type] ?? ((k) => (k + 1) % 2))(i);
    return [name, new ort.Tensor(type, data, sizes)];
  }));
}

// A half of a float in (-1, 1): 10 bits of mantissa, rounded to nearest, no denormals.
function halfOf(value) {
  const bits = new Uint32Array(new Float32Array([value]).buffer)[0], exponent = (bits >>> 23 & 255) - 112;
  return (bits >>> 31) << 15 | (exponent <= 0 ? 0 : (exponent << 10 | bits >>> 13 & 1023) + (bits >>> 12 & 1));
}

function floatOf(half) {
  const exponent = half >>> 10 & 31, mantissa = half & 1023, sign = half >>> 15 ? -1 : 1;
  if (exponent === 31) return mantissa ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + mantissa / 1024) : 2 ** -14 * mantissa / 1024);
}

// The largest difference in units of the allowed one; NaN equals NaN.
function difference(result, expected) {
  const isHalf = result.type === 'float16', read = isHalf && ARRAYS.float16 === Uint16Array ? floatOf : Number;
  let worst = 0;
  if (result.data.length !== expected.data.length) return Infinity;
  for (let i = 0; i < expected.data.length; i++) {
    const a = read(result.data[i]), b = read(expected.data[i]);
    if (Object.is(a, b) || a === b) continue;
    const allowed = isHalf ? 2e-3 * Math.max(1, Math.abs(b)) : 2e-5 * Math.max(1, Math.abs(b));
    const units = Math.abs(a - b) / allowed;
    worst = Number.isNaN(units) ? Infinity : Math.max(worst, units);
  }
  return worst;
}

// ---------------------------------------------------------------------------------------------------------------

// Lines "MODEL | what, see problemOf | REASON".
const expectations = readFileSync(options.expect, 'utf8').split('\n').filter((line) => line && !line.startsWith('#'))
  .map((line) => line.split(' | ')).map(([model, kind, reason]) => ({ model, kind, reason, used: false }));

async function runModel(file) {
  const bytes = readFileSync(file);
  const common = { freeDimensionOverrides: { N: DYNAMIC, S: DYNAMIC }, logSeverityLevel: 4 };
  const strict = { ...common, extra: { session: { disable_cpu_ep_fallback: '1' } } };
  const executionProviders = [{ name: 'webnn', deviceType: options.device }];
  Object.assign(counts, { dispatch: 0, graphs: 0, operators: 0 });
  let session, fallback = false;
  try {
    session = await ort.InferenceSession.create(bytes, { ...strict, executionProviders });
  } catch (error) {
    if (!/fallback/.test(error.message)) throw error;
    fallback = true;
    Object.assign(counts, { dispatch: 0, graphs: 0, operators: 0 });
    session = await ort.InferenceSession.create(bytes, { ...common, executionProviders });
  }
  const feeds = feedsOf(session), results = await session.run(feeds);
  const seen = { ...counts };
  const reference = await ort.InferenceSession.create(bytes, { ...common, executionProviders: ['wasm'] })
    .catch((error) => { if (!/Could not find an implementation/.test(error.message)) throw error; });
  if (!reference) return { ...seen, fallback, worst: Infinity, noReference: true };
  const expected = await reference.run(feeds);
  const worst = Math.max(...Object.keys(expected).map((name) => difference(results[name], expected[name])));
  let time;
  if (options.time) {
    time = Infinity;
    for (let i = 0; i < Number(options.time); i++) {
      const begin = performance.now();
      await session.run(feeds);
      time = Math.min(time, performance.now() - begin);
    }
  }
  await session.release();
  await reference.release();
  return { ...seen, fallback, worst, time };
}

function problemOf({ graphs, dispatch, fallback, worst, noReference }) {
  if (noReference) return 'no reference';
  if (worst > 1) return 'wrong';
  if (!fallback && graphs === 0) return 'folded'; // by the client: nothing is left to run
  if (fallback) return 'fallback';
  return graphs === 1 && dispatch === 1 ? undefined : `${graphs} graphs, ${dispatch} dispatches`;
}

const files = options.models.flatMap((folder) => readdirSync(folder, { recursive: true })
  .filter((name) => name.endsWith('.onnx')).map((name) => path.join(folder, name))).sort();
let passed = 0, expected = 0;
const failures = [];
for (const file of files) {
  const name = path.basename(file, '.onnx');
  if (filters.length && !filters.some((filter) => file.includes(filter))) continue;
  let result, problem;
  try {
    result = await runModel(file);
    problem = problemOf(result);
  } catch (error) {
    problem = `failed: ${error.message}`;
  }
  const line = expectations.find(({ model, kind }) => model === name && kind === problem);
  if (line) line.used = true;
  const text = result ? `${result.operators} operators in ${result.graphs} graph(s), ${result.dispatch} dispatch(es), ` +
    `difference ${result.worst.toPrecision(2)} of what is allowed${result.time ? `, ${result.time.toFixed(2)} ms` : ''}`
    : '';
  if (!problem) passed++;
  else if (line) expected++;
  else failures.push(`${name}: ${problem}`);
  const word = problem ? (line ? 'expected' : 'FAIL') : 'pass';
  if (options.verbose || word === 'FAIL') console.log(`${word} ${name}: ${problem ?? ''} ${text}`);
}
if (!filters.length)
  for (const { model, kind } of expectations.filter(({ used }) => !used))
    failures.push(`${model} is expected to be ${kind} and is not`);
for (const failure of failures) console.log(failure);
console.log(`${passed} passed, ${failures.length} failed, ${expected} skipped`);
if (expected) console.log(`skipped: ${expected} models, for the reasons in expectations.txt`);
process.exit(failures.length || !passed ? 1 : 0);
