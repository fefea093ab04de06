// SPDX-License-Identifier: Apache-2.0
//
// The cache of compiled graphs: what is found is not built, and whatever is wrong with the folder or a file in it, builds go
// on as without.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, utimesSync,
         writeFileSync, chmodSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { pathToFileURL } from 'node:url';
import { startHost } from '../bridge/host.mjs';
import { decode, encode } from '../bridge/wire.mjs';
import { create, entry, native } from './package.mjs';

const beside = (name) => import(pathToFileURL(path.join(path.dirname(entry), name)));
const { createWebNN } = await beside('webnn.mjs');
const { createGraphCache } = await beside('graph_cache.mjs');

const square = { dataType: 'float32', shape: [64, 64] };
const SIZE = 64 * 64;

function temporaryFolder(t) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'webnn-cache-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

// A front over the cache, and how often it has built.
function frontOf(option, { defaults, api, save = native.host.save } = {}) {
  const counts = { builds: 0, loads: 0 };
  const counted = {
    ...native,
    build(...values) {
      counts.builds++;
      return native.build(...values);
    },
    host: {
      ...native.host,
      save,
      load(...values) {
        counts.loads++;
        return native.host.load(...values);
      },
    },
  };
  return { ...createWebNN(counted, { api, defaults, graphCache: createGraphCache(counted, option) }), counts };
}

const weightsOf = (seed) => Float32Array.from({ length: SIZE }, (_, i) => ((i * 7 + seed) % 13) / 13 - 0.5);

// y = softmax(relu(x w) w), and what it gives.
async function run({ ml, MLGraphBuilder }, { seed = 0, label = '', constant, context } = {}) {
  context ??= await ml.createContext();
  const builder = new MLGraphBuilder(context), x = builder.input('x', square);
  const w = constant ? await constant(context, builder) : builder.constant(square, weightsOf(seed));
  const y = builder.softmax(builder.matmul(builder.relu(builder.matmul(x, w)), w, { label }), 1);
  const graph = await builder.build({ y });
  const [input, output] = await Promise.all([1, 2].map(() => context.createTensor({ ...square, writable: true, readable: true })));
  context.writeTensor(input, weightsOf(5));
  context.dispatch(graph, { x: input }, { y: output });
  return [...new Float32Array(await context.readTensor(output))];
}

const entriesOf = (folder) => readdirSync(folder).sort();
const plain = await run(create({ compiledGraphCache: null }));

test('off unless a folder is named', async (t) => {
  const folder = temporaryFolder(t);
  const source = `import { ml, MLGraphBuilder } from ${JSON.stringify(pathToFileURL(entry).href)};
    const builder = new MLGraphBuilder(await ml.createContext());
    const x = builder.input('x', { dataType: 'float32', shape: [2] });
    await builder.build({ y: builder.neg(x) });`;
  const start = (variables) => spawnSync(process.execPath, ['--input-type=module', '-e', source],
    { cwd: folder, encoding: 'utf8', env: { ...process.env, HOME: folder, XDG_CACHE_HOME: folder, TMPDIR: folder, ...variables } });
  const without = start({ WEBNN_COMPILED_GRAPH_CACHE: '' });
  assert.equal(without.status, 0, without.stderr);
  assert.deepEqual(entriesOf(folder), []);
  // The environment is for programs that somebody else has written.
  const within = path.join(folder, 'a');
  const result = start({ WEBNN_COMPILED_GRAPH_CACHE: within });
  assert.equal(result.status, 0, result.stderr);
  assert.equal(result.stderr, '');
  assert.equal(entriesOf(within).length, 1);
  assert.match(entriesOf(within)[0], /^[0-9a-f]{64}\.wnnc$/);
  assert.equal(statSync(within).mode & 0o777, 0o700);
  for (const option of [{}, { folder: '' }, 1, { folder: within, maxBytes: -1 }, { folder: within, maxBytes: 'x' }])
    assert.throws(() => create({ compiledGraphCache: option }), TypeError);
});

test('what is found gives the same bits, and is not built', async (t) => {
  const folder = temporaryFolder(t), first = frontOf(folder);
  assert.deepEqual(await run(first), plain);
  assert.deepEqual(first.counts, { builds: 1, loads: 0 });
  assert.equal(entriesOf(folder).length, 1);
  for (const front of [first, frontOf({ folder }), frontOf(folder, { api: '2025-03' })]) {
    const { builds } = front.counts;
    assert.deepEqual(await run(front), plain);
    assert.equal(front.counts.builds, builds);
    assert.ok(front.counts.loads > 0);
  }
  assert.equal(entriesOf(folder).length, 1);
});

test('a builder is used up by what is found as by what is built', async (t) => {
  const front = frontOf(temporaryFolder(t));
  for (const found of [false, true]) {
    const context = await front.ml.createContext(), builder = new front.MLGraphBuilder(context);
    const x = builder.input('x', square);
    await assert.rejects(builder.build({}), TypeError);
    await assert.rejects(builder.build({ y: x }), TypeError); // which a build refuses
    const graph = builder.build({ y: builder.relu(x) });
    await assert.rejects(builder.build({ y: x }), { name: 'InvalidStateError' });
    assert.throws(() => builder.relu(x), { name: 'InvalidStateError' });
    assert.equal((await graph).devices[0], 'cpu');
    assert.equal(front.counts.builds, found ? 5 : 3); // the refused ones, too
    if (found) context.destroy();
    await assert.rejects(builder.build({ y: x }), { name: 'InvalidStateError' });
  }
});

test('contexts that are lost reject', async (t) => {
  const folder = temporaryFolder(t), front = frontOf(folder);
  for (let i = 0; i < 2; i++) { // nothing is found, something is
    const context = await front.ml.createContext(), promise = run(front, { context });
    context.destroy();
    await assert.rejects(promise, { name: 'InvalidStateError' });
    await run(front);
  }
  assert.ok(entriesOf(folder).every((name) => name.endsWith('.wnnc')), String(entriesOf(folder)));
});

test('the older builders build more than once', async (t) => {
  const folder = temporaryFolder(t), front = frontOf(folder, { api: '2024-04' });
  for (let i = 0; i < 2; i++) {
    const context = await front.ml.createContext(), builder = new front.MLGraphBuilder(context);
    const x = builder.input('x', { dataType: 'float32', dimensions: [3] });
    const graphs = await Promise.all([builder.build({ y: builder.neg(x) }), builder.build({ y: builder.abs(x) })]);
    const results = await Promise.all(graphs.map((graph) =>
      context.compute(graph, { x: new Float32Array([1, -2, 3]) }, { y: new Float32Array(3) })));
    assert.deepEqual(results.map(({ outputs }) => [...outputs.y]), [[-1, 2, -3], [1, 2, 3]]);
    assert.equal(front.counts.builds, 2);
  }
  assert.equal(entriesOf(folder).length, 2);
});

test('all that makes a graph is in its key', async (t) => {
  const folder = temporaryFolder(t), front = frontOf(folder);
  const strict = frontOf(folder, { defaults: { strictNumerics: true } });
  const fromTensor = (seed) => async (context, builder) =>
    builder.constant(await context.createConstantTensor(square, weightsOf(seed)));
  const shared = (seed) => (context, builder) => {
    const bytes = new Float32Array(new SharedArrayBuffer(SIZE * 4));
    bytes.set(weightsOf(seed));
    return builder.constant(square, bytes);
  };
  const kinds = [{}, { seed: 1 }, { label: 'second' }];
  for (const kind of kinds) await run(front, kind);
  await run(strict);
  assert.equal(entriesOf(folder).length, 4);
  const expected = await run(create({ compiledGraphCache: null }), { seed: 1 });
  // Constants are what they hold, not where they come from.
  for (const constant of [fromTensor, shared])
    for (const seed of [0, 1]) assert.deepEqual(await run(front, { constant: constant(seed) }), seed ? expected : plain);
  assert.equal(entriesOf(folder).length, 4);
  assert.deepEqual(front.counts, { builds: 3, loads: 4 });
});

test('files that are damaged, or of something else, are replaced', async (t) => {
  const folder = temporaryFolder(t), front = frontOf(folder);
  await run(front);
  const [name] = entriesOf(folder), file = path.join(folder, name), good = readFileSync(file);
  const changed = (at) => {
    const bytes = Buffer.from(good);
    bytes[at] ^= 1;
    return bytes;
  };
  const wrong = [Buffer.alloc(0), good.subarray(0, good.length >> 1), Buffer.concat([good, good]), Buffer.from('no graph'),
                 changed(3), changed(8), changed(100), changed(300), changed(good.length - 1), Buffer.alloc(good.length)];
  for (const [i, bytes] of wrong.entries()) {
    rmSync(file);
    writeFileSync(file, bytes);
    assert.deepEqual(await run(front), plain);
    assert.equal(front.counts.builds, i + 2);
    assert.deepEqual(readFileSync(file), good);
    assert.deepEqual(entriesOf(folder), [name]);
  }
  // Another graph in its place is whole: that nobody else writes here is what the folder is for.
  rmSync(file);
  mkdirSync(file);
  assert.deepEqual(await run(front), plain);
  assert.deepEqual(entriesOf(folder), [name]);
});

test('what others could have written is not run', async (t) => {
  const folder = temporaryFolder(t), warnings = [], listen = (warning) => warnings.push(warning.message);
  process.on('warning', listen);
  t.after(() => process.off('warning', listen));
  const open = path.join(folder, 'open'), link = path.join(folder, 'link'), file = path.join(folder, 'file'), good = path.join(folder, 'good');
  for (const one of [open, good]) mkdirSync(one, { mode: 0o700 });
  chmodSync(open, 0o770);
  symlinkSync(good, link);
  writeFileSync(file, '', { mode: 0o600 });
  for (const [option, problem] of [[open, 'is writable for others'], [link, 'is a symbolic link'], ['/proc/none', 'ENOENT'], [file, 'is no folder']]) {
    const front = frontOf(option);
    for (let i = 0; i < 2; i++) assert.deepEqual(await run(front), plain);
    await new Promise(setImmediate);
    assert.deepEqual(front.counts, { builds: 2, loads: 0 });
    assert.equal(warnings.length, 1, String(warnings));
    assert.ok(warnings[0].includes(option) && warnings.pop().includes(problem));
  }
  assert.deepEqual([entriesOf(open), entriesOf(good)], [[], []]);
  // A file is believed as the folder is.
  await run(frontOf(good));
  const kept = path.join(good, entriesOf(good)[0]), front = frontOf(good);
  chmodSync(kept, 0o666);
  assert.deepEqual(await run(front), plain);
  assert.deepEqual(front.counts, { builds: 1, loads: 0 });
  assert.equal(statSync(kept).mode & 0o777, 0o600);
});

test('a folder that cannot be written to, and a disk that is full', async (t) => {
  const folder = temporaryFolder(t);
  for (const option of ['/sys/kernel', '/proc/self/task']) { // nobody can
    const front = frontOf(option);
    assert.deepEqual(await run(front), plain);
    assert.equal(front.counts.builds, 1);
  }
  // What was stored is found in a folder that has become read-only. The super-user writes nevertheless.
  await run(frontOf(folder));
  chmodSync(folder, 0o500);
  const found = frontOf(folder);
  assert.deepEqual(await run(found), plain);
  assert.equal(found.counts.builds, 0);
  assert.deepEqual(await run(found, { seed: 1 }), await run(create({ compiledGraphCache: null }), { seed: 1 }));
  chmodSync(folder, 0o700);
  for (const name of entriesOf(folder)) rmSync(path.join(folder, name));
  const full = openSync('/dev/full', 'w');
  t.after(() => closeSync(full));
  const front = frontOf(folder, { save: (graph, file, max) => native.host.save(graph, full, max) });
  assert.deepEqual(await run(front), plain);
  assert.deepEqual(entriesOf(folder), []);
});

test('the folder stays within its bytes, and the graphs that were used last stay', async (t) => {
  const folder = temporaryFolder(t);
  await run(frontOf(folder));
  const [first] = entriesOf(folder), { size } = statSync(path.join(folder, first)), maxBytes = Math.floor(size * 3.5);
  const front = frontOf({ folder, maxBytes }), age = (name, seconds) => {
    const time = Date.now() / 1000 - seconds;
    utimesSync(path.join(folder, name), time, time);
  };
  const stray = `${'0'.repeat(64)}.${'0'.repeat(16)}`, recent = `${'0'.repeat(64)}.${'1'.repeat(16)}`, kept = 'notes.txt';
  for (const name of [stray, recent, kept]) writeFileSync(path.join(folder, name), 'x'.repeat(size));
  age(stray, 7200); // its process must be gone
  age(first, 1000);
  const order = [first];
  for (let seed = 1; seed < 6; seed++) {
    const before = entriesOf(folder);
    await run(front, { seed });
    order.push(entriesOf(folder).find((name) => !before.includes(name)));
    age(order[seed], 1000 - 100 * seed);
    assert.equal((await run(front)).length, SIZE); // the first is used all the time
    assert.equal(front.counts.builds, seed);
    age(first, 950 - 100 * seed);
    const entries = entriesOf(folder).filter((name) => name.endsWith('.wnnc'));
    assert.ok(entries.reduce((sum, name) => sum + statSync(path.join(folder, name)).size, 0) <= maxBytes);
    assert.deepEqual(entries, [...new Set([first, order[seed - 1], order[seed]])].sort());
  }
  assert.deepEqual(entriesOf(folder).filter((name) => !name.endsWith('.wnnc')), [recent, kept].sort());
  // One that is larger than all of it is not written at all.
  const small = temporaryFolder(t);
  assert.deepEqual(await run(frontOf({ folder: small, maxBytes: size - 1 })), plain);
  assert.deepEqual(entriesOf(small), []);
  assert.deepEqual(await run(frontOf({ folder: small, maxBytes: size })), plain);
  assert.equal(entriesOf(small).length, 1);
});

// A process that builds one graph after the other, of five, and prints which one it has the right result of.
const builder = (folder) => `import { create } from ${JSON.stringify(pathToFileURL(entry).href)};
  const { ml, MLGraphBuilder } = create({ compiledGraphCache: { folder: ${JSON.stringify(folder)}, maxBytes: 120000 } });
  const context = await ml.createContext(), type = { dataType: 'float32', shape: [64, 64] };
  const [x, y] = await Promise.all([1, 2].map(() => context.createTensor({ ...type, writable: true, readable: true })));
  context.writeTensor(x, new Float32Array(4096).fill(1));
  for (let i = 0; ; i = (i + 1) % 5) {
    const builder = new MLGraphBuilder(context);
    const w = builder.constant(type, Float32Array.from({ length: 4096 }, (_, k) => k + i));
    const graph = await builder.build({ y: builder.matmul(builder.input('x', type), w) });
    context.dispatch(graph, { x }, { y });
    const [sum] = new Float32Array(await context.readTensor(y));
    if (sum !== 64 * 63 * 32 + 64 * i) throw new Error(i + ': ' + sum);
    process.stdout.write(i + '\\n');
  }`;

test('processes share a folder, and may be killed at any time', async (t) => {
  const folder = temporaryFolder(t);
  const start = () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', builder(folder)], { stdio: ['ignore', 'pipe', 'pipe'] });
    const state = { child, lines: 0, errors: '' };
    child.stdout.on('data', (data) => { state.lines += String(data).split('\n').length - 1; });
    child.stderr.on('data', (data) => { state.errors += data; });
    state.ended = new Promise((resolve) => { child.on('exit', (code, signal) => resolve(signal ?? code)); });
    return state;
  };
  const wait = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });
  for (let round = 0; round < 3; round++) {
    const children = [start(), start()];
    for (let i = 0; i < 600 && children.some(({ lines }) => lines < 20); i++) await wait(50);
    await wait(17 * round);
    children[0].child.kill('SIGKILL');
    const { lines } = children[1];
    for (let i = 0; i < 600 && children[1].lines < lines + 10; i++) await wait(50); // which goes on
    children[1].child.kill('SIGKILL');
    for (const { ended, errors } of children) assert.equal(await ended, 'SIGKILL', errors);
    for (const state of children) assert.ok(state.lines >= 20, state.errors);
    assert.ok(children[1].lines >= lines + 10);
  }
  const bytes = entriesOf(folder).filter((name) => name.endsWith('.wnnc')).map((name) => statSync(path.join(folder, name)).size);
  assert.ok(bytes.length > 0 && bytes.reduce((a, b) => a + b, 0) <= 120000 + 3 * 2 * Math.max(...bytes));
});

test('sizes that come late', async (t) => {
  const folder = temporaryFolder(t), front = frontOf(folder);
  for (let i = 0; i < 2; i++) {
    const context = await front.ml.createContext(), builder = new front.MLGraphBuilder(context);
    const x = builder.input('x', { dataType: 'float32', shape: ['rows', 2] });
    const graph = await builder.build({ y: builder.add(x, builder.constant('float32', 1)) });
    const type = { dataType: 'float32', shape: [3, 2] };
    const [a, b] = await Promise.all([1, 2].map(() => context.createTensor({ ...type, writable: true, readable: true })));
    context.writeTensor(a, new Float32Array([1, 2, 3, 4, 5, 6]));
    context.dispatch(graph, { x: a }, { y: b });
    assert.deepEqual([...new Float32Array(await context.readTensor(b))], [2, 3, 4, 5, 6, 7]);
    assert.deepEqual(front.counts, { builds: 1, loads: i });
  }
  assert.equal(entriesOf(folder).length, 1);
});

test('graphs of a GPU', async (t) => {
  const folder = temporaryFolder(t), defaults = { deviceType: 'gpu' }, front = frontOf(folder, { defaults });
  let expected;
  try {
    expected = await run(create({ defaults, compiledGraphCache: null }));
  } catch (error) {
    t.skip(error.message);
    return;
  }
  for (let i = 0; i < 2; i++) {
    assert.deepEqual(await run(front), expected);
    assert.deepEqual(front.counts, { builds: 1, loads: i });
  }
  const cpu = frontOf(folder);
  assert.deepEqual(await run(cpu), plain);
  assert.deepEqual(cpu.counts, { builds: 1, loads: 0 });
  assert.equal(entriesOf(folder).length, 2);
  const fromTensor = async (context, builder) => builder.constant(await context.createConstantTensor(square, weightsOf(0)));
  assert.deepEqual(await run(front, { constant: fromTensor }), expected);
  assert.deepEqual(front.counts, { builds: 1, loads: 2 });
});

test('the native side with any file', async (t) => {
  const folder = temporaryFolder(t), context = native.createContext({ threadCount: 1 }, () => {});
  const builder = native.createBuilder(context), { id } = native.input(builder, 'x', 'float32', [2]);
  const relu = native.operators.findIndex(({ name }) => name === 'relu');
  const [{ id: y }] = native.operator(builder, relu, [id], {}, '');
  const { id: c } = native.constant(builder, 'float32', [2], new Uint8Array(8));
  const recorded = (...values) => Buffer.from(native.serialize(builder, ['y'], [y], ...values)).toString('latin1');
  assert.ok(recorded([c], [new Uint8Array([65, 66, 67])]).includes('ABC'));
  assert.notEqual(recorded([c], [new Uint8Array([1])]), recorded([c], [new Uint8Array([2])]));
  assert.equal(recorded([], []), recorded([c], [new Uint8Array()]));
  for (const values of [[[c], []], [[99], [new Uint8Array(1)]], [[c], [new Uint8Array(257)]], [undefined, []], [[c], ['x']]])
    assert.throws(() => recorded(...values));
  const graph = (await native.build(builder, ['y'], [y], true)).handle, plainGraph = (await native.build(builder, ['y'], [y])).handle;
  const { save, load, describeDevice } = native.host, directory = openSync(folder, 'r'), closed = openSync(folder, 'r');
  closeSync(closed);
  for (const file of [directory, closed, 2 ** 31, 2 ** 32 - 1]) {
    assert.throws(() => load(context, file));
    try {
      await assert.rejects(save(graph, file, 1e6));
    } catch (error) {
      assert.ok(error instanceof Error && error.code === 'TypeError', String(error));
    }
  }
  const name = path.join(folder, 'a'), file = openSync(name, 'w+');
  for (const max of [-1, 0, 10, NaN]) {
    await assert.rejects(save(graph, file, max));
    assert.equal(statSync(name).size, 0);
  }
  await assert.rejects(async () => save(plainGraph, file, 1e6), { code: 'InvalidStateError' });
  await save(graph, file, Infinity);
  const loaded = await load(context, file);
  assert.deepEqual(loaded.outputs, [{ name: 'y', dataType: 'float32', shape: [2] }]);
  closeSync(file);
  rmSync(name);
  const out = new Uint8Array(8);
  await native.compute(context, loaded.handle, ['x'], [new Uint8Array(new Float32Array([-1, 2]).buffer)], ['y'], [out]);
  assert.deepEqual([...new Float32Array(out.buffer)], [0, 2]);
  for (const bad of [{}, undefined, graph, 'x']) {
    assert.throws(() => load(bad, 0));
    assert.throws(() => describeDevice(bad));
  }
  closeSync(directory);
});

test('a host of pages does not pass on what is for the host', async () => {
  const host = await startHost({ native, folders: {} });
  try {
    const ask = async (method, values) => {
      const body = encode({ session: '1', method, values, release: [] }, () => undefined);
      const headers = { origin: new URL(host.url).origin }, response = await fetch(`${host.url}bridge/call`, { method: 'POST', body, headers });
      assert.equal(response.status, 200);
      return decode(new Uint8Array(await response.arrayBuffer()), () => undefined);
    };
    const { methods } = (await ask('describe', [])).value;
    assert.ok(methods.includes('build') && !methods.some((name) => name in native.host), String(methods));
    for (const method of ['host', 'save', 'load', 'describeDevice', 'host.save'])
      assert.match((await ask(method, [0, 0, 0])).error.message, /there is no/);
  } finally {
    host.close();
  }
});
