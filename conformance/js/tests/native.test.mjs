// SPDX-License-Identifier: Apache-2.0
//
// The native side without the JavaScript in front: whatever it is called with, it throws at worst. A page that is
// isolated from the process of the library may send anything.

import assert from 'node:assert/strict';
import test from 'node:test';
import { native } from './package.mjs';

let seed = Number(process.env.SEED ?? 1);
const random = (below) => {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
  return Math.floor((seed / 2 ** 32) * below);
};
const pick = (items) => items[random(items.length)];

const context = native.createContext({ threadCount: 1 }, () => {}), other = native.createContext({}, () => {});
const small = [2, 3];

async function makeGraph() {
  const builder = native.createBuilder(context), { id } = native.input(builder, 'x', 'float32', small);
  const [{ id: y }] = native.operator(builder, native.operators.findIndex(({ name }) => name === 'relu'), [id], {}, '');
  return (await native.build(builder, ['y'], [y])).handle;
}

// Things to call with; builders get new ones, as those in use end up with any number of operands.
const graphs = [await makeGraph(), await makeGraph()];
const tensors = [context, context, context, other].map((at) => native.createTensor(at, 'float32', small, true, true));
const constant = native.createConstantTensor(context, 'int4', [3], new Uint8Array(2));
const builders = [native.createBuilder(context), native.createBuilder(other)];
const names = ['', 'x', 'y', 'a\0b', '\ud800', 'x'.repeat(100000)];

function anyValue(depth = 0) {
  switch (random(16)) {
    case 0: return undefined;
    case 1: return null;
    case 2: return random(12);
    case 3: return pick([-1, 0.5, NaN, Infinity, 2 ** 32, 2 ** 31 - 1, -0]);
    case 4: return pick([0n, -1n, 2n ** 63n, -(2n ** 70n)]);
    case 5: return pick(names);
    case 6: return pick(native.dataTypes);
    case 7: return random(2) === 1;
    case 8: return pick([...tensors, constant, ...graphs, ...builders, context]);
    case 9: return new Uint8Array(pick([0, 1, 2, 6, 24, 100]));
    case 10: return pick([new Float32Array(6), new ArrayBuffer(8), new DataView(new ArrayBuffer(8)), new BigInt64Array(2)]);
    case 11: return () => { throw new Error('called'); };
    case 12: return depth > 2 ? {} : { axis: anyValue(3), axes: anyValue(1), bias: anyValue(3), splits: anyValue(1) };
    default: return depth > 2 ? [] : Array.from({ length: random(5) }, () => anyValue(depth + 1));
  }
}

// Like a call, mostly.
const shapes = [[], [1], small, [1, 2, 3, 4], [2 ** 31 - 1], [65536, 65536], Array(9).fill(1), [0]];
function likely(method) {
  const builder = pick(builders), operands = Array.from({ length: random(4) }, () => random(8));
  const type = pick(native.dataTypes), shape = pick(shapes), at = pick([context, context, other]);
  const attributes = () => {
    const { rows } = native.operators[random(native.operators.length)], result = {};
    for (const { name, values } of rows)
      if (random(2)) result[name] = values ? pick(values) : pick([random(5), [random(4), random(4)], true, anyValue()]);
    return result;
  };
  return {
    input: [builder, pick(names), type, shape],
    constant: [builder, type, shape, new Uint8Array(random(30))],
    scalarConstant: [builder, type, pick([1, -1.5, NaN, 5n, 2n ** 90n])],
    rangeConstant: [builder, type, random(10), pick([10, -10, 1e30, NaN]), pick([1, -1, 0, 1e-30])],
    tensorConstant: [builder, pick([...tensors, constant])],
    operator: [builder, random(native.operators.length + 1), operands, attributes(), pick(names)],
    activation: [builder, random(native.operators.length), attributes()],
    build: [builder, operands.map(() => pick(names)), operands],
    createTensor: [at, type, shape.includes(2 ** 31 - 1) ? small : shape, random(2) === 1, random(2) === 1],
    createConstantTensor: [at, type, shape, new Uint8Array(random(30))],
    writeTensor: [at, pick(tensors), new Uint8Array(pick([24, 24, 10]))],
    readTensor: [at, pick([...tensors, constant]), pick([undefined, new Uint8Array(24), new Uint8Array(3)])],
    dispatch: [at, pick(graphs), ['x'], [pick(tensors)], ['y'], [pick(tensors)]],
    compute: [at, pick(graphs), ['x'], [new Uint8Array(24)], ['y'], [new Uint8Array(pick([24, 24, 5]))]],
  }[method];
}

test('calls of any kind', { timeout: 240_000 }, async () => {
  const never = ['createContext', 'destroyContext', 'destroyGraph', 'destroyTensor', 'releaseBuilder', 'createBuilder'];
  const methods = Object.keys(native).filter((name) => typeof native[name] === 'function' && !never.includes(name));
  let thrown = 0, done = 0;
  for (let i = 0; i < 20000; i++) {
    const method = pick(methods);
    const values = (random(4) && likely(method)) || Array.from({ length: random(7) }, () => anyValue());
    if (random(5) === 0 && values.length) values[random(values.length)] = anyValue();
    try {
      const result = native[method](...values);
      if (result instanceof Promise) await result.catch(() => {});
      done++;
    } catch (error) {
      assert.ok(error instanceof Error, String(error));
      thrown++;
    }
    if (i % 500 === 0) builders[0] = native.createBuilder(context);
  }
  assert.ok(done > 2000 && thrown > 2000, `${done} done, ${thrown} thrown`);
  // Everything still works.
  const [x, y] = tensors;
  native.writeTensor(context, x, new Uint8Array(new Float32Array([-1, 2, -3, 4, -5, 6]).buffer));
  native.dispatch(context, await makeGraph(), ['x'], [x], ['y'], [y]);
  assert.deepEqual([...new Float32Array(await native.readTensor(context, y))], [0, 2, 0, 4, 0, 6]);
});

test('what is over', () => {
  for (const end of ['destroyContext', 'destroyGraph', 'destroyTensor', 'releaseBuilder'])
    for (const value of [undefined, null, 1, 5n, 'x', {}, [], Symbol('x')]) assert.throws(() => native[end](value));
  assert.throws(() => native.destroyGraph(tensors[0]));
  native.releaseBuilder(builders[0]);
  assert.throws(() => native.input(builders[0], 'x', 'float32', small), (error) => error.code === 'InvalidStateError');
  assert.throws(() => native.releaseBuilder(builders[0]));
  native.destroyContext(other);
  assert.throws(() => native.createBuilder(other), (error) => error.code === 'InvalidStateError');
});
