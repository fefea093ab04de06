// SPDX-License-Identifier: Apache-2.0
//
// The native side of webnn.mjs for a page: every call goes to the host (host.mjs). Calls are synchronous requests, as
// the builder's methods throw; whatever ends later has a ticket, which is waited for separately. So calls arrive in the
// order in which they were made. "?api=2024-04" in the address of the page chooses the API of that text.

import { createWebNN } from '/webnn/webnn.mjs';
import { decode, encode } from './wire.mjs';

class Handle {
  constructor(id) { this.id = id; }
}

const session = crypto.randomUUID();
let released = [];
const registry = new FinalizationRegistry((id) => { released.push(id); });
const toHandle = (item) => (item instanceof Handle ? item.id : undefined);
const fromHandle = (id) => {
  const handle = new Handle(id);
  registry.register(handle, id);
  return handle;
};

function resultOf({ error, value }) {
  if (error) throw Object.assign(new Error(error.message), { code: error.code });
  return value;
}

function call(method, values) {
  const request = new XMLHttpRequest(), release = released;
  released = [];
  request.open('POST', '/bridge/call', false);
  request.overrideMimeType('text/plain; charset=x-user-defined'); // a byte a character: there is no other way
  request.send(encode({ session, method, values, release }, toHandle));
  const bytes = Uint8Array.from(request.responseText, (character) => character.charCodeAt(0) & 255);
  const answer = decode(bytes, fromHandle);
  const value = resultOf(answer);
  return answer.ticket === undefined ? value : wait(answer.ticket);
}

async function wait(ticket) {
  const response = await fetch('/bridge/wait', { method: 'POST', body: encode({ session, ticket }, toHandle) });
  return resultOf(decode(new Uint8Array(await response.arrayBuffer()), fromHandle));
}

const native = call('describe', []);
for (const method of native.methods) native[method] = (...values) => call(method, values);

const { createContext, destroyContext, readTensor, compute } = native;
const lostFunctions = new WeakMap();
native.createContext = (options, lost) => {
  const handle = createContext(options);
  lostFunctions.set(handle, lost);
  return handle;
};
native.destroyContext = (handle) => {
  destroyContext(handle);
  lostFunctions.get(handle)('the context was destroyed');
};
native.readTensor = async (context, tensor, into) => {
  const bytes = await readTensor(context, tensor);
  if (!into) return bytes.buffer;
  if (into.byteLength < bytes.byteLength) throw new TypeError('the output buffer was detached');
  into.set(bytes);
};
native.compute = async (context, graph, inputNames, inputs, outputNames, outputs) => {
  const sizes = outputs.map(({ byteLength }) => byteLength);
  const results = await compute(context, graph, inputNames, inputs, outputNames, sizes);
  results.forEach((bytes, i) => outputs[i].set(bytes));
};

addEventListener('pagehide', () => navigator.sendBeacon('/bridge/end', encode({ session }, toHandle)));
createWebNN(native, { api: new URLSearchParams(location.search).get('api') ?? undefined }).install();
