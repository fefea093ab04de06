// SPDX-License-Identifier: Apache-2.0
//
// The API of 2024-04-15.

import assert from 'node:assert/strict';
import test from 'node:test';
import { create } from './package.mjs';

const { ml, MLGraphBuilder } = create({ api: '2024-04' });
const context = await ml.createContext({ deviceType: 'cpu' });
const square = { dataType: 'float32', dimensions: [2, 2] };

async function compute(record, inputs, output) {
  const builder = new MLGraphBuilder(context), graph = await builder.build({ output: record(builder) });
  return (await context.compute(graph, inputs, { output })).outputs.output;
}
const filled = (...values) => new Float32Array(values);

test('compute takes the buffers away and gives them back', async () => {
  const builder = new MLGraphBuilder(context), x = builder.input('x', square);
  const graph = await builder.build({ y: builder.add(x, x), z: builder.neg(x) });
  const inputs = { x: filled(1, 2, 3, 4) }, outputs = { y: new Float32Array(4), z: new Float32Array(4) };
  const promise = context.compute(graph, inputs, outputs);
  assert.equal(inputs.x.byteLength, 0);
  assert.equal(outputs.y.byteLength, 0);
  const result = await promise;
  assert.deepEqual([...result.inputs.x], [1, 2, 3, 4]);
  assert.deepEqual([...result.outputs.y], [2, 4, 6, 8]);
  assert.deepEqual([...result.outputs.z], [-1, -2, -3, -4]);
  const part = await context.compute(graph, result.inputs, { z: new Float32Array(new ArrayBuffer(32), 8, 4) });
  assert.deepEqual([...part.outputs.z], [-1, -2, -3, -4]);
  assert.equal(part.outputs.z.byteOffset, 8);
});

test('compute refuses, and takes nothing then', async () => {
  const builder = new MLGraphBuilder(context), x = builder.input('x', square);
  const graph = await builder.build({ y: builder.relu(x) }), good = filled(1, 2, 3, 4);
  const cases = [
    [{ x: filled(1, 2, 3) }, { y: new Float32Array(4) }, /12 bytes; expected 16/],
    [{ x: new Int32Array(4) }, { y: new Float32Array(4) }, /is a Int32Array; expected a Float32Array/],
    [{ x: good }, { z: new Float32Array(4) }, /no output "z"/],
    [{}, { y: new Float32Array(4) }, /0 inputs; expected 1/],
    [{ x: good }, {}, /output/],
    [{ x: good }, { y: good }, /share a buffer/],
    [{ x: new Float32Array(new SharedArrayBuffer(16)) }, { y: new Float32Array(4) }, /SharedArrayBuffer/],
  ];
  for (const [inputs, outputs, message] of cases)
    await assert.rejects(context.compute(graph, inputs, outputs), message);
  assert.equal(good.length, 4);
});

test('a builder builds as often as one likes', async () => {
  const builder = new MLGraphBuilder(context), x = builder.input('x', square), y = builder.relu(x);
  const first = await builder.build({ y }), second = await builder.build({ z: builder.neg(y) });
  assert.notEqual(first, second);
  const { outputs } = await context.compute(second, { x: filled(-1, 2, 3, 4) }, { z: new Float32Array(4) });
  assert.deepEqual([...outputs.z].map(Math.abs), [0, 2, 3, 4]);
});

test('input names are compared at build', async () => {
  const builder = new MLGraphBuilder(context), [a, b] = [builder.input('x', square), builder.input('x', square)];
  await assert.rejects(builder.build({ y: builder.add(a, b) }), TypeError);
  await builder.build({ y: builder.relu(a) });
});

test('activations', async () => {
  const one = { dataType: 'float32', dimensions: [1, 1, 1, 1] }, image = { ...one, dimensions: [1, 1, 2, 2] };
  const conv = (make) => compute((builder) => {
    const filter = builder.constant(one, filled(2)), activation = make(builder);
    return builder.conv2d(builder.input('x', image), filter, { activation });
  }, { x: filled(-1, 2, -3, 4) }, new Float32Array(4));
  assert.deepEqual([...(await conv((builder) => builder.relu()))], [0, 4, 0, 8]);
  assert.deepEqual([...(await conv((builder) => builder.clamp({ minValue: -3, maxValue: 5 })))], [-2, 4, -3, 5]);
  assert.deepEqual([...(await conv((builder) => builder.leakyRelu({ alpha: 0.5 })))], [-1, 4, -3, 8]);
  const builder = new MLGraphBuilder(context), other = new MLGraphBuilder(context), x = builder.input('x', one);
  assert.throws(() => builder.conv2d(x, x, { activation: other.relu() }), /belongs to another builder/);
  for (const name of ['clamp', 'elu', 'gelu', 'hardSigmoid', 'hardSwish', 'leakyRelu', 'linear', 'relu', 'sigmoid', 'softmax',
                      'softplus', 'softsign', 'tanh'])
    assert.equal(builder[name]()[Symbol.toStringTag], 'MLActivation', name);
});

test('forms of 2024', async () => {
  const builder = new MLGraphBuilder(context), x = builder.input('x', { dataType: 'float32', dimensions: [2, 3] });
  assert.deepEqual(builder.softmax(x).shape(), [2, 3]);
  assert.equal(builder.argMax(x, { axes: [1], selectLastIndex: true }).dataType(), 'int64');
  assert.deepEqual(builder.argMin(x).shape(), []);
  assert.deepEqual(builder.constant(0, 10, 3).shape(), [4]);
  assert.deepEqual(builder.constant(1.5).shape(), []);
  assert.equal(builder.constant(1, 'int8').dataType(), 'int8');
  assert.equal(builder.not(builder.constant({ dataType: 'uint8' }, new Uint8Array(1))).dataType(), 'uint8');
  assert.equal(builder.input('scalar', { dataType: 'float16' }).shape().length, 0);
  assert.throws(() => builder.constant(square, new Int32Array(4)), TypeError);
  const steps = await compute((b) => b.add(b.constant(0, 4, 1), b.constant(10)), {}, new Float32Array(4));
  assert.deepEqual([...steps], [10, 11, 12, 13]);
});
