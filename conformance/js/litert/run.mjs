// SPDX-License-Identifier: Apache-2.0
//
// Runs .tflite models in LiteRT.js with its WebNN delegate on this library, and compares each with its own CPU kernels.
// Every node has to be the delegate's, in one graph. The delegate suspends WebAssembly (JSPI), which Node has from 24 on:
// an older one starts the Node that npm has installed here.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import vm from 'node:vm';

const here = path.dirname(fileURLToPath(import.meta.url)), modules = path.join(here, 'node_modules');
const { values: options, positionals: filters } = parseArgs({ allowPositionals: true, options: {
  models: { type: 'string', multiple: true, default: [path.join(modules, '@mediapipe/selfie_segmentation')] },
  litert: { type: 'string', default: path.join(modules, '@litertjs/core') },
  package: { type: 'string', default: path.join(here, '../../../build/conformance/js/index.mjs') },
  node: { type: 'string', default: path.join(modules, `node-${os.platform()}-${os.arch()}/bin/node`) },
  device: { type: 'string', default: 'cpu' },
  'if-present': { type: 'boolean' }, verbose: { type: 'boolean' }, help: { type: 'boolean' },
} });
if (options.help) {
  console.log(`usage: node conformance/js/litert [options] [FILTER...]

  --models DIR      a folder of .tflite files; may be repeated. Default: those of @mediapipe/selfie_segmentation
  --litert DIR      @litertjs/core; default: what \`npm install --prefix conformance/js/litert\` brings
  --node FILE       a Node that can suspend WebAssembly; default: this one, or the one that npm brought
  --package FILE    index.mjs of the package; default: that of build/
  --device cpu|gpu
  --if-present      without LiteRT.js, models or such a Node, say so and end with status 77
  --verbose         name every model and its operators`);
  process.exit(0);
}

function missing(what) {
  console.log(`skipped: ${what}`);
  process.exit(options['if-present'] ? 77 : 2);
}

if (!existsSync(options.litert)) missing(`there is no LiteRT.js in ${path.relative('', options.litert)}`);
const files = options.models.filter(existsSync).flatMap((folder) => readdirSync(folder)
  .filter((name) => name.endsWith('.tflite')).map((name) => path.join(folder, name)))
  .filter((file) => !filters.length || filters.some((filter) => file.includes(filter))).sort();
if (!files.length) missing(`there are no models in ${options.models.map((one) => path.relative('', one)).join(', ')}`);

if (!('Suspending' in WebAssembly)) {
  const flag = '--experimental-wasm-jspi', again = process.execArgv.includes(flag);
  if (again || !existsSync(options.node)) missing(`Node ${process.versions.node} cannot suspend WebAssembly: that takes 24`);
  const { status } = spawnSync(options.node, [flag, '--no-warnings', fileURLToPath(import.meta.url), ...process.argv.slice(2)],
                               { stdio: 'inherit' });
  process.exit(status ?? 1);
}

// ---------------------------------------------------------------------------------------------------------------

const webnn = await import(pathToFileURL(path.resolve(options.package)));
await webnn.create().ml.createContext({ deviceType: options.device }).catch((error) => missing(error.message));
webnn.create({ defaults: { deviceType: options.device } }).install(globalThis);
globalThis.GPUDevice ??= class GPUDevice {}; // the client asks whether something is one

// What the client calls.
const counts = new Map();
for (const { prototype } of [MLContext, MLGraphBuilder])
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    if (name === 'constructor' || typeof value !== 'function') continue;
    prototype[name] = function (...values) {
      counts.set(name, (counts.get(name) ?? 0) + 1);
      return value.apply(this, values);
    };
  }

// LiteRT.js loads its program as a page or a worker does; this is CommonJS inside of a package that is not.
globalThis.self = globalThis;
globalThis.importScripts = (file) => {
  const module = { exports: {} }, names = ['require', 'module', 'exports', '__filename', '__dirname'];
  vm.compileFunction(readFileSync(file, 'utf8'), names, { filename: file })(createRequire(file), module, module.exports, file,
                                                                            path.dirname(file));
  globalThis.ModuleFactory = module.exports;
};
const said = [];
globalThis.Module = { print: (text) => said.push(text), printErr: (text) => said.push(text) };
console.warn = (...values) => said.push(values.join(' ')); // there is no WebGPU

const litert = await import(pathToFileURL(path.resolve(options.litert, 'dist/index.js')));
await litert.loadLiteRt(path.resolve(options.litert, 'wasm') + path.sep, { jspi: true });

// A face over shoulders, so that a segmentation has two sides.
function imageOf([, height, width, channels]) {
  const colorAt = (x, y) => {
    const face = 1.8 * x * x + (y + 0.1) ** 2, eye = (Math.abs(x) - 0.06) ** 2 + (y + 0.13) ** 2;
    if (face < 0.05 && face > 0.03 && y < -0.15) return [0.2, 0.12, 0.08]; // hair
    if (face < 0.05 && eye < 0.0006) return [0.05, 0.05, 0.05];
    if (face < 0.05) return Math.abs(y) < 0.012 && Math.abs(x) < 0.06 ? [0.7, 0.2, 0.2] : [0.87, 0.67, 0.55];
    return y > 0.1 && Math.abs(x) < 0.2 + (y - 0.1) * 0.9 ? [0.1, 0.15, 0.3] : [0.55, 0.6, 0.62];
  };
  return Float32Array.from({ length: height * width * channels }, (_, i) => {
    const x = Math.floor(i / channels) % width, y = Math.floor(i / channels / width);
    return colorAt(x / width - 0.5, y / height - 0.5)[i % channels];
  });
}

async function run(bytes, accelerator) {
  const model = await litert.loadAndCompile(bytes, { accelerator, webNNOptions: { devicePreference: options.device } });
  const accelerated = model.isFullyAccelerated;
  const inputs = model.getInputDetails().map(({ shape }) => new litert.Tensor(imageOf(shape), shape));
  const outputs = [];
  for (const result of await model.run(inputs)) {
    const tensor = await result.moveTo('wasm');
    outputs.push(Float32Array.from(tensor.toTypedArray()));
    tensor.delete();
  }
  inputs.forEach((tensor) => tensor.delete());
  model.delete();
  return { accelerated, outputs };
}

const ALLOWED = 5e-4; // of a probability: the models end with a sigmoid of numbers around 50
let passed = 0;
const failures = [];
for (const file of files) {
  const name = path.basename(file, '.tflite'), bytes = new Uint8Array(readFileSync(file));
  try {
    counts.clear();
    const { accelerated, outputs } = await run(bytes, 'webnn'), seen = new Map(counts);
    const { outputs: expected } = await run(bytes, 'wasm');
    let worst = 0, largest = 0;
    expected.forEach((values, k) => values.forEach((value, i) => {
      const difference = Math.abs(outputs[k][i] - value) / Math.max(1, Math.abs(value));
      worst = Math.max(worst, Number.isNaN(difference) ? Infinity : difference);
      largest = Math.max(largest, Math.abs(value));
    }));
    const problem = !accelerated ? 'not every node is the delegate\'s'
      : seen.get('build') !== 1 || seen.get('dispatch') !== 1 ? `${seen.get('build')} graphs, ${seen.get('dispatch')} dispatches`
      : !(largest > 0.1) ? `says nothing: all values are below ${largest}`
      : worst > ALLOWED ? `differs by ${worst}; allowed is ${ALLOWED}` : undefined;
    if (problem) failures.push(`${name}: ${problem}`);
    else passed++;
    if (options.verbose)
      console.log(`${problem ? 'FAIL' : 'pass'} ${name}: difference ${worst.toPrecision(2)}, values to ${largest.toPrecision(3)}; ` +
                  [...seen].map(([method, count]) => `${count} ${method}`).join(', '));
  } catch (error) {
    failures.push(`${name}: failed: ${error.stack ?? error}\n${said.slice(-5).join('\n')}`);
  }
}
for (const failure of failures) console.log(failure);
console.log(`${passed} passed, ${failures.length} failed`);
process.exit(failures.length || !passed ? 1 : 0);
