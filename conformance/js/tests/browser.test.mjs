// SPDX-License-Identifier: Apache-2.0
//
// A page in Chromium whose navigator.ml is this library. WEBNN_SCREENSHOT names a file for a picture of it.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { findChromium, launch } from '../bridge/chromium.mjs';
import { foldersOf, startHost } from '../bridge/host.mjs';
import { entry, native } from './package.mjs';

const chromium = findChromium(), folders = foldersOf(entry);
if (!chromium) {
  console.log('skipped: there is no chromium');
  process.exit(77);
}

async function until(page, expression) {
  for (let i = 0; i < 2000; i++) {
    const value = await page.evaluate(expression);
    if (value) return value;
    await sleep(50);
  }
  throw new Error(`never: ${expression}`);
}

// The images of a .npy file of uint8, n x 8 x 8 or n x 64.
function readImages(file) {
  const data = readFileSync(file), begin = 10 + data.readUInt16LE(8), images = [];
  for (let at = begin; at < data.length; at += 64) images.push([...data.subarray(at, at + 64)]);
  return images;
}

test('a drawing on a canvas', { timeout: 240_000 }, async () => {
  const host = await startHost({ native, folders }), page = await launch(chromium, host.url);
  try {
    await until(page, "document.body?.dataset.ready === 'true'");
    const [left, top] = await page.evaluate(
      "(({ left, top }) => [left, top])(document.getElementById('drawing').getBoundingClientRect())");
    const mouse = (type, [x, y], buttons) =>
      page.send('Input.dispatchMouseEvent', { type, x: left + x, y: top + y, button: 'left', buttons, clickCount: 1 });
    const draw = async (points) => {
      await page.evaluate("document.getElementById('clear').click()");
      await mouse('mousePressed', points[0], 1);
      for (const point of points.slice(1)) await mouse('mouseMoved', point, 1);
      await mouse('mouseReleased', points.at(-1), 0);
      return until(page, "(({ textContent }) => textContent !== '…' && textContent)(document.getElementById('answer'))");
    };
    const circle = Array.from({ length: 33 }, (_, i) =>
      [128 + 60 * Math.sin((i * Math.PI) / 16), 128 - 90 * Math.cos((i * Math.PI) / 16)]);
    assert.equal(await draw(circle), '0');
    assert.equal(await draw([[128, 40], [128, 90], [128, 150], [128, 216]]), '1');
    const arc = Array.from({ length: 13 }, (_, i) =>
      [128 - 55 * Math.cos((i * Math.PI) / 12), 90 - 50 * Math.sin((i * Math.PI) / 12)]);
    const two = [...arc, [170, 120], [140, 155], [105, 185], [75, 214], [110, 214], [150, 214], [188, 214]];
    assert.equal(await draw(two), '2');
    if (process.env.WEBNN_SCREENSHOT) {
      const { data } = await page.send('Page.captureScreenshot', { format: 'png' });
      writeFileSync(process.env.WEBNN_SCREENSHOT, Buffer.from(data, 'base64'));
    }
    assert.ok(host.calls.dispatch >= 3 && host.calls.operator >= 10);

    // The same numbers as those that were computed in double precision.
    const images = readImages(path.join(folders.digits, 'test.npy'));
    const { images: expected } = JSON.parse(readFileSync(path.join(folders.digits, 'expected.json'), 'utf8'));
    for (const { test_index: index, label, probabilities } of expected) {
      const result = await page.evaluate(`classifyPixels([${images[index].map((value) => value / 255)}])`);
      assert.equal(result.indexOf(Math.max(...result)), label);
      result.forEach((value, i) => assert.ok(Math.abs(value - probabilities[i]) < 1e-5));
    }
  } finally {
    await page.close();
    host.close();
  }
});

test('the rest of the interface over the bridge', { timeout: 240_000 }, async () => {
  const host = await startHost({ native, folders }), page = await launch(chromium, host.url);
  try {
    await until(page, "document.body?.dataset.ready === 'true'");
    const result = await page.evaluate(`(async () => {
      const context = await navigator.ml.createContext(), builder = new MLGraphBuilder(context);
      const type = { dataType: 'int64', shape: [2] }, x = builder.input('x', type), seen = {};
      try {
        builder.add(x, builder.input('y', { dataType: 'int32', shape: [2] }), { label: 'here' });
      } catch (error) { seen.error = error.name + error.message; }
      const graph = await builder.build({ y: builder.clamp(x, { minValue: -(2n ** 60n), maxValue: Infinity }) });
      const create = () => context.createTensor({ ...type, readable: true, writable: true });
      const reads = [], [a, b] = [await create(), await create()];
      for (let i = 0n; i < 5n; i++) {
        context.writeTensor(a, new BigInt64Array([i, -(2n ** 61n)]));
        context.dispatch(graph, { x: a }, { y: b });
        reads.push(context.readTensor(b));
      }
      seen.results = (await Promise.all(reads)).map((buffer) => new BigInt64Array(buffer).join());
      context.destroy();
      seen.lost = typeof (await context.lost).message;
      try { context.dispatch(graph, { x: a }, { y: b }); } catch (error) { seen.after = error.name; }
      return seen;
    })()`);
    assert.match(result.error, /^TypeError.*\[here\]/);
    assert.deepEqual(result.results, [0, 1, 2, 3, 4].map((i) => `${i},${-(2n ** 60n)}`));
    assert.deepEqual([result.lost, result.after], ['string', 'InvalidStateError']);
  } finally {
    await page.close();
    host.close();
  }
});

test('the API of 2024 over the bridge', { timeout: 240_000 }, async () => {
  const host = await startHost({ native, folders }), page = await launch(chromium, `${host.url}?api=2024-04`);
  try {
    await until(page, "document.body?.dataset.ready === 'true'");
    const result = await page.evaluate(`(async () => {
      const context = await navigator.ml.createContext(), builder = new MLGraphBuilder(context);
      const x = builder.input('x', { dataType: 'int64', dimensions: [2] }), graph = await builder.build({ y: builder.neg(x) });
      const { outputs } = await context.compute(graph, { x: new BigInt64Array([7n, 8n]) }, { y: new BigInt64Array(2) });
      return outputs.y.join();
    })()`);
    assert.equal(result, '-7,-8');
  } finally {
    await page.close();
    host.close();
  }
});

test('the host answers its own pages only', async () => {
  const host = await startHost({ native, folders }), { hostname, port } = new URL(host.url);
  const status = (method, target, headers) => new Promise((resolve, reject) => {
    http.request({ hostname, port, path: target, method, headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', reject).end();
  });
  const own = `${hostname}:${port}`;
  assert.equal(hostname, '127.0.0.1');
  assert.equal(await status('GET', '/', {}), 200);
  assert.equal(await status('GET', '/', { Host: `example.com:${port}` }), 403);
  assert.equal(await status('POST', '/bridge/call', { Origin: 'http://example.com' }), 403);
  assert.equal(await status('POST', '/bridge/call', {}), 404); // no origin
  assert.equal(await status('POST', '/bridge/call', { Origin: `http://${own}` }), 400);
  for (const target of ['/../package.json', '/bridge/../meson.build', '/bridge/%2e%2e/meson.build', '/etc/passwd', '/bridge/'])
    assert.equal(await status('GET', target, {}), 404, target);
  host.close();
});
