// SPDX-License-Identifier: Apache-2.0
//
// Web IDL's JavaScript binding for interfaces that idl.mjs describes: conversions, overloads, brands, promises,
// property attributes. https://webidl.spec.whatwg.org/#javascript-binding
//
// An implementation never meets the objects that pages hold. What it gets and returns in place of an interface object
// is that object's state, which it makes itself; `wrap` and `unwrap` go between the two.

const fail = (message) => { throw new TypeError(message); };
const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';

// ---------------------------------------------------------------------------------------------------------------
// Numbers, strings, buffers
// ---------------------------------------------------------------------------------------------------------------

const RANGES = {
  'unsigned long': [0, 2 ** 32 - 1],
  'long': [-(2 ** 31), 2 ** 31 - 1],
};

function toInteger(value, [least, most], enforceRange, what) {
  let number = Number(typeof value === 'bigint' ? fail(`${what} is a BigInt`) : value);
  if (!enforceRange) return least < 0 ? number | 0 : number >>> 0;
  if (!Number.isFinite(number)) fail(`${what} is ${number}, which is not an integer`);
  number = Math.trunc(number);
  if (number < least || number > most) fail(`${what} is ${number}; expected ${least} to ${most}`);
  return number + 0; // not -0
}

function toNumber(value, what) {
  return Number(typeof value === 'bigint' ? fail(`${what} is a BigInt`) : value);
}

function toFinite(value, what) {
  const number = toNumber(value, what);
  return Number.isFinite(number) ? number : fail(`${what} is ${number}, which is not finite`);
}

function toFloat(value, what) {
  const number = Math.fround(toFinite(value, what));
  return Number.isFinite(number) ? number : fail(`${what} does not fit in a float`);
}

const toDOMString = (value, what) => (typeof value === 'symbol' ? fail(`${what} is a symbol`) : String(value));
const LONE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;
const toUSVString = (value, what) => toDOMString(value, what).replace(LONE, '\uFFFD');

const isShared = (value) => typeof SharedArrayBuffer === 'function' && value instanceof SharedArrayBuffer;
const isBuffer = (value) => value instanceof ArrayBuffer || isShared(value);

function checkBuffer(buffer, what) {
  if (buffer.resizable || buffer.growable) fail(`${what} is resizable`);
}

function toBufferSource(value, what) {
  if (!ArrayBuffer.isView(value) && !isBuffer(value)) fail(`${what} is not an ArrayBuffer or a view of one`);
  checkBuffer(ArrayBuffer.isView(value) ? value.buffer : value, what);
  return value;
}

function toView(value, what) {
  if (!ArrayBuffer.isView(value)) fail(`${what} is not a view of an ArrayBuffer`);
  if (isShared(value.buffer)) fail(`${what} is a view of a SharedArrayBuffer`);
  checkBuffer(value.buffer, what);
  return value;
}

const BASIC = {
  any: (value) => value,
  object: (value, what) => (isObject(value) ? value : fail(`${what} is not an object`)),
  boolean: (value) => Boolean(value),
  bigint: (value, what) => (typeof value === 'bigint' ? value : fail(`${what} is not a BigInt`)),
  double: toFinite,
  float: toFloat,
  'unrestricted double': toNumber,
  DOMString: toDOMString,
  USVString: toUSVString,
  AllowSharedBufferSource: toBufferSource,
  ArrayBufferView: toView,
};

// Interfaces of other specifications, known by their constructors.
const EXTERNAL = ['GPUDevice'];
const isExternal = (name, value) => typeof globalThis[name] === 'function' && value instanceof globalThis[name];

// "Float32Array" and so on, whatever the object says of itself; undefined for what is no typed array.
const typedArrayName = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get;
export const arrayNameOf = (view) => typedArrayName.call(view);

// The bytes of a buffer source now; a TypeError if it is detached.
export function bytesOf(source) {
  return ArrayBuffer.isView(source) ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
    : new Uint8Array(source);
}

// ---------------------------------------------------------------------------------------------------------------

export class Binding {
  // `definitions` as idl.parse makes them; types may also be { values: [...] }, an enumeration without a name.
  // `implementations` has for each interface `construct`, and for each attribute and operation a function of the state
  // and the converted arguments; a signature may have an `implementation` of its own.
  constructor(definitions, implementations) {
    this.definitions = definitions;
    this.implementations = implementations;
    this.interfaces = {};
    this.states = new WeakMap(); // object -> { name, state }
    for (const name of Object.keys(definitions.interfaces)) this.#define(name);
  }

  wrap(name, state) {
    const object = Object.create(this.interfaces[name].prototype);
    this.states.set(object, { name, state });
    return object;
  }

  unwrap(name, object, what = 'this') {
    const entry = isObject(object) ? this.states.get(object) : undefined;
    return entry?.name === name ? entry.state : fail(`${what} is not of type ${name}`);
  }

  #is(name, object) {
    return isObject(object) && this.states.get(object)?.name === name;
  }

  // ------------------------------------------------------------------------------------------------- to IDL

  convert(type, value, what) {
    if (type.nullable) return value === null || value === undefined ? null : this.convert(type.nullable, value, what);
    if (type.values) return this.#toEnum(type.values, value, what);
    if (type.union) return this.#toUnion(type.union, value, what);
    if (type.generic === 'sequence') return this.#toSequence(type.of, value, what);
    if (type.generic === 'record') return this.#toRecord(type.of, value, what);
    const { enums, dictionaries, interfaces } = this.definitions, { name } = type;
    if (RANGES[name]) return toInteger(value, RANGES[name], type.enforceRange, what);
    if (BASIC[name]) return BASIC[name](value, what);
    if (enums[name]) return this.#toEnum(enums[name], value, what);
    if (dictionaries[name]) return this.#toDictionary(dictionaries[name], value, what);
    if (interfaces[name]) return this.unwrap(name, value, what);
    if (EXTERNAL.includes(name)) return isExternal(name, value) ? value : fail(`${what} is not of type ${name}`);
    throw new Error(`Web IDL: there is no type ${name}`);
  }

  #toEnum(values, value, what) {
    const string = toDOMString(value, what);
    return values.includes(string) ? string : fail(`${what} is "${string}"; expected ${values.join(', ')}`);
  }

  #toSequence(type, value, what) {
    const method = isObject(value) ? value[Symbol.iterator] : undefined;
    if (typeof method !== 'function') fail(`${what} is not a sequence`);
    const items = [];
    for (const item of { [Symbol.iterator]: () => method.call(value) })
      items.push(this.convert(type, item, `${what}[${items.length}]`));
    return items;
  }

  // [[name, value], ...]
  #toRecord(type, value, what) {
    if (!isObject(value)) fail(`${what} is not an object`);
    const entries = new Map();
    for (const key of Reflect.ownKeys(value)) {
      if (!Reflect.getOwnPropertyDescriptor(value, key)?.enumerable) continue;
      const name = toUSVString(key, `a key of ${what}`);
      entries.set(name, this.convert(type, value[key], `${what}["${name}"]`));
    }
    return [...entries];
  }

  #toDictionary(members, value, what) {
    if (value !== undefined && value !== null && !isObject(value)) fail(`${what} is not an object`);
    const result = {};
    for (const { name, type, required, fallback } of members) {
      const item = value?.[name];
      if (item !== undefined) result[name] = this.convert(type, item, `${what}.${name}`);
      else if (required) fail(`${what}.${name} is required`);
      else if (fallback !== undefined) result[name] = fallback;
    }
    return result;
  }

  #toUnion(types, value, what) {
    const exact = types.find((type) => this.#suits(type, value));
    return this.convert(exact ?? types.at(-1), value, what);
  }

  // Whether a value is of a type without being converted, by which unions and overloads are told apart.
  #suits(type, value) {
    if (type.union) return type.union.some((one) => this.#suits(one, value));
    if (type.values) return typeof value === 'string';
    if (type.generic) return isObject(value) && (type.generic === 'record' || Symbol.iterator in value);
    const { enums, dictionaries, interfaces } = this.definitions, { name } = type;
    if (interfaces[name]) return this.#is(name, value);
    if (EXTERNAL.includes(name)) return isExternal(name, value);
    if (dictionaries[name])
      return value === undefined || value === null || (isObject(value) && !this.states.has(value));
    if (enums[name] || name.endsWith('String')) return typeof value === 'string';
    if (name === 'bigint') return typeof value === 'bigint';
    if (name === 'boolean') return typeof value === 'boolean';
    if (name === 'AllowSharedBufferSource') return ArrayBuffer.isView(value) || isBuffer(value);
    return RANGES[name] || BASIC[name] ? typeof value === 'number' : false;
  }

  // ----------------------------------------------------------------------------------------------- from IDL

  #result(type, value) {
    if (type.generic === 'Promise') return Promise.resolve(value).then((result) => this.#result(type.of, result));
    if (type.generic === 'sequence') return value.map((item) => this.#result(type.of, item));
    return this.definitions.interfaces[type.name] ? this.wrap(type.name, value) : value;
  }

  // ----------------------------------------------------------------------------------------------- interfaces

  // https://webidl.spec.whatwg.org/#dfn-overload-resolution-algorithm, for signatures that the values given tell apart.
  #choose(signatures, values) {
    const least = leastArguments(signatures);
    if (values.length < least)
      fail(`${least} argument${least === 1 ? '' : 's'} required, but only ${values.length} present`);
    const fitting = signatures.filter(({ parameters }) => {
      const required = parameters.filter((parameter) => !parameter.optional).length;
      return required <= values.length && (values.length <= parameters.length || signatures.length === 1);
    });
    const candidates = fitting.length ? fitting : signatures;
    return candidates.find(({ parameters }) =>
      parameters.every((parameter, i) => i >= values.length || (parameter.optional && values[i] === undefined) ||
                                         this.#suits(parameter.type, values[i]))) ?? candidates.at(-1);
  }

  #arguments({ parameters }, values) {
    return parameters.map(({ name, type, optional, fallback }, i) => {
      if (!optional || values[i] !== undefined) return this.convert(type, values[i], name);
      return fallback === undefined ? undefined
        : isObject(fallback) ? this.convert(type, undefined, name) : fallback;
    });
  }

  #define(name) {
    const binding = this, { attributes, operations, constructor } = this.definitions.interfaces[name];
    const implementation = this.implementations[name] ?? {};
    // A function, not a class: an arrow has no prototype, and a class cannot have its length.
    const Interface = { [name]: function (...values) {
      if (!constructor) fail('Illegal constructor');
      if (!new.target) fail(`${name} is a constructor: use new`);
      const signature = binding.#choose([constructor], values);
      const state = implementation.construct(...binding.#arguments(signature, values));
      const object = Object.create(new.target.prototype);
      binding.states.set(object, { name, state });
      return object;
    } }[name];
    Object.defineProperty(Interface, 'length', { value: constructor ? leastArguments([constructor]) : 0 });
    Object.defineProperty(Interface, 'prototype', { writable: false });
    const { prototype } = Interface;
    Object.defineProperty(prototype, Symbol.toStringTag, { value: name, configurable: true });
    this.interfaces[name] = Interface;
    for (const attribute of attributes) this.#defineAttribute(name, attribute, implementation[attribute.name]);
    for (const [operation, signatures] of Object.entries(operations))
      this.#defineOperation(name, operation, signatures, implementation[operation]);
  }

  #defineAttribute(interfaceName, { name, type }, get) {
    const binding = this, isPromise = type.generic === 'Promise';
    const getter = { get [name]() {
      try {
        return get(binding.unwrap(interfaceName, this));
      } catch (error) {
        if (isPromise) return Promise.reject(error);
        throw error;
      }
    } };
    Object.defineProperty(this.interfaces[interfaceName].prototype, name,
                          { ...Object.getOwnPropertyDescriptor(getter, name), enumerable: true, configurable: true });
  }

  #defineOperation(interfaceName, name, signatures, implementation) {
    const binding = this, isPromise = signatures[0].returns.generic === 'Promise';
    const call = (object, values) => {
      const state = binding.unwrap(interfaceName, object), signature = binding.#choose(signatures, values);
      const result = (signature.implementation ?? implementation)(state, ...binding.#arguments(signature, values));
      return binding.#result(signature.returns, result);
    };
    const operation = { [name](...values) {
      try {
        return call(this, values);
      } catch (error) {
        if (error instanceof TypeError && !error.message.startsWith('Failed'))
          error.message = `Failed to execute '${name}' on '${interfaceName}': ${error.message}`;
        if (isPromise) return Promise.reject(error);
        throw error;
      }
    } }[name];
    Object.defineProperty(operation, 'length', { value: leastArguments(signatures) });
    Object.defineProperty(this.interfaces[interfaceName].prototype, name,
                          { value: operation, enumerable: true, configurable: true, writable: true });
  }
}

function leastArguments(signatures) {
  return Math.min(...signatures.map(({ parameters }) => parameters.filter(({ optional }) => !optional).length));
}
