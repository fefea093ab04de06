// SPDX-License-Identifier: Apache-2.0
//
// Where the API of today is strict: what the draft of June 2026 refuses or ignores, and what a lost context answers.
// Beyond it is what README.md lists.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { create, native } from './package.mjs';

const api = create(), { ml, MLContext, MLGraph, MLGraphBuilder } = api;
const context = await ml.createContext();
const typeOf = (shape, dataType = 'float32') => ({ dataType, shape });
const isName = (name) => (error) =>
  error.name === name && error instanceof (name === 'TypeError' ? TypeError : DOMException);

function record(make) {
  const builder = new MLGraphBuilder(context);
  return make(builder, (name, ...shape) => builder.input(name, typeOf(shape)));
}

test('arrays have the type of their descriptor, or are a Uint8Array', async () => {
  const sizes = { float32: 4, int32: 4, uint32: 4, int64: 8, uint64: 8, int8: 1, uint8: 1, float16: 2 };
  const arrays = { float32: Float32Array, int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array,
                   uint64: BigUint64Array, int8: Int8Array, uint8: Uint8Array, float16: globalThis.Float16Array ?? Uint16Array };
  const others = [...Object.values(arrays), Int16Array, Uint16Array, Uint8ClampedArray, Float64Array, DataView];
  const builder = new MLGraphBuilder(context);
  for (const [dataType, size] of Object.entries(sizes)) {
    const type = typeOf([2], dataType), buffer = () => new ArrayBuffer(2 * size), into = new ArrayBuffer(2 * size);
    const tensor = await context.createTensor({ ...type, readable: true, writable: true });
    const sources = [buffer(), new SharedArrayBuffer(2 * size), new Uint8Array(buffer()), new arrays[dataType](buffer())];
    if (dataType === 'float16') sources.push(new Uint16Array(2)); // bit patterns
    for (const source of sources) {
      assert.deepEqual(builder.constant(type, source).shape, [2]);
      assert.ok((await context.createConstantTensor(type, source)).constant);
      context.writeTensor(tensor, source);
      await context.readTensor(tensor, source);
    }
    for (const Other of others.filter((one) => !sources.some(({ constructor }) => constructor === one))) {
      if ((2 * size) % (Other.BYTES_PER_ELEMENT ?? 1)) continue;
      const source = new Other(buffer()), what = `${dataType} ${Other.name}`;
      assert.throws(() => builder.constant(type, source), /is a \w+Array; expected|is a DataView; expected/, what);
      await assert.rejects(context.createConstantTensor(type, source), isName('TypeError'), what);
      assert.throws(() => context.writeTensor(tensor, source), isName('TypeError'), what);
      if (Other === Int8Array) await context.readTensor(tensor, new Other(into)); // which ONNX Runtime Web does
      else await assert.rejects(context.readTensor(tensor, new Other(into)), isName('TypeError'), what);
    }
  }
  // An object does not choose its own type.
  const disguised = Object.defineProperty(new Int32Array(2), Symbol.toStringTag, { value: 'Float32Array' });
  assert.throws(() => builder.constant(typeOf([2]), disguised), isName('TypeError'));
});

test('buffers have the length of their descriptor', async () => {
  const type = typeOf([4]), builder = new MLGraphBuilder(context);
  const tensor = await context.createTensor({ ...type, readable: true, writable: true });
  for (const size of [0, 12, 20]) {
    assert.throws(() => builder.constant(type, new ArrayBuffer(size)), isName('TypeError'));
    await assert.rejects(context.createConstantTensor(type, new ArrayBuffer(size)), isName('TypeError'));
    assert.throws(() => context.writeTensor(tensor, new Float32Array(size / 4)), isName('TypeError'));
    await assert.rejects(context.readTensor(tensor, new Float32Array(size / 4)), isName('TypeError'));
  }
});

test('what only the text of 2024 has is ignored or refused', () => {
  assert.equal(MLContext.prototype.compute, undefined);
  assert.equal(MLGraphBuilder.prototype.not, undefined);
  assert.equal(api.MLActivation, undefined);
  for (const name of ['clamp', 'elu', 'gelu', 'hardSigmoid', 'hardSwish', 'leakyRelu', 'linear', 'relu', 'sigmoid',
                      'softplus', 'softsign', 'tanh'])
    for (const values of [[], [{}], [{ alpha: 1 }]])
      assert.throws(() => record((builder) => builder[name](...values)), isName('TypeError'), name);
  assert.throws(() => record((builder, input) => builder.softmax(input('x', 2, 2))), isName('TypeError'));
  assert.throws(() => record((builder, input) => builder.argMax(input('x', 2), { axes: [0] })), isName('TypeError'));
  assert.throws(() => record((builder) => builder.constant(1.5)), isName('TypeError'));
  assert.throws(() => record((builder) => builder.constant(0, 10, 1)), isName('TypeError'));
  assert.throws(() => record((builder) => builder.input('x', { dataType: 'float32', dimensions: [2] })), isName('TypeError'));
  assert.throws(() => record((builder, input) => builder.pad(input('x', 3), [1], [1], { mode: 'symmetric' })),
                isName('TypeError'));
  // Unknown members are not even read.
  const never = (...names) => Object.defineProperties({}, Object.fromEntries(names.map((name) =>
    [name, { get() { assert.fail(`${name} was read`); } }])));
  record((builder, input) => builder.softplus(input('x', 2), never('steepness')));
  record((builder, input) => builder.relu(input('x', 2), never('activation')));
  record((builder, input) => builder.conv2d(input('x', 1, 1, 4, 4), input('f', 1, 1, 1, 1), never('activation', 'autoPad')));
  for (const name of ['averagePool2d', 'l2Pool2d', 'maxPool2d'])
    record((builder, input) => builder[name](input('x', 1, 1, 4, 4), never('roundingType', 'autoPad')));
  record((builder, input) => builder.argMax(input('x', 2), 0, never('axes', 'selectLastIndex')));
  record((builder) => builder.input('x', Object.assign(never('dimensions'), typeOf([1]))));
});

// The members that options have beside the label, and the arguments without which a method refuses.
const OPTIONS = {
  argMin: 'keepDimensions outputDataType', argMax: 'keepDimensions outputDataType', batchNormalization: 'axis bias epsilon scale',
  clamp: 'maxValue minValue', conv2d: 'bias dilations filterLayout groups inputLayout padding strides',
  convTranspose2d: 'bias dilations filterLayout groups inputLayout outputPadding outputSizes padding strides',
  cumulativeSum: 'exclusive reversed', elu: 'alpha', gather: 'axis', gatherElements: 'axis',
  gemm: 'aTranspose alpha bTranspose beta c',
  gru: 'activations bias direction initialHiddenState layout recurrentBias resetAfter returnSequence',
  gruCell: 'activations bias layout recurrentBias resetAfter', hardSigmoid: 'alpha beta',
  instanceNormalization: 'bias epsilon layout scale', layerNormalization: 'axes bias epsilon scale', leakyRelu: 'alpha',
  linear: 'alpha beta',
  lstm: 'activations bias direction initialCellState initialHiddenState layout peepholeWeight recurrentBias returnSequence',
  lstmCell: 'activations bias layout peepholeWeight recurrentBias', pad: 'mode value', resample2d: 'axes mode scales sizes',
  padDynamic: 'mode value', resample2dDynamic: 'axes mode scales sizes', reshapeTo2d: 'axis', sliceDynamic: 'strides',
  splitDynamic: 'axis', squeeze: 'axes', reverse: 'axes', scatterElements: 'axis', slice: 'strides', split: 'axis', transpose: 'permutation', triangular: 'diagonal upper',
};
const POOL = 'dilations layout outputShapeRounding outputSizes padding strides windowDimensions';
const LENGTHS = { concat: 2, expand: 2, reshape: 2, tile: 2, cast: 2, cumulativeSum: 2, softmax: 2, split: 2, argMin: 2, argMax: 2,
                  pad: 3, slice: 3, where: 3, dequantizeLinear: 3, quantizeLinear: 3, scatterElements: 3, scatterND: 3,
                  shape: 1, range: 3, modulusFloor: 2, modulusTruncate: 2, squeeze: 1, unsqueeze: 2, reshapeTo2d: 1,
                  reshapeDynamic: 2, expandDynamic: 2, tileDynamic: 2, splitDynamic: 2, padDynamic: 3, sliceDynamic: 3,
                  resample2dDynamic: 1, batchNormalization: 3, gru: 5, gruCell: 5, lstm: 5, lstmCell: 6 };

test('operators have the arguments and options of the text', () => {
  const { definitions } = api, { operations } = definitions.interfaces.MLGraphBuilder;
  for (const [name, signatures] of Object.entries(operations)) {
    if (['input', 'constant', 'build'].includes(name)) continue;
    assert.equal(signatures.length, name === 'splitDynamic' ? 2 : 1, name); // of which one has a number of parts
    const { parameters } = signatures.at(-1), members = definitions.dictionaries[parameters.at(-1).type.name].map((one) => one.name);
    const expected = /Pool2d$/.test(name) ? POOL : /^reduce/.test(name) ? 'axes keepDimensions' : OPTIONS[name] ?? '';
    assert.deepEqual(members, ['label', ...expected.split(' ').filter(Boolean)], name);
    if (LENGTHS[name]) assert.equal(MLGraphBuilder.prototype[name].length, LENGTHS[name], name);
  }
});

test('activations are as many as the cell has', () => {
  const cell = (activations) => record((builder, input) =>
    builder.gruCell(input('x', 1, 2), input('w', 6, 2), input('r', 6, 2), input('h', 1, 2), 2, { activations }));
  const lstm = (activations) => record((builder, input) =>
    builder.lstm(input('x', 1, 1, 2), input('w', 1, 8, 2), input('r', 1, 8, 2), 1, 2, { activations }));
  const names = ['relu', 'sigmoid', 'tanh', 'relu'];
  for (let count = 0; count <= 4; count++) {
    const list = names.slice(0, count);
    if (count === 2) cell(list);
    else assert.throws(() => cell(list), /activations has/, `gruCell ${count}`);
    if (count === 3) lstm(list);
    else assert.throws(() => lstm(list), /activations has/, `lstm ${count}`);
  }
  for (const wrong of [['relu', 'softmax'], ['relu', {}], 'relu']) assert.throws(() => cell(wrong), isName('TypeError'));
});

test('labels in messages hide nothing', () => {
  const label = 'stem\u202Elia\u2066\u0007\u{1F600}';
  assert.throws(() => record((builder, input) => builder.add(input('x', 2), input('y', 3), { label })), ({ message }) => {
    assert.ok(message.includes('[stem\\u{202E}lia\\u{2066}\\u{7}\u{1F600}]'), message);
    return !/[\u202E\u2066\u0007]/.test(message);
  });
});

test('arguments that the text does not enforce wrap around', () => {
  assert.deepEqual(record((builder, input) => builder.tile(input('x', 2), [2 ** 32 + 3])).shape, [6]);
  assert.deepEqual(record((builder, input) => builder.cumulativeSum(input('x', 2, 2), 2 ** 32 + 1)).shape, [2, 2]);
  assert.throws(() => record((builder, input) => builder.tile(input('x', 2), [NaN])), isName('TypeError')); // that is 0
  assert.throws(() => record((builder, input) => builder.softmax(input('x', 2, 2), 2 ** 32 + 1)), isName('TypeError'));
});

test('createContext of a GPUDevice', async () => {
  const before = globalThis.GPUDevice;
  globalThis.GPUDevice = class GPUDevice {};
  try {
    await assert.rejects(ml.createContext(new GPUDevice()), isName('NotSupportedError'));
    await ml.createContext({ GPUDevice });
    await ml.createContext(context); // an object like any other
  } finally {
    globalThis.GPUDevice = before;
  }
  for (const value of [1, 'gpu', true, Symbol('gpu'), 5n]) await assert.rejects(ml.createContext(value), isName('TypeError'));
  for (const value of [undefined, null, {}, [], () => {}]) await ml.createContext(value);
  assert.equal(ml.createContext.length, 0);
});

// Everything that can be asked of a context, after it is lost.
async function makeAll() {
  const lost = await ml.createContext(), type = { ...typeOf([4]), readable: true, writable: true };
  const maker = new MLGraphBuilder(lost), builder = new MLGraphBuilder(lost), built = new MLGraphBuilder(lost);
  const graph = await maker.build({ y: maker.relu(maker.input('x', type)) });
  const [x, y] = await Promise.all([lost.createTensor(type), lost.createTensor(type)]);
  const weights = await lost.createConstantTensor(type, new Float32Array(4));
  return { lost, type, graph, x, y, weights, builder, built, input: builder.input('a', type), other: built.input('b', type) };
}

test('destroy() rejects what is pending', async () => {
  const { lost, type, x, y, graph, built, other } = await makeAll(), order = [];
  const note = (name) => [() => order.push(`${name} resolved`), (error) => order.push(`${name} ${error.name}`)];
  lost.lost.then(...note('lost'));
  lost.dispatch(graph, { x }, { y });
  lost.readTensor(y).then(...note('read'));
  lost.readTensor(x, new Float32Array(4)).then(...note('read into'));
  built.build({ z: built.relu(other) }).then(...note('build'));
  lost.createTensor(type).then(...note('createTensor'));
  lost.createConstantTensor(type, new Float32Array(4)).then(...note('createConstantTensor'));
  lost.destroy();
  for (let i = 0; i < 20; i++) await null; // no turn of the event loop
  assert.equal(order[0], 'lost resolved');
  assert.deepEqual(order.slice(1).sort(), ['build', 'createConstantTensor', 'createTensor', 'read', 'read into']
    .map((name) => `${name} InvalidStateError`));
});

test('dispatch takes a tensor once, though the library lets an output replace an input', async () => {
  const { lost, graph, x, y } = await makeAll();
  assert.throws(() => lost.dispatch(graph, { x }, { y: x }), { name: 'TypeError', message: /twice/ });
  lost.dispatch(graph, { x }, { y });
});

test('what a lost context answers', async () => {
  const { lost, type, graph, x, y, weights, builder, input } = await makeAll(), limits = lost.opSupportLimits();
  lost.destroy();
  const info = await lost.lost;
  assert.deepEqual(Object.keys(info), ['message']);
  assert.equal(lost.lost, lost.lost);
  lost.destroy();
  assert.equal(await lost.lost, info);
  const throwing = [
    ['InvalidStateError', () => lost.dispatch(graph, { x }, { y })],
    ['InvalidStateError', () => lost.dispatch(graph, {}, {})],
    ['TypeError', () => lost.writeTensor(x, new Float32Array(4))],
    ['InvalidStateError', () => new MLGraphBuilder(lost)],
    ['InvalidStateError', () => builder.input('b', type)],
    ['InvalidStateError', () => builder.constant(type, new Float32Array(4))],
    ['InvalidStateError', () => builder.constant(type, new Int32Array(3))],
    ['InvalidStateError', () => builder.constant('float32', 1)],
    ['TypeError', () => builder.constant(weights)],
    ['InvalidStateError', () => builder.relu(input)],
    ['InvalidStateError', () => builder.quantizeLinear(input, input, input)],
    ['TypeError', () => builder.relu({})], // which Web IDL refuses first
    ['TypeError', () => context.dispatch(graph, { x }, { y })],
  ];
  for (const [name, call] of throwing) assert.throws(call, isName(name), String(call));
  const rejecting = [
    ['TypeError', () => lost.readTensor(x)],
    ['TypeError', () => lost.readTensor(x, new Float32Array(4))],
    ['InvalidStateError', () => lost.createTensor(type)],
    ['InvalidStateError', () => lost.createTensor(typeOf([0]))],
    ['InvalidStateError', () => lost.createConstantTensor(type, new Float32Array(4))],
    ['InvalidStateError', () => lost.createConstantTensor(type, new Int8Array(1))],
    ['InvalidStateError', () => builder.build({ y: input })],
    ['InvalidStateError', () => builder.build({})],
  ];
  for (const [name, call] of rejecting) await assert.rejects(call(), isName(name), String(call));
  assert.deepEqual(lost.opSupportLimits(), limits);
  graph.destroy();
  x.destroy();
  assert.deepEqual([lost.accelerated, x.shape, input.shape, graph.devices], [true, [4], [4], ['cpu']]);
});

test('a destroyed graph or tensor', async () => {
  const { lost, type, graph, x, y, weights, builder } = await makeAll();
  weights.destroy();
  assert.throws(() => builder.constant(weights), isName('TypeError'));
  assert.throws(() => builder.constant(x), isName('TypeError'));
  const z = await lost.createTensor(type);
  z.destroy();
  assert.throws(() => lost.dispatch(graph, { x }, { y: z }), isName('TypeError'));
  graph.destroy();
  assert.throws(() => lost.dispatch(graph, { x }, { y: z }), isName('InvalidStateError'));
  assert.throws(() => lost.dispatch(graph, {}, { nothing: x }), isName('InvalidStateError'));
});

test('a builder is asked before its operands', async () => {
  const builder = new MLGraphBuilder(context), foreign = record((other, input) => input('x', 2));
  await builder.build({ y: builder.relu(builder.input('x', typeOf([2]))) });
  await assert.rejects(builder.build({ y: foreign }), isName('InvalidStateError'));
  assert.throws(() => builder.add(foreign, foreign), isName('InvalidStateError'));
});

test('what Chromium has', async () => {
  const builder = new MLGraphBuilder(context), graph = await builder.build({ y: builder.relu(builder.input('x', typeOf([2]))) });
  assert.deepEqual(graph.devices, ['cpu']);
  assert.ok(Object.isFrozen(graph.devices) && graph.devices === graph.devices);
  assert.throws(() => MLGraph.prototype.devices, isName('TypeError'));
  const { preferredInputLayout, maxTensorByteLength } = context.opSupportLimits();
  assert.ok(['nchw', 'nhwc'].includes(preferredInputLayout));
  assert.ok(Number.isSafeInteger(maxTensorByteLength) && maxTensorByteLength >= 2 ** 28);
  const above = typeOf([Math.floor(maxTensorByteLength / 4) + 1]);
  await assert.rejects(context.createTensor(above), isName('TypeError'));
});

test('README.md names what is beyond the text', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const [, section] = readme.match(/## Beyond the text\n([^]*?)\n## /);
  for (const name of ['deviceType', 'int4', 'uint4', 'MLGraph.devices', 'Uint16Array', 'Int8Array', 'createTensor()'])
    assert.ok(section.includes(name), name);
  assert.ok(native.dataTypes.includes('int4'));
});
