// SPDX-License-Identifier: Apache-2.0
//
// The operators of the draft of dynamic shapes, each recorded once, of an input with a dimension "n", and run at
// several sizes, on every device that there is.

import assert from 'node:assert/strict';
import test from 'node:test';
import { create, native } from './package.mjs';

const { ml, MLGraphBuilder } = create();
const SIZES = [2, 5, 3, 2];

const sizeOf = (shape) => shape.reduce((product, size) => product * size, 1);
const floats = (shape, valueOf = (i) => i) => ({ dataType: 'float32', shape, data: Array.from({ length: sizeOf(shape) }, (_, i) => valueOf(i)) });
const numbers = (shape, data) => ({ dataType: 'uint32', shape, data });
// The elements of a matrix that has so many columns.
const at = (columns) => (row, column) => row * columns + column;
// A tensor whose elements are those of the input at a place that `from` says of the indices of a matrix.
const taken = (rows, columns, from) => floats([rows, columns], (i) => from(Math.floor(i / columns), i % columns));

// What is recorded of the input, whose shape is given, and what has to come out of 0, 1, 2 ... at a size.
function casesOf(builder) {
  const list = (...items) => builder.constant({ dataType: 'uint32', shape: [items.length] }, new Uint32Array(items));
  const signed = (...items) => builder.constant({ dataType: 'int32', shape: [items.length] }, new Int32Array(items));
  const scalar = (item) => builder.constant({ dataType: 'uint32', shape: [] }, new Uint32Array([item]));
  const rows = (x, d = 0) => builder.slice(builder.shape(x), [d], [1]);
  const float = (item) => builder.constant({ dataType: 'float32', shape: [] }, new Float32Array([item]));
  return {
    shape: [['n', 3], (x) => builder.shape(x), (n) => numbers([2], [n, 3])],
    range: [['n'], (x) => builder.range(scalar(1), builder.reshape(rows(x), []), scalar(2)),
            (n) => numbers([Math.floor(n / 2)], Array.from({ length: Math.floor(n / 2) }, (_, i) => 1 + 2 * i))],
    modulusFloor: [['n', 3], (x) => builder.modulusFloor(builder.sub(x, float(4)), float(3)),
                   (n) => floats([n, 3], (i) => (i - 4) - 3 * Math.floor((i - 4) / 3))],
    modulusTruncate: [['n', 3], (x) => builder.modulusTruncate(builder.sub(x, float(4)), float(3)),
                      (n) => floats([n, 3], (i) => (i - 4) % 3)],
    squeeze: [[1, 'n', 1, 2], (x) => builder.squeeze(x, { axes: [0, 2] }), (n) => floats([n, 2])],
    unsqueeze: [['n', 2], (x) => builder.unsqueeze(x, [0, 2]), (n) => floats([1, n, 1, 2])],
    reshapeTo2d: [['n', 2, 3], (x) => [builder.reshapeTo2d(x), builder.reshapeTo2d(x, { axis: 2 })],
                  (n) => [floats([n, 6]), floats([2 * n, 3])]],
    reshapeDynamic: [['n', 6], (x) => builder.reshapeDynamic(x, builder.concat([builder.mul(rows(x), list(2)), list(3)], 0)),
                     (n) => floats([2 * n, 3])],
    expandDynamic: [['n', 1], (x) => builder.expandDynamic(x, builder.concat([rows(x), list(4)], 0)),
                    (n) => taken(n, 4, (row) => row)],
    sliceDynamic: [['n', 4], (x) => builder.sliceDynamic(x, list(1, 0), builder.concat([builder.sub(rows(x), list(1)), list(3)], 0),
                                                         { strides: [1, 2] }),
                   (n) => taken(n - 1, 2, (row, column) => at(4)(row + 1, 2 * column))],
    // Up to a multiple of four rows.
    padDynamic: [['n', 2], (x) => {
      const more = builder.modulusFloor(builder.neg(builder.cast(rows(x), 'int32')), signed(4));
      return builder.padDynamic(x, signed(0, 0), builder.concat([more, signed(1)], 0), { mode: 'constant', value: -7 });
    }, (n) => taken(4 * Math.ceil(n / 4), 3, (row, column) => (row < n && column < 2 ? at(2)(row, column) : -7))],
    // By sizes, and in equal parts.
    splitDynamic: [['n', 2], (x) => [...builder.splitDynamic(x, builder.concat([list(1), builder.sub(rows(x), list(1))], 0)),
                                     ...builder.splitDynamic(x, 2, { axis: 1 })],
                   (n) => [floats([1, 2]), floats([n - 1, 2], (i) => i + 2), taken(n, 1, (row) => 2 * row), taken(n, 1, (row) => 2 * row + 1)]],
    resample2dDynamic: [[1, 1, 'n', 2], (x) => builder.resample2dDynamic(x,
      { sizes: builder.concat([builder.mul(rows(x, 2), list(3)), list(4)], 0) }),
      (n) => ({ ...taken(3 * n, 4, (row, column) => at(2)(Math.floor(row / 3), Math.floor(column / 2))), shape: [1, 1, 3 * n, 4] })],
    tileDynamic: [['n', 2], (x) => builder.tileDynamic(x, builder.concat([rows(x), list(2)], 0)),
                  (n) => taken(n * n, 4, (row, column) => at(2)(row % n, column % 2))],
  };
}

async function run(context, name) {
  const builder = new MLGraphBuilder(context), [shape, record, expect] = casesOf(builder)[name];
  const results = [record(builder.input('x', { dataType: 'float32', shape }))].flat();
  const graph = await builder.build(Object.fromEntries(results.map((result, i) => [`y${i}`, result])));
  for (const n of SIZES) {
    const given = floats(shape.map((size) => (size === 'n' ? n : size))), expected = [expect(n)].flat();
    assert.deepEqual(graph.computeShapes({ x: given.shape }),
                     Object.fromEntries(expected.map((one, i) => [`y${i}`, one.shape])));
    const x = await context.createTensor({ ...given, writable: true }), outputs = {};
    for (const [i, { dataType, shape: made }] of expected.entries())
      outputs[`y${i}`] = await context.createTensor({ dataType, shape: made, readable: true });
    context.writeTensor(x, new Float32Array(given.data));
    context.dispatch(graph, { x }, outputs);
    for (const [i, { dataType, data }] of expected.entries()) {
      const made = await context.readTensor(outputs[`y${i}`]);
      assert.deepEqual([...new (dataType === 'float32' ? Float32Array : Uint32Array)(made)], data, `output ${i} of ${n}`);
    }
    for (const tensor of [x, ...Object.values(outputs)]) tensor.destroy();
  }
  graph.destroy();
}

for (const deviceType of ['cpu', 'gpu']) {
  const context = await ml.createContext({ deviceType }).catch((error) => {
    assert.equal(error.name, 'NotSupportedError');
    assert.equal(deviceType, 'gpu');
  });
  for (const name of context ? Object.keys(casesOf(new MLGraphBuilder(context))) : [])
    test(`${name} on ${deviceType}`, () => run(context, name));
}

test('there is a case of each operator', async () => {
  const builder = new MLGraphBuilder(await ml.createContext());
  const all = native.operators.map(({ name }) => name);
  const dynamic = all.filter((name) => name.endsWith('Dynamic'));
  assert.equal(dynamic.length, 7);
  assert.deepEqual(Object.keys(casesOf(builder)).sort(),
                   [...dynamic, 'shape', 'range', 'modulusFloor', 'modulusTruncate', 'squeeze', 'unsqueeze', 'reshapeTo2d'].sort());
});

test('splitDynamic takes a number or an operand', async () => {
  const builder = new MLGraphBuilder(await ml.createContext()), x = builder.input('x', { dataType: 'float32', shape: ['n', 4] });
  assert.deepEqual(builder.splitDynamic(x, 4, { axis: 1 }).map(({ shape }) => shape), Array(4).fill(['n', 1]));
  assert.throws(() => builder.splitDynamic(x, 3, { axis: 1 }), /^TypeError: .*3/);
  for (const wrong of [[2, 2], 'two', null, {}]) assert.throws(() => builder.splitDynamic(x, wrong), TypeError);
});

test('what has no rank before it runs', async () => {
  const context = await ml.createContext(), builder = new MLGraphBuilder(context);
  const input = (name, ...shape) => builder.input(name, { dataType: 'float32', shape });
  const x = input('x', 1, 'n'), indices = builder.cast(input('indices', 3, 'n'), 'int32');
  // As many items as there are columns.
  const items = builder.range(builder.constant('uint32', 0), builder.reshape(builder.slice(builder.shape(x), [1], [1]), []),
                              builder.constant('uint32', 1));
  assert.deepEqual(items.shape, ['n']);
  for (const unranked of [builder.squeeze(x), builder.reshapeDynamic(x, items), builder.expandDynamic(x, items),
                          builder.gatherND(x, indices), builder.relu(builder.squeeze(x))])
    assert.equal(unranked.shape, null);
  assert.deepEqual(builder.tileDynamic(x, items).shape, ['?', '?']);
  assert.deepEqual(builder.scatterND(x, indices, input('updates', 3)).shape, [1, 'n']);
  assert.throws(() => builder.splitDynamic(x, items), { name: 'TypeError', message: /has n items; expected a known number/ });
  assert.throws(() => builder.logicalNot(builder.squeeze(x)), { name: 'TypeError', message: /float32; expected uint8/ });
  assert.deepEqual(builder.squeeze(x, { axes: [0] }).shape, ['n']);
  assert.deepEqual(builder.squeeze(input('known', 1, 3, 1)).shape, [3]);
  assert.throws(() => builder.expandDynamic(input('three', 3), builder.constant({ dataType: 'uint32', shape: [1] }, new Uint32Array([1]))),
                TypeError); // in one direction
  const graph = await builder.build({ y: builder.mul(builder.squeeze(x), builder.constant('float32', 2)) });
  assert.deepEqual(graph.computeShapes({ x: [1, 3] }), { y: [3] });
  assert.deepEqual(graph.computeShapes({ x: [1, 1] }), { y: [] });
});
