// SPDX-License-Identifier: Apache-2.0
//
// Memory, threads, and the end of an environment. Needs --expose-gc.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { entry, ml, MLGraphBuilder, native } from './package.mjs';

const big = { dataType: 'float32', shape: [512, 512] };

async function collect(done) {
  for (let i = 0; i < 100 && !done(); i++) {
    globalThis.gc();
    await sleep(5);
  }
}

// A graph that works for a while.
async function slowGraph(context, size = 384, layers = 12) {
  const builder = new MLGraphBuilder(context), type = { dataType: 'float32', shape: [size, size] };
  let y = builder.input('x', type);
  for (let i = 0; i < layers; i++) y = builder.matmul(y, y);
  return { graph: await builder.build({ y }), type };
}

test('the collector frees contexts, tensors, builders and graphs', async () => {
  const handles = () => { const { externalBytes, ...rest } = native.counters(); return rest; };
  const before = handles();
  await (async () => {
    const context = await ml.createContext(), builder = new MLGraphBuilder(context);
    const abandoned = new MLGraphBuilder(context);
    abandoned.relu(abandoned.input('x', big));
    const graph = await builder.build({ y: builder.relu(builder.input('x', big)) });
    const x = await context.createTensor({ ...big, writable: true });
    const y = await context.createTensor({ ...big, readable: true });
    context.dispatch(graph, { x }, { y });
    await context.readTensor(y);
    assert.equal(native.counters().tensors, before.tensors + 2);
  })();
  await collect(() => JSON.stringify(handles()) === JSON.stringify(before));
  assert.deepEqual(handles(), before);
});

test('the collector knows how much memory tensors and constants take', async () => {
  const context = await ml.createContext();
  const before = native.counters().externalBytes;
  const tensors = [];
  for (let i = 0; i < 8; i++) tensors.push(await context.createTensor(big));
  const bytes = 8 * 512 * 512 * 4;
  assert.ok(native.counters().externalBytes - before >= bytes);
  for (const tensor of tensors) tensor.destroy();
  assert.ok(native.counters().externalBytes - before < bytes / 2);
  const builder = new MLGraphBuilder(context);
  builder.constant(big, new Float32Array(512 * 512));
  assert.ok(native.counters().externalBytes - before >= 512 * 512 * 4);
});

test('a context lives as long as its work', async () => {
  let promise = (async () => {
    const context = await ml.createContext(), { graph, type } = await slowGraph(context);
    const x = await context.createTensor({ ...type, writable: true });
    const y = await context.createTensor({ ...type, readable: true });
    context.writeTensor(x, new Float32Array(384 * 384).fill(1 / 384));
    context.dispatch(graph, { x }, { y });
    return { read: context.readTensor(y) };
  })();
  const { read } = await promise;
  promise = null;
  for (let i = 0; i < 5; i++) globalThis.gc();
  const [value] = new Float32Array(await read);
  assert.ok(Math.abs(value - 1 / 384) < 1e-4, String(value));
});

test('worker threads have contexts of their own', async () => {
  const source = `
    const { parentPort, workerData } = require('node:worker_threads');
    import(workerData).then(async ({ ml, MLGraphBuilder }) => {
      const context = await ml.createContext(), builder = new MLGraphBuilder(context);
      const type = { dataType: 'float32', shape: [3] };
      const graph = await builder.build({ y: builder.neg(builder.input('x', type)) });
      const x = await context.createTensor({ ...type, writable: true });
      const y = await context.createTensor({ ...type, readable: true });
      context.writeTensor(x, new Float32Array([1, 2, 3]));
      context.dispatch(graph, { x }, { y });
      parentPort.postMessage([...new Float32Array(await context.readTensor(y))]);
    });`;
  const results = await Promise.all([1, 2, 3, 4].map(() => new Promise((resolve, reject) => {
    const worker = new Worker(source, { eval: true, workerData: entry });
    let result;
    worker.on('message', (message) => { result = message; });
    worker.on('error', reject);
    worker.on('exit', () => resolve(result));
  })));
  for (const result of results) assert.deepEqual(result, [-1, -2, -3]);
});

test('a worker thread may be ended in the middle of its work', async () => {
  const source = `
    const { parentPort, workerData } = require('node:worker_threads');
    import(workerData).then(async ({ ml, MLGraphBuilder }) => {
      const context = await ml.createContext(), builder = new MLGraphBuilder(context);
      const type = { dataType: 'float32', shape: [256, 256] };
      let y = builder.input('x', type);
      for (let i = 0; i < 20; i++) y = builder.matmul(y, y);
      const graph = await builder.build({ y });
      const x = await context.createTensor({ ...type, writable: true });
      const out = await context.createTensor({ ...type, readable: true });
      for (;;) {
        for (let i = 0; i < 5; i++) context.dispatch(graph, { x }, { y: out });
        const read = context.readTensor(out);
        parentPort.postMessage('busy');
        await read;
      }
    });`;
  for (let i = 0; i < 4; i++) {
    const worker = new Worker(source, { eval: true, workerData: entry });
    await new Promise((resolve) => { worker.once('message', resolve); });
    await worker.terminate();
  }
});

// Runs a module in a process of its own.
function run(source) {
  const text = `import { ml, MLGraphBuilder } from ${JSON.stringify(`file://${entry}`)};\n${source}`;
  return spawnSync(process.execPath, ['--input-type=module', '-e', text], { encoding: 'utf8', timeout: 150_000 });
}

test('idle contexts do not keep the process, promises do', () => {
  const idle = run("const context = await ml.createContext(); context.lost.then(() => console.log('lost'));");
  assert.equal(idle.status, 0, idle.stderr);
  assert.equal(idle.stdout, '');
  const busy = run(`
    const context = await ml.createContext(), type = { dataType: 'float32', shape: [2] };
    const tensor = await context.createTensor({ ...type, readable: true });
    context.readTensor(tensor).then((buffer) => console.log(buffer.byteLength));`);
  assert.equal(busy.status, 0, busy.stderr);
  assert.equal(busy.stdout, '8\n');
});

// Loops that do not let the event loop turn, in which finalizers would run. 400 times 4 MiB. AddressSanitizer keeps what
// is freed for a while.
test('what is dropped is freed under pressure', { skip: process.env.ASAN_OPTIONS && 'AddressSanitizer keeps memory' }, () => {
  const loops = {
    tensors: 'for (let i = 0; i < 400; i++) await context.createTensor(type);',
    'constant tensors': 'for (let i = 0; i < 400; i++) await context.createConstantTensor(type, data);',
    builders: 'for (let i = 0; i < 400; i++) new MLGraphBuilder(context).constant(type, data);',
    graphs: `for (let i = 0; i < 200; i++) {
      const builder = new MLGraphBuilder(context), x = builder.input('x', { ...type, shape: [1, 1024] });
      await builder.build({ y: builder.matmul(x, builder.constant(type, data)) });
    }`,
  };
  for (const [what, loop] of Object.entries(loops)) {
    const result = run(`
      const context = await ml.createContext(), type = { dataType: 'float32', shape: [1024, 1024] };
      const data = new Float32Array(2 ** 20);
      ${loop}
      console.log(process.resourceUsage().maxRSS);`);
    assert.equal(result.status, 0, result.stderr);
    // The collector runs when 190 to 350 MB are there; all of them are 800 MB and more.
    assert.ok(Number(result.stdout) < 500_000, `${what}: ${Math.round(result.stdout / 1000)} MB`);
  }
});

test('a lost context ends what waits for it', () => {
  for (let i = 0; i < 3; i++) {
    const result = run(`
      const context = await ml.createContext();
      context.destroy();
      console.log(typeof (await context.lost).message);`);
    assert.equal(result.status, 0, result.stderr);
    assert.equal(result.stdout, 'string\n');
  }
  // With work in flight, too.
  const busy = run(`
    const context = await ml.createContext(), builder = new MLGraphBuilder(context);
    const type = { dataType: 'float32', shape: [384, 384], readable: true };
    let y = builder.input('x', type);
    for (let i = 0; i < 20; i++) y = builder.matmul(y, y);
    const graph = await builder.build({ y });
    const x = await context.createTensor(type), out = await context.createTensor(type);
    context.dispatch(graph, { x }, { y: out });
    const read = context.readTensor(out);
    context.destroy();
    await context.lost;
    await read.catch((error) => console.log(error.name));`);
  assert.equal(busy.status, 0, busy.stderr);
  assert.equal(busy.stdout, 'InvalidStateError\n');
});

test('process.exit() with work in flight', () => {
  const result = run(`
    const context = await ml.createContext(), builder = new MLGraphBuilder(context);
    const type = { dataType: 'float32', shape: [384, 384] };
    let y = builder.input('x', type);
    for (let i = 0; i < 20; i++) y = builder.matmul(y, y);
    const graph = await builder.build({ y });
    const x = await context.createTensor(type), out = await context.createTensor({ ...type, readable: true });
    for (let i = 0; i < 10; i++) context.dispatch(graph, { x }, { y: out });
    context.readTensor(out);
    process.exit(7);`);
  assert.equal(result.status, 7, result.stderr);
});
