// SPDX-License-Identifier: Apache-2.0
//
// navigator.ml over a native side: the addon (index.mjs), or a process elsewhere (bridge/page.mjs). What Web IDL asks
// for is in webidl.mjs, what the library checks is in C; here is the rest: what a page may do with an object and when,
// buffers that are transferred, names of exceptions.

import definitionsText from './definitions.mjs';
import { parse } from './idl.mjs';
import { operatorSignatures } from './operators.mjs';
import { Binding, arrayNameOf, bytesOf } from './webidl.mjs';

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

// The array types of each data type. https://www.w3.org/TR/webnn/#appendices-mloperanddatatype-arraybufferview-compatibility
// A Uint16Array has the bit patterns of float16.
const ARRAYS = {
  float32: ['Float32Array'], float16: ['Float16Array', 'Uint16Array'], int32: ['Int32Array'], uint32: ['Uint32Array'],
  int64: ['BigInt64Array'], uint64: ['BigUint64Array'], int8: ['Int8Array'], uint8: ['Uint8Array'],
  int4: ['Uint8Array', 'Int8Array'], uint4: ['Uint8Array'],
};
const MAX_SIZE = 2 ** 31 - 1;
const bitsOf = (dataType) => Number(dataType.match(/\d+$/)[0]);

const byteLengthOf = ({ dataType, shape }) =>
  Math.ceil((shape.reduce((product, size) => product * size, 1) * bitsOf(dataType)) / 8);
const shapeOf = ({ shape, dimensions }) => shape ?? dimensions;

// ---------------------------------------------------------------------------------------------------------------

// options.api: which text holds where they exclude each other.
//   "2024-04"  the Candidate Recommendation Draft of 2024-04-15: MLActivation, dimensions, dataType() and shape(), as
//              many builds as one likes
//   "2025-03"  what browsers and web-platform-tests had in March 2025: as today's, but input names are compared at
//              build only, destroyed tensors are InvalidStateError, only constants have arrays of the type of their
//              descriptor, softmax goes without an axis, scales may have a lower rank, roundingType, symmetric padding
//   "2026-06"  today's, strictly; what is beyond the text is listed in README.md
// options.defaults: members for native.createContext (deviceType, threadCount, strictNumerics) where the page's options
// have none.
// options.graphCache: where compiled graphs are kept (graph_cache.mjs); undefined: nowhere.
export function createWebNN(rawNative, { api = '2026-06', defaults = {}, graphCache } = {}) {
  const marks = { '2024-04': ['Legacy', 'Static'], '2025-03': ['Modern', 'Static'], '2026-06': ['Modern', 'Draft'] }[api];
  if (!marks) throw new RangeError(`there is no API of ${api}`);
  const native = guard(rawNative), legacy = api === '2024-04', is2025 = api === '2025-03';
  const definitions = parse(definitionsText, marks);

  // https://www.w3.org/TR/webnn/#validate-buffer-with-descriptor. In the older APIs, the library compares the lengths.
  const checkSource = (what, descriptor, source, bytes = ['Uint8Array']) => {
    if (legacy || is2025) return;
    const expected = byteLengthOf(descriptor), arrays = ARRAYS[descriptor.dataType];
    if (source.byteLength !== expected) typeError(`${what} has ${source.byteLength} bytes; expected ${expected}`);
    if (ArrayBuffer.isView(source) && ![...bytes, ...arrays].includes(arrayNameOf(source)))
      typeError(`${what} is a ${source.constructor?.name}; expected a ${arrays.join(' or ')} or a Uint8Array`);
  };

  // ------------------------------------------------------------------------------------------------- context

  // What the cache has a digest of must be what the library gets: memory that others can write is copied.
  const constantBytes = (source) => {
    const bytes = bytesOf(source);
    return graphCache && !(bytes.buffer instanceof ArrayBuffer) ? bytes.slice() : bytes;
  };

  const sameContext = (context, object, what) => {
    if (object.context !== context) typeError(`${what} belongs to another context`);
  };

  const ML = {
    async createContext(ml, options) {
      const life = createLife();
      const chosen = { ...defaults };
      for (const [name, value] of Object.entries(options)) if (value !== undefined) chosen[name] = value;
      if (chosen.deviceType === 'npu') throw new DOMException('there is no NPU backend', 'NotSupportedError');
      if (!legacy && !['cpu', 'gpu'].includes(chosen.deviceType)) chosen.deviceType = defaults.deviceType ?? 'cpu';
      if (!['cpu', 'gpu'].includes(chosen.deviceType ??= 'cpu'))
        typeError(`there is no device type ${chosen.deviceType}`);
      // The native side keeps this function: it does not lead to the handle, or the context would never be collected.
      const handle = native.createContext(chosen, (message) => life.lose(message));
      const { deviceType: device, strictNumerics } = chosen;
      return { handle, life, device, strictNumerics, accelerated: options.accelerated };
    },
    async createContextOnDevice() {
      throw new DOMException('there is no WebGPU whose devices could be shared', 'NotSupportedError');
    },
  };
  // In the order of definitions.mjs.
  definitions.interfaces.ML.operations.createContext[0].implementation = ML.createContextOnDevice;

  const notLost = ({ life }) => { if (life.isLost) invalidState(`the context is lost: ${life.message}`); };

  // Losing a context destroys its tensors and graphs.
  const notDestroyed = (tensor) => {
    if (!tensor.destroyed && !tensor.context.life.isLost) return;
    if (is2025) invalidState('the tensor was destroyed');
    typeError('the tensor was destroyed');
  };

  const createTensor = (context, handle, { dataType, readable = false, writable = false }, shape, constant) =>
    ({ context, handle, dataType, shape: Object.freeze(shape), readable, writable, constant,
       byteLength: byteLengthOf({ dataType, shape }), destroyed: false, reads: new Set() });

  const MLContext = {
    lost: (context) => context.life.lost,
    accelerated: (context) => context.accelerated,
    opSupportLimits: (context) => native.opSupportLimits(context.handle),
    destroy(context) {
      context.life.lose('destroy() was called');
      native.destroyContext(context.handle);
    },

    createTensor(context, descriptor) {
      notLost(context);
      const shape = shapeOf(descriptor), { dataType, readable, writable } = descriptor;
      const handle = native.createTensor(context.handle, dataType, shape, readable, writable);
      return unlessRejected(createTensor(context, handle, descriptor, shape, false), context.life.pending);
    },
    createConstantTensor(context, descriptor, source) {
      notLost(context);
      const { dataType } = descriptor, shape = shapeOf(descriptor);
      checkSource('inputData', { dataType, shape }, source);
      const bytes = constantBytes(source), handle = native.createConstantTensor(context.handle, dataType, shape, bytes);
      const tensor = createTensor(context, handle, descriptor, shape, true);
      if (graphCache) tensor.digest = graphCache.digest(bytes);
      return unlessRejected(tensor, context.life.pending);
    },
    writeTensor(context, tensor, source) {
      sameContext(context, tensor, 'tensor');
      notDestroyed(tensor);
      if (tensor.writable) checkSource('inputData', tensor, source);
      native.writeTensor(context.handle, tensor.handle, bytesOf(source));
    },
    readTensor(context, tensor, destination) {
      sameContext(context, tensor, 'tensor');
      notDestroyed(tensor);
      // ONNX Runtime Web reads into views of its heap, which is an Int8Array.
      if (destination && tensor.readable) checkSource('outputData', tensor, destination, ['Uint8Array', 'Int8Array']);
      const bytes = destination && bytesOf(destination);
      if (bytes?.byteLength < tensor.byteLength)
        typeError(`outputData has ${bytes.byteLength} bytes; expected at least ${tensor.byteLength}`);
      const read = native.readTensor(context.handle, tensor.handle, bytes);
      return unlessRejected(read, tensor.reads, context.life.pending);
    },
    dispatch(context, graph, inputs, outputs) {
      sameContext(context, graph, 'graph');
      notLost(context);
      if (graph.destroyed) invalidState('the graph was destroyed');
      const names = (entries) => entries.map(([name]) => name);
      const handles = (entries, what) => entries.map(([name, tensor]) => {
        sameContext(context, tensor, `${what} "${name}"`);
        notDestroyed(tensor);
        return tensor.handle;
      });
      const given = [handles(inputs, 'input'), handles(outputs, 'output')];
      // The library lets an output replace an input.
      if (new Set(given.flat()).size < inputs.length + outputs.length) typeError('a tensor is given twice');
      native.dispatch(context.handle, graph.handle, names(inputs), given[0], names(outputs), given[1]);
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
      const done = native.compute(context.handle, graph.handle, taken[0].map(names), taken[0].map(bytes),
                                  taken[1].map(names), taken[1].map(bytes));
      await unlessRejected(done, context.life.pending);
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
      rejectAll(tensor.reads, 'the tensor was destroyed');
    },
  };

  const MLGraph = {
    devices: (graph) => graph.devices,
    computeShapes(graph, inputShapes) {
      notLost(graph.context);
      if (graph.destroyed) invalidState('the graph was destroyed');
      return Object.fromEntries(native.computeShapes(graph.handle, inputShapes.map(([name]) => name),
                                                     inputShapes.map(([, shape]) => shape)));
    },
    destroy(graph) {
      graph.destroyed = true;
      native.destroyGraph(graph.handle);
    },
  };

  const MLOperand = {
    dataType: (operand) => operand.dataType,
    shape: (operand) => (legacy ? operand.shape && [...operand.shape] : operand.shape),
  };

  // ------------------------------------------------------------------------------------------------- builder

  const usable = (builder) => {
    if (builder.built) invalidState('the builder has built its graph');
    notLost(builder.context);
    return builder.handle;
  };
  const operand = (builder, { id, dataType, shape, bytes }) =>
    ({ builder, id, dataType, shape: Object.freeze(shape), bytes });
  const idOf = (builder, object, what) =>
    (object.builder === builder ? object.id : typeError(`${what} belongs to another builder`));

  const constants = {
    tensor(builder, tensor) {
      sameContext(builder.context, tensor, 'tensor');
      notDestroyed(tensor);
      if (!tensor.constant) typeError('the tensor is not constant');
      usable(builder); // which the text asks last
      const made = native.tensorConstant(builder.handle, tensor.handle);
      if (graphCache) made.digest = tensor.digest;
      return made;
    },
    buffer(builder, descriptor, source) {
      const { dataType } = descriptor, shape = shapeOf(descriptor), handle = usable(builder);
      if ((legacy || is2025) && ArrayBuffer.isView(source)) checkView('the constant', dataType, source);
      checkSource('the constant', { dataType, shape }, source);
      const bytes = constantBytes(source), made = native.constant(handle, dataType, shape, bytes);
      if (graphCache) made.digest = graphCache.digest(bytes);
      return is2025 && bitsOf(dataType) < 8 ? { ...made, bytes: bytes.slice() } : made;
    },
    scalar: (builder, type, value) => native.scalarConstant(usable(builder), type, value),
    legacyScalar: (builder, value, type) => native.scalarConstant(usable(builder), type, value),
    range: (builder, start, end, step, type) => native.rangeConstant(usable(builder), type, start, end, step),
  };

  // After a build, but for the oldest API, whose builders may build again.
  const release = (builder) => {
    if (legacy) return;
    builder.built = true;
    native.releaseBuilder(builder.handle);
  };

  const buildWithCache = async (builder, key, build) => {
    builder.built = !legacy;
    const found = await graphCache.load(builder.context, key);
    if (found) {
      release(builder);
      return found;
    }
    builder.built = false; // as long as it is refused
    const graph = await build();
    await graphCache.save(graph.handle, key);
    return graph;
  };

  const MLGraphBuilder = {
    construct(context) {
      notLost(context);
      const handle = native.createBuilder(context.handle);
      return { context, handle, names: new Set(), digests: new Map(), built: false };
    },

    input(builder, name, descriptor) {
      const handle = usable(builder);
      // The older texts compare the names of what is built, at build().
      if (!legacy && !is2025 && builder.names.has(name)) typeError(`there is an input "${name}" already`);
      const shape = shapeOf(descriptor);
      if (shape.includes('')) typeError('a dimension has an empty name');
      const made = operand(builder, native.input(handle, name, descriptor.dataType, shape));
      builder.names.add(name);
      builder.isLate ||= shape.some((size) => typeof size !== 'number');
      return made;
    },

    async build(builder, outputs) {
      const handle = usable(builder), { context } = builder;
      const ids = outputs.map(([name, output]) => idOf(builder, output, `output "${name}"`));
      const names = outputs.map(([name]) => name);
      const key = graphCache?.key(context, handle, names, ids, builder.digests);
      const build = () => {
        const promise = native.build(handle, names, ids, key !== undefined);
        release(builder); // the native builder has been read
        return promise;
      };
      const promise = key === undefined ? build() : buildWithCache(builder, key, build);
      const graph = await unlessRejected(promise, context.life.pending);
      return { context, ...graph, devices: Object.freeze([context.device]), destroyed: false };
    },
  };

  const { constant } = definitions.interfaces.MLGraphBuilder.operations;
  // In the order of definitions.mjs.
  const constantForms = { '2024-04': ['buffer', 'scalar', 'legacyScalar', 'range'], '2025-03': ['buffer', 'scalar'],
                          '2026-06': ['buffer', 'scalar', 'tensor'] }[api];
  constant.forEach((signature, i) => {
    signature.implementation = (builder, ...values) => {
      const made = constants[constantForms[i]](builder, ...values);
      if (made.digest) builder.digests.set(made.id, made.digest);
      return operand(builder, made);
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
      // The library takes an empty list for none.
      if (name === 'activations' && !value.length) typeError('activations has 0 items; expected one for each gate');
      if (name === 'activations') attributes[name] = value.map((item) => activationId(builder, item));
      else attributes[name] = value?.builder ? idOf(builder, value, name) : value;
    }
    delete attributes.label;
    return attributes;
  };

  // Labels stand in brackets, as in browsers, without characters that turn the text around or hide.
  const printable = (label) => label.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    `\\u{${character.codePointAt(0).toString(16).toUpperCase()}}`);
  const withLabel = (label, call) => {
    try {
      return call();
    } catch (error) {
      if (label && error instanceof TypeError) error.message = `[${printable(label)}] ${error.message}`;
      throw error;
    }
  };

  const numberOf = (wanted) => native.operators.findIndex(({ name }) => name === wanted);

  // The operand with dimensions of size 1 in front. There is no reshape for types of less than a byte, whose constants
  // are made once more.
  const raise = (builder, value, rank) => {
    if (value.builder !== builder || value.shape === null || value.shape.length >= rank) return value;
    const newShape = [...Array(rank - value.shape.length).fill(1), ...value.shape];
    return operand(builder, value.bytes ? native.constant(builder.handle, value.dataType, newShape, value.bytes)
      : native.operator(builder.handle, numberOf('reshape'), [value.id], { newShape }, '')[0]);
  };

  // Of the library, larger numbers are sizes that are not known, which pages have no numbers for.
  const checkSizes = (attributes) => {
    for (const [name, value] of Object.entries(attributes))
      for (const number of Array.isArray(value) ? value : [value])
        if (Number.isInteger(number) && number > MAX_SIZE && number < 2 ** 32)
          typeError(`${name} has ${number}; expected at most ${MAX_SIZE}`);
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
      if (builder.isLate) checkSizes(attributes);
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

// Of a context, apart from its handle. https://www.w3.org/TR/webnn/#mlcontext-lose
function createLife() {
  const life = { isLost: false, message: '', pending: new Set() };
  let resolve;
  life.lost = new Promise((settle) => { resolve = settle; });
  life.lose = (message) => {
    if (life.isLost) return;
    life.isLost = true;
    life.message = message;
    resolve({ message });
    rejectAll(life.pending, `the context is lost: ${message}`);
  };
  return life;
}

// A promise of what `value` is or will be. While it is pending, the sets have a function that rejects it.
function unlessRejected(value, ...sets) {
  return new Promise((resolve, reject) => {
    for (const set of sets) set.add(reject);
    const settle = (end) => (result) => {
      for (const set of sets) set.delete(reject);
      end(result);
    };
    Promise.resolve(value).then(settle(resolve), settle(reject));
  });
}

function rejectAll(set, message) {
  for (const reject of set) reject(new DOMException(message, 'InvalidStateError'));
  set.clear();
}

// ---------------------------------------------------------------------------------------------------------------
// compute()
// ---------------------------------------------------------------------------------------------------------------

function checkView(what, dataType, view) {
  if (!ARRAYS[dataType].includes(arrayNameOf(view)))
    typeError(`${what} is a ${view.constructor?.name}; expected a ${ARRAYS[dataType].join(' or ')}`);
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
