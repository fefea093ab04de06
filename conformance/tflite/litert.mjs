// SPDX-License-Identifier: Apache-2.0
//
// Computes models with LiteRT.js on the CPU: node litert.mjs MODULES, where MODULES is the folder whose node_modules has
// @litertjs/core. For every line of standard input, a JSON object {"model": path, "feeds": {name: {"type", "dims", "file"}},
// "outputs": {name: file}}, writes the outputs and a line: nothing, or what went wrong. Where a signature calls them by other
// names, inputs and outputs are taken in their order.

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import vm from 'node:vm';

const core = path.resolve(process.argv[2], 'node_modules/@litertjs/core');
const arrays = { float32: Float32Array, int32: Int32Array, uint8: Uint8Array };

// LiteRT.js loads its program as a page or a worker does; this is CommonJS inside of a package that is not.
globalThis.self = globalThis;
globalThis.GPUDevice ??= class GPUDevice {}; // the client asks whether something is one
globalThis.importScripts = (file) => {
  const module = { exports: {} }, names = ['require', 'module', 'exports', '__filename', '__dirname'];
  vm.compileFunction(readFileSync(file, 'utf8'), names, { filename: file })(createRequire(file), module, module.exports, file,
                                                                            path.dirname(file));
  globalThis.ModuleFactory = module.exports;
};
let said = [];
globalThis.Module = { print: (text) => said.push(text), printErr: (text) => said.push(text) };
console.warn = (...values) => said.push(values.join(' ')); // there is no WebGPU

const litert = await import(pathToFileURL(path.join(core, 'dist/index.js')));
await litert.loadLiteRt(path.join(core, 'wasm') + path.sep, { threads: false });

async function compute({ model: file, feeds, outputs }) {
  const model = await litert.loadAndCompile(new Uint8Array(readFileSync(file)), { accelerator: 'wasm' });
  const inputs = model.getInputDetails().map(({ name }, i) => {
    const { type, dims, file } = feeds[name] ?? Object.values(feeds)[i], bytes = readFileSync(file);
    return new litert.Tensor(new arrays[type](bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)), dims);
  });
  const results = await model.run(inputs);
  for (const [i, { name }] of model.getOutputDetails().entries()) {
    const { buffer, byteOffset, byteLength } = results[i].toTypedArray();
    writeFileSync(outputs[name] ?? Object.values(outputs)[i], Buffer.from(buffer, byteOffset, byteLength));
  }
  [...inputs, ...results].forEach((tensor) => tensor.delete());
  model.delete();
}

// What it says besides counts: a model that it cannot prepare gives results that are none.
const errors = () => said.filter((text) => text.startsWith('ERROR')).map((text) => text.replace(/^ERROR: /, ''));

for await (const line of createInterface({ input: process.stdin })) {
  said = [];
  const fault = await compute(JSON.parse(line)).then(() => [], (error) => [error.message ?? String(error)]);
  console.log([...fault, ...errors()].join('; ').replaceAll('\n', ' '));
}
