// SPDX-License-Identifier: Apache-2.0
//
// Runs one unmodified test of web-platform-tests in the global scope of this process and prints its result as the last
// line: one.mjs ROOT TEST VARIANT PACKAGE DEVICE API SCOPE. For the scope "worker" that is the global scope of a thread.
// What is here is what a page or a worker has and Node has not.

import { existsSync, readFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import vm from 'node:vm';
import { Worker, isMainThread } from 'node:worker_threads';

const [root, test, variant, entry, device, api, kind] = process.argv.slice(2);
const inWorker = kind === 'worker';
if (inWorker && isMainThread) {
  // The thread prints the result. This module goes no further.
  await new Promise((resolve) => {
    new Worker(new URL(import.meta.url), { argv: process.argv.slice(2) }).on('exit', resolve);
  });
  process.exit();
}
const scope = globalThis;

const page = test.replace(/\.js$/, inWorker ? '.worker.html' : '.html');
const url = new URL(`https://web-platform.test:8443/${page}${variant}`);
const fileOf = (address) => path.join(root, decodeURIComponent(new URL(address, url).pathname));

// The harness and the tests ask for these.
scope.self = scope;
if (inWorker) {
  // The global object is one of these; the results go to no page.
  const isGlobal = { [Symbol.hasInstance]: { value: (object) => object === scope } };
  scope.WorkerGlobalScope = Object.defineProperties(class WorkerGlobalScope {}, isGlobal);
  scope.DedicatedWorkerGlobalScope = Object.defineProperties(class DedicatedWorkerGlobalScope {}, isGlobal);
  scope.postMessage = () => {};
} else {
  scope.window = scope;
  scope.Window = class Window {};
}
scope.isSecureContext = scope.crossOriginIsolated = true;
scope.location = url;
scope.GLOBAL = { isWindow: () => !inWorker, isWorker: () => inWorker, isShadowRealm: () => false };
scope.fetch = async (address) => {
  const file = fileOf(address);
  return existsSync(file) ? new Response(readFileSync(file)) : new Response('', { status: 404 });
};
scope.XMLHttpRequest = class {
  open(method, address) { this.file = fileOf(address); }
  overrideMimeType() {}
  setRequestHeader() {}
  send() {
    this.readyState = 4;
    this.status = existsSync(this.file) ? 200 : 404;
    this.responseText = this.status === 200 ? readFileSync(this.file, 'utf8') : '';
  }
};

// V8 of Node 20 lacks these.
const { prototype } = ArrayBuffer;
const define = (object, name, descriptor) =>
  name in object || Object.defineProperty(object, name, { configurable: true, ...descriptor });
define(prototype, 'transfer', { writable: true, value(length = this.byteLength) {
  const moved = structuredClone(this, { transfer: [this] });
  if (length === moved.byteLength) return moved;
  const resized = new ArrayBuffer(length);
  new Uint8Array(resized).set(new Uint8Array(moved, 0, Math.min(length, moved.byteLength)));
  return resized;
} });
define(prototype, 'detached', { get() {
  try {
    return !new Uint8Array(this);
  } catch {
    return true;
  }
} });

// Of the first, tests use the size of an element and no values.
scope.Float16Array ??= class Float16Array extends Uint16Array {};
define(Set.prototype, 'difference', { value(other) { return new Set([...this].filter((item) => !other.has(item))); } });
const navigatorName = inWorker ? 'WorkerNavigator' : 'Navigator';
if (inWorker) delete scope.Navigator;
define(scope, navigatorName, { writable: true, value: { [navigatorName]: class {} }[navigatorName] });
const navigatorPrototype = scope[navigatorName].prototype;
Object.defineProperty(navigatorPrototype, Symbol.toStringTag, { value: navigatorName, configurable: true });
Object.defineProperty(scope, 'navigator', { value: Object.create(navigatorPrototype), configurable: true });

const { create } = await import(pathToFileURL(path.resolve(entry)));
create({ api, defaults: { deviceType: device } }).install(scope);

// ---------------------------------------------------------------------------------------------------------------

const load = (file) => vm.runInThisContext(readFileSync(file, 'utf8'), { filename: file });
const metas = [...readFileSync(path.join(root, test), 'utf8').matchAll(/^\/\/ META: (\w+)=(.*)$/gm)]
  .map(([, name, value]) => [name, value.trim()]);
const scripts = metas.filter(([name]) => name === 'script').map(([, value]) =>
  (value === '/resources/WebIDLParser.js' ? path.join(root, 'resources/webidl2/lib/webidl2.js')
    : value.startsWith('/') ? path.join(root, value) : path.join(root, path.dirname(test), value)));

const begin = Date.now();
function report(result) {
  // Synchronous: the process or the thread ends now, whatever is still open.
  writeSync(1, `\n${JSON.stringify({ test: url.pathname + variant, ...result, duration: Date.now() - begin })}\n`);
  process.exit(0);
}

process.on('unhandledRejection', () => {});
try {
  load(path.join(root, 'resources/testharness.js'));
  scope.add_completion_callback((tests, status) => report({
    status: ['OK', 'ERROR', 'TIMEOUT', 'PRECONDITION_FAILED'][status.status],
    message: status.message ?? null,
    subtests: tests.map(({ name, status: outcome, message }) => ({
      name, status: ['PASS', 'FAIL', 'TIMEOUT', 'NOTRUN', 'PRECONDITION_FAILED'][outcome], message: message ?? null })),
  }));
  for (const file of scripts) load(file);
  load(path.join(root, test));
  if (inWorker) scope.done();
} catch (error) {
  report({ status: 'ERROR', message: String(error.stack), subtests: [] });
}
// Three times what a browser has: a test has half a processor here.
const seconds = metas.some(([name, value]) => name === 'timeout' && value === 'long') ? 180 : 30;
setTimeout(() => report({ status: 'TIMEOUT', message: null, subtests: [] }), seconds * 1000);
