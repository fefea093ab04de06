// SPDX-License-Identifier: Apache-2.0
//
// navigator.ml over a native side: the addon (index.mjs), or a process elsewhere (bridge/page.mjs). What Web IDL asks
// for is in webidl.mjs, what the library checks is in C; here is the rest: what a page may do with an object and when,
// buffers that are transferred, names of exceptions.

import definitionsText from './definitions.mjs';
import { parse } from './idl.mjs';
import { operatorSignatures } from './operators.mjs';
import { Binding, bytesOf } from './webidl.mjs';

// ---------------------------------------------------------------------------------------------------------------
// Exceptions
// ---------------------------------------------------------------------------------------------------------------

// The native side names exceptions in `code`. Out of memory has no exception of its own in the specification; a request
// is cancelled when its context is destroyed.
const NAMES = { OutOfMemory: 'UnknownError', Cancelled: 'InvalidStateError' };

function toException(error) {
  if (!(error instanceof Error) || typeof error.code !== 'string') return error;
  return error.code === 'TypeError' ? new TypeError(error.message)
    : new DOMException(error.message, NAMES[error.code] ?? error.code);
}

// The native side with exceptions of the web.
function guard(native) {
  const guarded = {};
  for (const [name, value] of Object.entries(native)) {
    guarded[name] = typeof value !== 'function' ? value : (...values) => {
      try {
        const result = value.apply(native, values);
        return result instanceof Promise ? result.catch((error) => { throw toException(error); }) : result;
      } catch (error) {
        throw toException(error);
      }
    };
  }
  return guarded;
}

const invalidState = (message) => { throw new DOMException(message, 'InvalidStateError'); };
const typeError = (message) => { throw new TypeError(message); };

// The array types that compute() takes. float16 are bit patterns where there is no Float16Array.
const ARRAYS = {
  float32: ['Float32Array'], float16: ['Float16Array', 'Uint16Array'], int32: ['Int32Array'], uint32: ['Uint32Array'],
  int64: ['BigInt64Array'], uint64: ['BigUint64Array'], int8: ['Int8Array'], uint8: ['Uint8Array', 'Uint8ClampedArray'],
  int4: ['Uint8Array', 'Int8Array'], uint4: ['Uint8Array'],
};
const bitsOf = (dataType) => Number(dataType.match(/\d+$/)[0]);

const byteLengthOf = ({ dataType, shape }) =>
  Math.ceil((shape.reduce((product, size) => product * size, 1) * bitsOf(dataType)) / 8);
const shapeOf = ({ shape, dimensions }) => shape ?? dimensions;

// ---------------------------------------------------------------------------------------------------------------

// options.api: which text holds where they exclude each other.
//   "2024-04"  the Candidate Recommendation Draft of 2024-04-15: MLActivation, dimensions, dataType() and shape(), as
//              many builds as one likes
//   "2025-03"  what browsers and web-platform-tests had in March 2025: as today's, but input names are compared at
//              build only, destroyed tensors are InvalidStateError, arrays have the type of their descriptor, softmax
//              goes without an axis, scales may have a lower rank
//   "2026-06"  today's
// options.defaults: members for native.createContext (deviceType, threadCount, strictNumerics) where the page's options
// have none.
export function createWebNN(rawNative, { api = '2026-06', defaults = {} } = {}) {
  const marks = { '2024-04': ['Legacy'], '2025-03': ['Modern'], '2026-06': ['Modern', 'Draft'] }[api];
  if (!marks) throw new RangeError(`there is no API of ${api}`);
  const native = guard(rawNative), legacy = api === '2024-04', is2025 = api === '2025-03';
  const definitions = parse(definitionsText, marks);

  // ------------------------------------------------------------------------------------------------- context

  const sameContext = (context, object, what) => {
    if (object.context !== context) typeError(`${what} belongs to another context`);
  };

  const ML = {
    async createContext(ml, options) {
      const { promise, resolve } = withResolvers();
      const chosen = { ...defaults };
      for (const [name, value] of Object.entries(options)) if (value !== undefined) chosen[name] = value;
      if (chosen.deviceType === 'npu') throw new DOMException('there is no NPU backend', 'NotSupportedError');
      if (!legacy && !['cpu', 'gpu'].includes(chosen.deviceType)) chosen.deviceType = defaults.deviceType ?? 'cpu';
      if (!['cpu', 'gpu'].includes(chosen.deviceType ??= 'cpu'))
        typeError(`there is no device type ${chosen.deviceType}`);
      const handle = native.createContext(chosen, (message) => resolve({ message }));
      return { handle, lost: promise, accelerated: options.accelerated };
    },
  };

  const notDestroyed = (tensor) => {
    if (!tensor.destroyed) return;
    if (is2025) invalidState('the tensor was destroyed');
    typeError('the tensor was destroyed');
  };

  const createTensor = (context, handle, { dataType, readable = false, writable = false }, shape, constant) =>
    ({ context, handle, dataType, shape: Object.freeze(shape), readable, writable, constant,
       byteLength: byteLengthOf({ dataType, shape }), destroyed: false, reads: new Set() });

  const MLContext = {
    lost: (context) => context.lost,
    accelerated: (context) => context.accelerated,
    opSupportLimits: (context) => native.opSupportLimits(context.handle),
    destroy: (context) => { native.destroyContext(context.handle); },

    createTensor(context, descriptor) {
      const shape = shapeOf(descriptor), { dataType, readable, writable } = descriptor;
      const handle = native.createTensor(context.handle, dataType, shape, readable, writable);
      return createTensor(context, handle, descriptor, shape, false);
    },
    createConstantTensor(context, descriptor, source) {
      const shape = shapeOf(descriptor);
      const handle = native.createConstantTensor(context.handle, descriptor.dataType, shape, bytesOf(source));
      return createTensor(context, handle, descriptor, shape, true);
    },
    writeTensor(context, tensor, source) {
      sameContext(context, tensor, 'tensor');
      notDestroyed(tensor);
      native.writeTensor(context.handle, tensor.handle, bytesOf(source));
    },
    readTensor(context, tensor, destination) {
      sameContext(context, tensor, 'tensor');
      notDestroyed(tensor);
      const bytes = destination && bytesOf(destination);
      if (bytes?.byteLength < tensor.byteLength)
        typeError(`outputData has ${bytes.byteLength} bytes; expected at least ${tensor.byteLength}`);
      const read = native.readTensor(context.handle, tensor.handle, bytes);
      // destroy() rejects what it finds here.
      return new Promise((resolve, reject) => {
        tensor.reads.add(reject);
        read.then(resolve, reject).finally(() => tensor.reads.delete(reject));
      });
    },
    dispatch(context, graph, inputs, outputs) {
      sameContext(context, graph, 'graph');
      const names = (entries) => entries.map(([name]) => name);
      const handles = (entries, what) => entries.map(([name, tensor]) => {
        sameContext(context, tensor, `${what} "${name}"`);
        return tensor.handle;
      });
      native.dispatch(context.handle, graph.handle, names(inputs), handles(inputs, 'input'), names(outputs),
                      handles(outputs, 'output'));
    },

    // https://www.w3.org/TR/2024/CRD-webnn-20240415/#api-mlcontext-compute
    async compute(context, graph, inputs, outputs) {
      sameContext(context, graph, 'graph');
      checkViews(graph.inputs, inputs, 'input');
      if (inputs.length !== graph.inputs.length) typeError(`${inputs.length} inputs; expected ${graph.inputs.length}`);
      checkViews(graph.outputs, outputs, 'output');
      if (!outputs.length) typeError('no output is asked for');
      checkBuffers([...inputs, ...outputs]);
      const taken = [inputs, outputs].map((entries) => transfer(entries));
      const [names, bytes] = [([name]) => name, ([, view]) => bytesOf(view)];
      await native.compute(context.handle, graph.handle, taken[0].map(names), taken[0].map(bytes), taken[1].map(names),
                           taken[1].map(bytes));
      return { inputs: Object.fromEntries(taken[0]), outputs: Object.fromEntries(taken[1]) };
    },
  };

  const MLTensor = {
    dataType: (tensor) => tensor.dataType,
    shape: (tensor) => tensor.shape,
    readable: (tensor) => tensor.readable,
    writable: (tensor) => tensor.writable,
    constant: (tensor) => tensor.constant,
    destroy(tensor) {
      tensor.destroyed = true;
      native.destroyTensor(tensor.handle);
      for (const reject of tensor.reads) reject(new DOMException('the tensor was destroyed', 'InvalidStateError'));
      tensor.reads.clear();
    },
  };

  const MLGraph = { destroy: (graph) => { native.destroyGraph(graph.handle); } };

  const MLOperand = {
    dataType: (operand) => operand.dataType,
    shape: (operand) => (legacy ? [...operand.shape] : operand.shape),
  };

  // ------------------------------------------------------------------------------------------------- builder

  const usable = (builder) => {
    if (builder.built) invalidState('the builder has built its graph');
    return builder.handle;
  };
  const operand = (builder, { id, dataType, shape, bytes }) =>
    ({ builder, id, dataType, shape: Object.freeze(shape), bytes });
  const idOf = (builder, object, what) =>
    (object.builder === builder ? object.id : typeError(`${what} belongs to another builder`));

  const constants = {
    tensor(builder, tensor) {
      sameContext(builder.context, tensor, 'tensor');
      return native.tensorConstant(builder.handle, tensor.handle);
    },
    buffer(builder, descriptor, source) {
      if ((legacy || is2025) && ArrayBuffer.isView(source)) checkView('the constant', descriptor.dataType, source);
      const { dataType } = descriptor, bytes = bytesOf(source), handle = builder.handle;
      const made = native.constant(handle, dataType, shapeOf(descriptor), bytes);
      return is2025 && bitsOf(dataType) < 8 ? { ...made, bytes: bytes.slice() } : made;
    },
    scalar: (builder, type, value) => native.scalarConstant(builder.handle, type, value),
    legacyScalar: (builder, value, type) => native.scalarConstant(builder.handle, type, value),
    range: (builder, start, end, step, type) => native.rangeConstant(builder.handle, type, start, end, step),
  };

  const MLGraphBuilder = {
    construct: (context) => ({ context, handle: native.createBuilder(context.handle), names: new Set(), built: false }),

    input(builder, name, descriptor) {
      const handle = usable(builder);
      // The older texts compare the names of what is built, at build().
      if (!legacy && !is2025 && builder.names.has(name)) typeError(`there is an input "${name}" already`);
      const made = operand(builder, native.input(handle, name, descriptor.dataType, shapeOf(descriptor)));
      builder.names.add(name);
      return made;
    },

    async build(builder, outputs) {
      const ids = outputs.map(([name, output]) => idOf(builder, output, `output "${name}"`));
      const promise = native.build(usable(builder), outputs.map(([name]) => name), ids);
      if (!legacy) { // the native builder has been read
        builder.built = true;
        native.releaseBuilder(builder.handle);
      }
      return { context: builder.context, ...(await promise) };
    },
  };

  const { constant } = definitions.interfaces.MLGraphBuilder.operations;
  // In the order of definitions.mjs.
  const constantForms = { '2024-04': ['buffer', 'scalar', 'legacyScalar', 'range'], '2025-03': ['buffer', 'scalar'],
                          '2026-06': ['buffer', 'scalar', 'tensor'] }[api];
  constant.forEach((signature, i) => {
    signature.implementation = (builder, ...values) => {
      usable(builder);
      return operand(builder, constants[constantForms[i]](builder, ...values));
    };
  });

  // ------------------------------------------------------------------------------------------------- operators

  const activationId = (builder, value) => (typeof value === 'string'
    ? native.activation(builder.handle, numberOf(value), {})
    : idOf(builder, value, 'an activation'));

  // Interface objects become the numbers that the native side knows.
  const attributesOf = (builder, options) => {
    const attributes = {};
    for (const [name, value] of Object.entries(options)) {
      if (name === 'activations') attributes[name] = value.map((item) => activationId(builder, item));
      else attributes[name] = value?.builder ? idOf(builder, value, name) : value;
    }
    delete attributes.label;
    return attributes;
  };

  // Labels stand in brackets, as in browsers.
  const withLabel = (label, call) => {
    try {
      return call();
    } catch (error) {
      if (label && error instanceof TypeError) error.message = `[${label}] ${error.message}`;
      throw error;
    }
  };

  const numberOf = (wanted) => native.operators.findIndex(({ name }) => name === wanted);

  // The operand with dimensions of size 1 in front. There is no reshape for types of less than a byte, whose constants
  // are made once more.
  const raise = (builder, value, rank) => {
    if (value.builder !== builder || value.shape.length >= rank) return value;
    const newShape = [...Array(rank - value.shape.length).fill(1), ...value.shape];
    return operand(builder, value.bytes ? native.constant(builder.handle, value.dataType, newShape, value.bytes)
      : native.operator(builder.handle, numberOf('reshape'), [value.id], { newShape }, '')[0]);
  };

  const recorder = ({ parameters, name: operator, number, isList }) => (builder, ...values) => {
    const handle = usable(builder), options = values.pop();
    return withLabel(options.label, () => {
      if (is2025 && /quantizeLinear$/i.test(operator))
        values = values.map((value) => raise(builder, value, values[0].shape.length));
      const operands = [], positional = {};
      values.forEach((value, i) => {
        const { name, row } = parameters[i];
        if (row.kind === 'input') operands.push(idOf(builder, value, name));
        else if (row.kind === 'inputs') operands.push(...value.map((item, k) => idOf(builder, item, `${name}[${k}]`)));
        else positional[name] = value;
      });
      const attributes = { ...positional, ...attributesOf(builder, options) };
      const results = native.operator(handle, number, operands, attributes, options.label)
        .map((result) => operand(builder, result));
      return isList ? results : results[0];
    });
  };

  const activationMaker = ({ number }) => (builder, options) =>
    ({ builder, id: native.activation(usable(builder), number, attributesOf(builder, options)) });

  for (const [method, signatures] of Object.entries(operatorSignatures(native.operators, definitions, api))) {
    for (const signature of signatures)
      signature.implementation = signature.activation ? activationMaker(signature) : recorder(signature);
    definitions.interfaces.MLGraphBuilder.operations[method] = signatures;
  }
  if (!legacy) delete definitions.interfaces.MLActivation;

  // -------------------------------------------------------------------------------------------------

  const binding = new Binding(definitions, { ML, MLContext, MLTensor, MLGraph, MLOperand, MLGraphBuilder });
  const ml = binding.wrap('ML', {});
  return { ml, ...binding.interfaces, definitions,
           install: (target = globalThis) => install(target, ml, binding.interfaces) };
}

function withResolvers() {
  let resolve;
  const promise = new Promise((settle) => { resolve = settle; });
  return { promise, resolve };
}

// ---------------------------------------------------------------------------------------------------------------
// compute()
// ---------------------------------------------------------------------------------------------------------------

function checkView(what, dataType, view) {
  const name = view.constructor.name;
  if (!ARRAYS[dataType].includes(Object.prototype.toString.call(view).slice(8, -1)))
    typeError(`${what} is a ${name}; expected a ${ARRAYS[dataType].join(' or ')}`);
}

function checkViews(ports, entries, what) {
  for (const [name, view] of entries) {
    const port = ports.find((one) => one.name === name);
    if (!port) typeError(`the graph has no ${what} "${name}"`);
    checkView(`${what} "${name}"`, port.dataType, view);
    const expected = byteLengthOf(port);
    if (view.byteLength !== expected)
      typeError(`${what} "${name}" has ${view.byteLength} bytes; expected ${expected}`);
  }
}

// A buffer can be transferred once.
function checkBuffers(entries) {
  const buffers = entries.map(([, view]) => view.buffer);
  if (new Set(buffers).size !== buffers.length) typeError('two views share a buffer');
  for (const buffer of buffers) new Uint8Array(buffer); // TypeError: detached
}

// Takes the buffers away from the page: [[name, new view of the same bytes]]
function transfer(entries) {
  return entries.map(([name, view]) => {
    const { buffer, byteOffset, length, constructor } = view;
    const moved = structuredClone(buffer, { transfer: [buffer] });
    if (view.byteLength !== 0) typeError(`the buffer of "${name}" cannot be transferred`); // WebAssembly memory
    return [name, new constructor(moved, byteOffset, length)];
  });
}

// ---------------------------------------------------------------------------------------------------------------

// Makes the interfaces and navigator.ml global, as in a page. Refused where there is no secure context.
function install(target, ml, interfaces) {
  if (target.isSecureContext === false) throw new DOMException('not a secure context', 'SecurityError');
  for (const [name, value] of Object.entries(interfaces))
    Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
  if (!target.navigator) {
    class Navigator {}
    Object.defineProperty(Navigator.prototype, Symbol.toStringTag, { value: 'Navigator', configurable: true });
    Object.defineProperty(target, 'navigator', { value: new Navigator(), configurable: true, writable: true });
  }
  const { navigator } = target, prototype = Object.getPrototypeOf(navigator);
  const getter = { get ml() { return this === navigator ? ml : typeError('Illegal invocation'); } };
  Object.defineProperty(prototype, 'ml', { ...Object.getOwnPropertyDescriptor(getter, 'ml'), enumerable: true });
}
