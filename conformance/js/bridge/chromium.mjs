// SPDX-License-Identifier: Apache-2.0
//
// Drives a headless Chromium by its debugging pipe: launch(url) -> { send, evaluate, close }.

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

export const findChromium = () =>
  ['chromium', 'chromium-browser'].find((name) => spawnSync(name, ['--version']).status === 0);

const OPTIONS = ['--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
                 '--window-size=840,620', '--remote-debugging-pipe'];

export async function launch(program, url) {
  const profile = mkdtempSync(path.join(os.tmpdir(), 'webnn-chromium-'));
  const child = spawn(program, [...OPTIONS, `--user-data-dir=${profile}`, 'about:blank'],
                      { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
  const waiting = new Map();
  let text = '', next = 1;
  child.stdio[4].on('data', (data) => {
    const messages = (text + data).split('\0');
    text = messages.pop();
    for (const message of messages.map((one) => JSON.parse(one))) {
      const settle = waiting.get(message.id);
      if (!settle) continue;
      waiting.delete(message.id);
      if (message.error) settle.reject(new Error(message.error.message));
      else settle.resolve(message.result);
    }
  });
  let sessionId;
  const send = (method, params = {}) => new Promise((resolve, reject) => {
    waiting.set(next, { resolve, reject });
    child.stdio[3].write(`${JSON.stringify({ id: next++, method, params, sessionId })}\0`);
  });
  child.on('exit', () => { for (const { reject } of waiting.values()) reject(new Error('Chromium has ended')); });
  const { targetId } = await send('Target.createTarget', { url });
  ({ sessionId } = await send('Target.attachToTarget', { targetId, flatten: true }));

  async function evaluate(expression) {
    const { result, exceptionDetails } =
      await send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }
  async function close() {
    const ended = new Promise((resolve) => { child.on('exit', resolve); });
    sessionId = undefined;
    await send('Browser.close').catch(() => {});
    const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
    await ended;
    clearTimeout(timer);
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
  return { send, evaluate, close };
}
