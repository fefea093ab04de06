// SPDX-License-Identifier: Apache-2.0
//
// A process that hosts the library for pages of its own: host.mjs [--package FILE] [--port N]. A bridge for tests and
// demonstrations, not a way to ship WebNN: it listens on the loopback interface only, answers requests of its own
// origin only, and a page costs its process what the page asks for. A browser engine has its own process and transport;
// INTEGRATION.md says what belongs there.

import { readFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs, types } from 'node:util';
import { decode, encode } from './wire.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const MAX_BYTES = 1 << 28; // of a request, and of an answer
const MAX_SESSIONS = 64;
const TYPES = { '.html': 'text/html', '.mjs': 'text/javascript', '.png': 'image/png' };

// One page: its handles, and promises that it has tickets for.
class Session {
  constructor(native) {
    this.native = native;
    this.handles = new Map();
    this.tickets = new Map();
    this.next = 1;
    this.toHandle = (item) => (types.isExternal(item) ? this.keep(item) : undefined);
    this.fromHandle = (id) => this.handles.get(id);
  }

  keep(item) {
    this.handles.set(this.next, item);
    return this.next++;
  }

  call(method, values) {
    const { native } = this, { operators, dataTypes, version } = native;
    const methods = Object.keys(native).filter((name) => typeof native[name] === 'function' && name !== 'counters');
    if (method === 'describe') return { operators, dataTypes, version, methods };
    if (!methods.includes(method)) throw Object.assign(new Error(`there is no ${method}`), { code: 'TypeError' });
    if (method === 'createContext') return native.createContext(values[0], () => {});
    if (method !== 'compute') return native[method](...values);
    if (!(values[5].reduce((sum, size) => sum + size, 0) <= MAX_BYTES)) throw new RangeError('too many bytes');
    const outputs = values[5].map((size) => new Uint8Array(size));
    return native.compute(...values.slice(0, 5), outputs).then(() => outputs);
  }

  // { value } or { error } or { ticket }
  answer({ method, values, release }) {
    for (const id of release) this.handles.delete(id);
    try {
      const value = this.call(method, values);
      if (!(value instanceof Promise)) return { value };
      const ticket = this.next++;
      this.tickets.set(ticket, value.then((result) => ({ value: result }), errorOf));
      return { ticket };
    } catch (error) {
      return errorOf(error);
    }
  }

  async wait(ticket) {
    const answer = await this.tickets.get(ticket);
    this.tickets.delete(ticket);
    return answer ?? errorOf(new Error('there is no such ticket'));
  }

  // What the page did not destroy ends now, the rest is the collector's.
  end() {
    for (const handle of this.handles.values()) {
      try {
        this.native.destroyContext(handle);
      } catch {
        // not a context
      }
    }
  }
}

const errorOf = ({ code, message }) => ({ error: { code: typeof code === 'string' ? code : 'UnknownError', message } });

async function bodyOf(request) {
  const parts = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size > MAX_BYTES) throw new RangeError('the request is too long');
    parts.push(part);
  }
  return new Uint8Array(Buffer.concat(parts));
}

// `folders`: the folder of each first part of a path. Resolves to { url, close, calls }.
export async function startHost({ native, folders, port = 0 }) {
  const sessions = new Map(), calls = {};
  const sessionOf = (id) => {
    if (!sessions.has(id)) {
      if (sessions.size >= MAX_SESSIONS) throw new RangeError('too many pages');
      sessions.set(id, new Session(native));
    }
    return sessions.get(id);
  };

  async function bridge(action, body) {
    const { session: id } = decode(body, () => undefined), session = sessionOf(String(id));
    const message = decode(body, session.fromHandle);
    if (action === 'end') {
      session.end();
      sessions.delete(String(id));
      return new Uint8Array();
    }
    if (action === 'call') calls[message.method] = (calls[message.method] ?? 0) + 1;
    return encode(action === 'call' ? session.answer(message) : await session.wait(message.ticket), session.toHandle);
  }

  function file(name) {
    const [, first, ...rest] = name.split('/'), folder = folders[first];
    if (!folder || !/^[\w.-]+(\/[\w.-]+)*$/.test(rest.join('/')) || rest.includes('..')) return undefined;
    return path.join(folder, ...rest);
  }

  const server = http.createServer(async (request, response) => {
    const origin = `http://127.0.0.1:${server.address().port}`;
    // Another name for this address (DNS rebinding) and pages of other origins are turned away.
    if (request.headers.host !== origin.slice(7) || (request.headers.origin ?? origin) !== origin) {
      response.writeHead(403).end();
      return;
    }
    const { pathname } = new URL(request.url, origin);
    try {
      if (request.method === 'POST' && request.headers.origin === origin && pathname.startsWith('/bridge/')) {
        response.end(await bridge(pathname.slice(8), await bodyOf(request)));
        return;
      }
      const name = request.method === 'GET' && file(pathname === '/' ? '/bridge/digits.html' : pathname);
      if (!name) throw Object.assign(new Error(`there is no ${pathname}`), { code: 'ENOENT' });
      response.setHeader('Content-Type', TYPES[path.extname(name)] ?? 'application/octet-stream');
      response.setHeader('Content-Security-Policy', "default-src 'self'; style-src 'self' 'unsafe-inline'");
      response.end(readFileSync(name));
    } catch (error) {
      response.writeHead(error.code === 'ENOENT' ? 404 : 400).end(error.message);
    }
  });
  await new Promise((resolve) => { server.listen(port, '127.0.0.1', resolve); });
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${server.address().port}/`, calls, close };
}

export const foldersOf = (entry) =>
  ({ webnn: path.dirname(path.resolve(entry)), bridge: here, digits: path.join(here, '../../../tools/digits') });

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: {
    package: { type: 'string', default: path.join(here, '../../../build/conformance/js/index.mjs') },
    port: { type: 'string', default: '8790' },
  } });
  const { native } = await import(pathToFileURL(path.resolve(values.package)));
  const { url } = await startHost({ native, folders: foldersOf(values.package), port: Number(values.port) });
  console.log(`Draw a digit: ${url}`);
}
