// SPDX-License-Identifier: Apache-2.0
//
// Compiled graphs in a folder, for the next time that the same graph is built: webnn.mjs asks for one by its key, and has
// what it built instead kept. Nothing that goes wrong here is an error of build(): it costs the time that it would have saved.
//
// The key is a digest of what was recorded, with the constants, and of the library, the device and the options that the graph
// is for. A file is written under another name first, so that a process sees all of it or nothing; whether it is whole, the
// library checks. What a file has compiled for a GPU is run as it is, so the folder has to belong to the user and be
// writable for nobody else, as the folder of webnn --cache does, and so do its files.

import { createHash, randomBytes } from 'node:crypto';
import { constants, promises as fs } from 'node:fs';
import path from 'node:path';

const DEFAULT_MAX_BYTES = 2 ** 30;
const ENTRY = /^[0-9a-f]{64}\.wnnc$/;
const TEMPORARY = /^[0-9a-f]{64}\.[0-9a-f]{16}$/;
const MAX_TEMPORARY_AGE = 3600_000; // of what a process that is gone was writing, in milliseconds

// What the option compiledGraphCache says: { folder, maxBytes }, or undefined if there is to be no cache.
function readOption(option) {
  if (option === undefined || option === null) return undefined;
  const { folder, maxBytes = DEFAULT_MAX_BYTES } = typeof option === 'string' ? { folder: option } : option;
  if (typeof folder !== 'string' || !folder) throw new TypeError('compiledGraphCache has no folder');
  if (!(maxBytes >= 0)) throw new TypeError(`compiledGraphCache.maxBytes is ${String(maxBytes)}; expected a number of bytes`);
  return { folder: path.resolve(folder), maxBytes };
}

export function createGraphCache(native, option) {
  const read = readOption(option);
  return read && new GraphCache(native, read);
}

const isOthers = ({ uid, mode }) =>
  (uid !== process.geteuid() ? 'belongs to another user' : mode & 0o022 ? 'is writable for others' : undefined);

class GraphCache {
  #native;
  #folder;
  #maxBytes;
  #isWarned = false;

  constructor(native, { folder, maxBytes }) {
    this.#native = native;
    this.#folder = folder;
    this.#maxBytes = maxBytes;
  }

  // Stands for the bytes of a constant.
  digest(bytes) {
    return createHash('sha256').update(bytes).digest();
  }

  // undefined: graphs like this cannot be kept. `digests`: by the id of a constant.
  key({ handle, strictNumerics = false }, builder, names, ids, digests) {
    let recorded;
    try {
      recorded = this.#native.serialize(builder, names, ids, [...digests.keys()], [...digests.values()]);
    } catch {
      return undefined;
    }
    const target = JSON.stringify([this.#native.version, this.#native.host.describeDevice(handle), Boolean(strictNumerics)]);
    return createHash('sha256').update(`${target}\n`).update(new Uint8Array(recorded)).digest('hex');
  }

  // What native.build() would resolve to; undefined: there is no such file.
  async load({ handle }, key) {
    if (!(await this.#isTrusted())) return undefined;
    const name = this.#nameOf(key), flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    let file;
    try {
      file = await fs.open(name, flags);
      if (isOthers(await file.stat())) return undefined;
      const graph = await this.#native.host.load(handle, file.fd);
      const now = new Date();
      await file.utimes(now, now).catch(() => {}); // it was used
      return graph;
    } catch (error) {
      // Damaged, or of another build of the library, another driver or processor under the same name.
      if (['TypeError', 'NotSupportedError'].includes(error.code)) await fs.unlink(name).catch(() => {});
      return undefined;
    } finally {
      await file?.close();
    }
  }

  async save(graph, key) {
    if (!(await this.#isTrusted())) return;
    const temporary = path.join(this.#folder, `${key}.${randomBytes(8).toString('hex')}`);
    let file;
    try {
      file = await fs.open(temporary, 'wx', 0o600);
      await this.#native.host.save(graph, file.fd, this.#maxBytes);
      await file.close();
      await fs.rename(temporary, this.#nameOf(key));
      await this.#removeOldest();
    } catch {
      await file?.close().catch(() => {});
      await fs.unlink(temporary).catch(() => {});
    }
  }

  #nameOf(key) {
    return path.join(this.#folder, `${key}.wnnc`);
  }

  // Makes the folder, in one that is there. A warning is given once.
  async #isTrusted() {
    let problem;
    try {
      await fs.mkdir(this.#folder, { mode: 0o700 }).catch(() => {}); // it may be there
      const status = await fs.lstat(this.#folder);
      problem = status.isSymbolicLink() ? 'is a symbolic link' : isOthers(status) ?? (status.isDirectory() ? undefined : 'is no folder');
    } catch (error) {
      problem = error.message;
    }
    if (problem && !this.#isWarned)
      process.emitWarning(`the cache of compiled graphs is not used: ${this.#folder} ${problem}`);
    this.#isWarned ||= problem !== undefined;
    return problem === undefined;
  }

  async #removeOldest() {
    const found = await Promise.all((await fs.readdir(this.#folder)).map(async (name) => {
      const whole = path.join(this.#folder, name), status = await fs.lstat(whole).catch(() => undefined);
      return status && { whole, name, bytes: status.size, time: status.mtimeMs };
    }));
    const left = found.filter((file) => file && TEMPORARY.test(file.name) && Date.now() - file.time > MAX_TEMPORARY_AGE);
    const entries = found.filter((file) => file && ENTRY.test(file.name)).sort((a, b) => b.time - a.time);
    let sum = 0;
    const over = entries.filter(({ bytes }) => (sum += bytes) > this.#maxBytes);
    await Promise.all([...left, ...over].map(({ whole }) => fs.unlink(whole).catch(() => {})));
  }
}
