// SPDX-License-Identifier: Apache-2.0
//
// The API of today, and what only JavaScript can get wrong.

import assert from 'node:assert/strict';
import test from 'node:test';
import { create, native } from './package.mjs';

const { ml, MLContext, MLGraphBuilder, MLTensor } = create();
const context = await ml.createContext();
const square = { dataType: 'float32', shape: [2, 2] };

const tensorOf = async (values, type = square, on = context) => {
  const tensor = await on.createTensor({ ...type, readable: true, writable: true });
  if (values) on.writeTensor(tensor, values);
  return tensor;
};
const isName = (name) => (error) =>
  error.name === name && error instanceof (name === 'TypeError' ? TypeError : DOMException);

async function doubler() {
  const builder = new MLGraphBuilder(context), x = builder.input('x', square);
  return builder.build({ y: builder.add(x, x) });
}

test('records, builds, dispatches and reads', async () => {
  const x = await tensorOf(new Float32Array([1, 2, 3, 4])), y = await tensorOf();
  context.dispatch(await doubler(), { x }, { y });
  assert.deepEqual([...new Float32Array(await context.readTensor(y))], [2, 4, 6, 8]);
  const into = new Float32Array(4);
  assert.equal(await context.readTensor(y, into), undefined);
  assert.deepEqual([...into], [2, 4, 6, 8]);
});

test('sizes are operands of the operators of the dynamic shapes draft', async () => {
  const builder = new MLGraphBuilder(context);
  const x = builder.input('x', { dataType: 'float32', shape: [2, 6] });
  const list = (...items) => builder.constant({ dataType: 'uint32', shape: [items.length] }, new Uint32Array(items));
  const rows = builder.slice(builder.shape(x), [0], [1]);
  assert.deepEqual([rows.dataType, rows.shape], ['uint32', [1]]);
  const blocks = builder.reshapeDynamic(x, builder.concat([rows, list(2, 3)], 0));
  assert.deepEqual(blocks.shape, [2, 2, 3]);
  const [first, second] = builder.splitDynamic(blocks, list(1, 1), { axis: 1 });
  const y = builder.squeeze(builder.sub(second, first), { axes: [1] });
  assert.deepEqual(y.shape, [2, 3]);
  assert.throws(() => builder.reshapeDynamic(x, builder.input('z', { dataType: 'int32', shape: [2] }), { label: 'late' }),
                /^TypeError: .*reshapeDynamic.*newShape depends on the data of an input/);
  const input = await tensorOf(new Float32Array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]), { dataType: 'float32', shape: [2, 6] });
  const output = await tensorOf(null, { dataType: 'float32', shape: [2, 3] });
  context.dispatch(await builder.build({ y }), { x: input }, { y: output });
  assert.deepEqual([...new Float32Array(await context.readTensor(output))], [3, 3, 3, 3, 3, 3]);
});

test('dimensions have names, or none, in the place of sizes', async () => {
  const builder = new MLGraphBuilder(context), type = (...shape) => ({ dataType: 'float32', shape });
  const a = builder.input('a', type('n', 3)), b = builder.input('b', type('n', 3)), c = builder.input('c', type(null, 2));
  assert.deepEqual([a.shape, c.shape], [['n', 3], ['?', 2]]);
  assert.ok(Object.isFrozen(a.shape));
  assert.deepEqual(builder.add(a, b).shape, ['n', 3]);
  assert.deepEqual(builder.concat([a, b], 0).shape, ['?', 3]);
  assert.throws(() => builder.add(a, c), TypeError); // 3 and 2 in any case
  assert.throws(() => builder.input('d', type('')), /^TypeError: .*empty name/);
  assert.throws(() => builder.input('d', type(-1)), TypeError);
  assert.throws(() => builder.constant(type('n'), new Float32Array(1)), TypeError);
  assert.throws(() => builder.reshape(a, [2 ** 31, 3]), /^TypeError: .*expected at most 2147483647/);
  const y = builder.add(builder.mul(a, b), builder.reduceSum(c));
  const graph = await builder.build({ y, both: builder.concat([a, b], 0) });
  assert.deepEqual(graph.computeShapes({ a: [4, 3], b: [4, 3], c: [7, 2] }), { y: [4, 3], both: [8, 3] });
  assert.throws(() => graph.computeShapes({ a: [4, 3], b: [5, 3], c: [7, 2] }), /^TypeError: .*n/);
  assert.throws(() => graph.computeShapes({ a: [4, 3] }), TypeError);
  assert.throws(() => graph.computeShapes({ z: [4, 3] }), TypeError);
  for (const n of [1, 4, 2]) {
    const full = (size, value) => new Float32Array(size).fill(value);
    const inputs = { a: await tensorOf(full(3 * n, 2), type(n, 3)), b: await tensorOf(full(3 * n, n), type(n, 3)),
                     c: await tensorOf(full(2, 0.5), type(1, 2)) };
    const outputs = { y: await tensorOf(null, type(n, 3)), both: await tensorOf(null, type(2 * n, 3)) };
    context.dispatch(graph, inputs, outputs);
    assert.deepEqual(new Float32Array(await context.readTensor(outputs.y)), full(3 * n, 2 * n + 1));
    assert.throws(() => context.dispatch(graph, inputs, { ...outputs, y: inputs.c }), TypeError);
    await context.createTensor(type(n, 4)).then((other) =>
      assert.throws(() => context.dispatch(graph, inputs, { ...outputs, y: other }), TypeError));
  }
  graph.destroy();
  assert.throws(() => graph.computeShapes({ a: [4, 3], b: [4, 3], c: [7, 2] }), isName('InvalidStateError'));
});

test('older texts know no names of dimensions', async () => {
  for (const api of ['2024-04', '2025-03']) {
    const old = create({ api }), builder = new old.MLGraphBuilder(await old.ml.createContext());
    assert.throws(() => builder.input('a', { dataType: 'float32', shape: ['n'] }), TypeError);
    assert.equal('computeShapes' in old.MLGraph.prototype, false);
  }
});

test('every operator of the table is a method and has its limits', () => {
  const limits = context.opSupportLimits();
  const forms = ['argMinAxes', 'argMaxAxes', 'softmax2d']; // of 2024
  const names = native.operators.map(({ name }) => name).filter((name) => !forms.includes(name));
  assert.equal(names.length, 109);
  for (const name of names) {
    assert.equal(typeof MLGraphBuilder.prototype[name], 'function', name);
    assert.ok(limits[name], name);
  }
  assert.ok(limits.input.dataTypes.includes('int64'));
  assert.deepEqual(limits.gemm.c.rankRange, { min: 0, max: 2 });
});

test('writes, dispatches and reads happen in the order of the calls', async () => {
  const graph = await doubler(), x = await tensorOf(), y = await tensorOf(), reads = [];
  for (let i = 1; i <= 50; i++) {
    context.writeTensor(x, new Float32Array(4).fill(i));
    context.dispatch(graph, { x }, { y });
    reads.push(context.readTensor(y));
  }
  const results = (await Promise.all(reads)).map((buffer) => new Float32Array(buffer)[3]);
  assert.deepEqual(results, Array.from({ length: 50 }, (_, i) => 2 * (i + 1)));
});

test('bytes are taken when the call is made', async () => {
  const values = new Float32Array([1, 2, 3, 4]), x = await tensorOf(values);
  values.fill(9);
  const builder = new MLGraphBuilder(context), weights = new Float32Array([1, 1, 1, 1]);
  const y = builder.add(builder.input('x', square), builder.constant(square, weights));
  weights.fill(100);
  const graph = await builder.build({ y }), result = await tensorOf();
  context.dispatch(graph, { x }, { y: result });
  assert.deepEqual([...new Float32Array(await context.readTensor(result))], [2, 3, 4, 5]);
});

test('shared memory and views of parts of a buffer', async () => {
  const shared = new Float32Array(new SharedArrayBuffer(32), 8, 4);
  shared.set([1, 2, 3, 4]);
  const x = await tensorOf(shared), into = new Float32Array(new SharedArrayBuffer(64), 16, 4);
  await context.readTensor(x, into);
  assert.deepEqual([...into], [1, 2, 3, 4]);
});

test('numbers beyond float64', async () => {
  const type = { dataType: 'uint64', shape: [] }, builder = new MLGraphBuilder(context);
  const y = builder.identity(builder.constant('uint64', 2n ** 64n - 1n));
  const graph = await builder.build({ y }), result = await tensorOf(null, type);
  context.dispatch(graph, {}, { y: result });
  assert.equal(new BigUint64Array(await context.readTensor(result))[0], 2n ** 64n - 1n);
  for (const [value, expected] of [[2n ** 80n, 2n ** 63n - 1n], [-(2n ** 80n), -(2n ** 63n)]]) {
    const other = new MLGraphBuilder(context), out = await tensorOf(null, { dataType: 'int64', shape: [] });
    context.dispatch(await other.build({ y: other.identity(other.constant('int64', value)) }), {}, { y: out });
    assert.equal(new BigInt64Array(await context.readTensor(out))[0], expected);
  }
});

test('names may hold any character', async () => {
  const builder = new MLGraphBuilder(context), x = builder.input('in\0put', square);
  const graph = await builder.build({ 'o\u{1F600}ut\0': builder.relu(x) });
  const input = await tensorOf(new Float32Array([-1, 2, -3, 4])), output = await tensorOf();
  context.dispatch(graph, { 'in\0put': input }, { 'o\u{1F600}ut\0': output });
  assert.deepEqual([...new Float32Array(await context.readTensor(output))], [0, 2, 0, 4]);
  assert.throws(() => context.dispatch(graph, { in: input }, { 'o\u{1F600}ut\0': output }), isName('TypeError'));
});

test('Web IDL conversions', async () => {
  const builder = new MLGraphBuilder(context), x = builder.input('x', square);
  for (const axis of [-1, 2 ** 32, NaN, Infinity, 1n, 'abc', {}, undefined, Symbol('axis')])
    assert.throws(() => builder.softmax(x, axis), isName('TypeError'), String(axis));
  assert.throws(() => builder.concat(x, 0), isName('TypeError'));
  assert.throws(() => builder.conv2d(x, x, { inputLayout: 'abcd' }), /inputLayout is "abcd"/);
  assert.throws(() => builder.elu(x, { alpha: NaN }), isName('TypeError'));
  assert.throws(() => builder.add(x), /2 arguments required/);
  assert.throws(() => builder.add(x, {}), /b is not of type MLOperand/);
  assert.throws(() => builder.input('y', { dataType: 'float33', shape: [] }), isName('TypeError'));
  assert.throws(() => builder.input('y', { dataType: 'float32' }), /shape is required/);
  assert.throws(() => builder.constant(square, [1, 2, 3, 4]), isName('TypeError'));
  assert.throws(() => MLGraphBuilder(context), isName('TypeError'));
  assert.throws(() => new MLTensor(), /Illegal constructor/);
  assert.throws(() => MLContext.prototype.dispatch.call({}), isName('TypeError'));
  await assert.rejects(MLContext.prototype.createTensor.call({}, square), isName('TypeError'));
  assert.deepEqual(builder.reduceSum(x, { axes: new Set([1]), unknown: 1 }).shape, [2]);
  assert.ok(Object.isFrozen(x.shape) && x.shape === x.shape);
  assert.equal(builder.softmax(x, '1').shape.length, 2);
  const order = [];
  builder.gemm(x, x, new Proxy({}, { get: (_, name) => { order.push(name); } }));
  assert.deepEqual(order, ['label', 'aTranspose', 'alpha', 'bTranspose', 'beta', 'c']);
});

test('messages have the label', () => {
  const builder = new MLGraphBuilder(context), x = builder.input('x', square);
  const z = builder.input('z', { ...square, shape: [3] });
  assert.throws(() => builder.add(x, z, { label: 'stem' }), /\[stem\] add "stem": /);
});

test('a builder builds once, and its inputs have one name each', async () => {
  const builder = new MLGraphBuilder(context), x = builder.input('x', square);
  assert.throws(() => builder.input('x', square), isName('TypeError'));
  await assert.rejects(builder.build({}), isName('TypeError'));
  const y = builder.relu(x);
  await builder.build({ y });
  await assert.rejects(builder.build({ y }), isName('InvalidStateError'));
  assert.throws(() => builder.relu(x), isName('InvalidStateError'));
  assert.deepEqual(y.shape, [2, 2]);
});

test('objects of another builder or context', async () => {
  const other = await ml.createContext(), builder = new MLGraphBuilder(context), foreign = new MLGraphBuilder(other);
  const x = builder.input('x', square), y = foreign.input('x', square);
  assert.throws(() => builder.add(x, y), /b belongs to another builder/);
  assert.throws(() => builder.gemm(x, x, { c: y }), /c belongs to another builder/);
  await assert.rejects(builder.build({ y }), isName('TypeError'));
  const graph = await doubler(), mine = await tensorOf(), theirs = await tensorOf(null, square, other);
  assert.throws(() => context.dispatch(graph, { x: theirs }, { y: mine }), isName('TypeError'));
  assert.throws(() => other.dispatch(graph, { x: theirs }, { y: theirs }), isName('TypeError'));
  assert.throws(() => context.writeTensor(theirs, new Float32Array(4)), isName('TypeError'));
  await assert.rejects(context.readTensor(theirs), isName('TypeError'));
  other.destroy();
});

test('constant tensors', async () => {
  const weights = await context.createConstantTensor(square, new Float32Array([1, 2, 3, 4]));
  assert.ok(weights.constant && !weights.readable && !weights.writable);
  const builder = new MLGraphBuilder(context);
  const graph = await builder.build({ y: builder.neg(builder.constant(weights)) });
  weights.destroy();
  const y = await tensorOf();
  context.dispatch(graph, {}, { y });
  assert.deepEqual([...new Float32Array(await context.readTensor(y))], [-1, -2, -3, -4]);
  await assert.rejects(context.createConstantTensor(square, new Float32Array(3)), isName('TypeError'));
});

test('what is destroyed', async () => {
  const other = await ml.createContext(), builder = new MLGraphBuilder(other);
  const tensor = await tensorOf(new Float32Array(4), square, other);
  const graph = await builder.build({ y: builder.relu(builder.input('x', square)) });
  const pending = other.readTensor(tensor);
  tensor.destroy();
  tensor.destroy();
  await assert.rejects(pending, isName('InvalidStateError'));
  await assert.rejects(other.readTensor(tensor), isName('TypeError'));
  graph.destroy();
  const [x, y] = [await tensorOf(null, square, other), await tensorOf(null, square, other)];
  assert.throws(() => other.dispatch(graph, { x }, { y }), isName('InvalidStateError'));
  const last = other.readTensor(x);
  other.destroy();
  other.destroy();
  await Promise.allSettled([last]);
  assert.equal(typeof (await other.lost).message, 'string');
  assert.throws(() => new MLGraphBuilder(other), isName('InvalidStateError'));
  await assert.rejects(other.createTensor(square), isName('InvalidStateError'));
  assert.throws(() => other.writeTensor(x, new Float32Array(4)), isName('TypeError'));
});

test('a buffer that is detached while it is read into', async () => {
  const x = await tensorOf(new Float32Array(4)), into = new Float32Array(4), read = context.readTensor(x, into);
  structuredClone(into.buffer, { transfer: [into.buffer] });
  await assert.rejects(read, isName('TypeError'));
  assert.throws(() => context.writeTensor(x, into), isName('TypeError'));
  await assert.rejects(context.readTensor(x, into), isName('TypeError'));
  const resizable = new ArrayBuffer(16, { maxByteLength: 32 });
  if (resizable.resizable) assert.throws(() => context.writeTensor(x, resizable), isName('TypeError'));
});

test('devices', async () => {
  await assert.rejects(ml.createContext({ deviceType: 'npu' }), isName('NotSupportedError'));
  await assert.rejects(ml.createContext({ powerPreference: 'much' }), isName('TypeError'));
  assert.equal((await ml.createContext({ accelerated: false })).accelerated, false);
  // There may be a GPU or not; that is all that may happen.
  await ml.createContext({ deviceType: 'gpu' }).catch((error) => assert.equal(error.name, 'NotSupportedError'));
});

test('a page without a secure context gets nothing', () => {
  const { install } = create();
  assert.throws(() => install({ isSecureContext: false }), isName('SecurityError'));
  const page = { isSecureContext: true };
  install(page);
  assert.ok(page.navigator.ml === page.navigator.ml && page.MLGraphBuilder);
});

test('out of memory is an exception', async () => {
  const builder = new MLGraphBuilder(context), x = builder.input('x', { dataType: 'float32', shape: [500000000] });
  assert.throws(() => builder.expand(x, [8, 500000000]), isName('TypeError'));
  await assert.rejects(context.createTensor({ dataType: 'float64', shape: [1] }), isName('TypeError'));
  await assert.rejects(context.createTensor({ dataType: 'float32', shape: [2 ** 31 - 1] }), isName('TypeError'));
});
