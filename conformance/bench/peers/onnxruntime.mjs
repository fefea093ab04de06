// SPDX-License-Identifier: Apache-2.0
//
// usage: node onnxruntime.mjs FOLDER MODULES, with WEBNN_THREADS, PEER_SECONDS and PEER_TOLERANCE in the environment
//
// Runs the ONNX model of a folder that model.py wrote in ONNX Runtime, whose package lies in the folder MODULES, compares
// the results with those of the folder, and prints how long it took as `webnn bench --vs` reads it.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const [folder, modules] = process.argv.slice(2);
const require = createRequire(path.resolve(modules, 'node_modules') + path.sep);
const ort = require('onnxruntime-node');
const { version } = require('onnxruntime-node/package.json');
const milliseconds = Number(process.env.PEER_SECONDS ?? 0.3) * 1000;
const tolerance = Number(process.env.PEER_TOLERANCE ?? 1e-3);

// The float32 array of a .npy file.
function readArray(name) {
  const bytes = readFileSync(path.join(folder, `${name}.npy`));
  const begin = 10 + bytes.readUInt16LE(8);
  const dims = /'shape': \(([^)]*)\)/.exec(bytes.toString('latin1', 10, begin))[1].split(',').filter((d) => d.trim());
  return new ort.Tensor('float32', new Float32Array(bytes.buffer.slice(bytes.byteOffset + begin,
    bytes.byteOffset + bytes.length)), dims.map(Number));
}

// The largest difference, relative to the largest number.
function difference(got, expected) {
  let most = 0, largest = 0;
  for (let i = 0; i < expected.length; i++) {
    most = Math.max(most, Math.abs(got[i] - expected[i]));
    largest = Math.max(largest, Math.abs(expected[i]));
  }
  return got.length === expected.length ? most / largest : Infinity;
}

const session = await ort.InferenceSession.create(path.join(folder, 'model.onnx'), {
  executionProviders: ['cpu'], graphOptimizationLevel: 'all', executionMode: 'sequential', interOpNumThreads: 1,
  intraOpNumThreads: Number(process.env.WEBNN_THREADS ?? 1),
});
const inputs = Object.fromEntries(session.inputNames.map((name) => [name, readArray(name)]));
const outputs = await session.run(inputs);
for (const name of session.outputNames) {
  const error = difference(outputs[name].data, readArray(name).data);
  if (!(error < tolerance)) {
    console.error(`${name} differs by ${error} from what this library computes`);
    process.exit(1);
  }
}

let least = Infinity;
const begin = performance.now();
for (let runs = 0; runs < 3 || performance.now() - begin < milliseconds; runs++) {
  const start = performance.now();
  await session.run(inputs);
  least = Math.min(least, performance.now() - start);
}
console.log(JSON.stringify({ peer: `onnxruntime ${version}`, min_ms: least }));
