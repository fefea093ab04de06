// SPDX-License-Identifier: Apache-2.0
//
// The tests that include/webnn/INTEGRATION.md names exist, Meson runs their programs, and those call them.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { entry } from './package.mjs';

const root = new URL('../../../', import.meta.url);
const read = (name) => readFileSync(fileURLToPath(new URL(name, root)), 'utf8');
const guide = read('include/webnn/INTEGRATION.md').replace(/\s+/g, ' ');

// The names of the files that the tests of the build folder run. undefined: this is no build folder.
function filesThatRun() {
  const list = path.join(path.dirname(entry), '../../meson-info/intro-tests.json');
  if (!existsSync(list)) return undefined;
  return new Set(JSON.parse(readFileSync(list, 'utf8')).flatMap(({ cmd }) => cmd.map((part) => path.basename(part))));
}

const running = filesThatRun();
// Without Vulkan, its tests are named in meson.build and not run.
const meson = read('conformance/meson.build');
const isRun = (program) => running?.has(program) ?? true;
const isNamed = (program) => meson.includes(`'${program.replace(/_test$|^validation_/, '')}'`) || meson.includes(program);

test('functions in C', () => {
  let file, count = 0;
  for (const [, program, name] of guide.matchAll(/`(?:(\w+_test|validation_\w+)(?:: )?)?(test_\w+)?`/g)) {
    if (program) {
      file = `conformance/unit/${program}.c`;
      assert.ok(existsSync(new URL(file, root)), file);
      assert.ok(isRun('vulkan_backend_test') ? isRun(program) : isNamed(program), `no test runs ${program}`);
    }
    if (!name) continue;
    const text = read(file);
    assert.match(text, new RegExp(`^static void ${name}\\(`, 'm'), `${file}: ${name}`);
    assert.ok(text.match(new RegExp(`\\b${name}\\b`, 'g')).length > 1, `${file}: nothing calls ${name}`);
    count++;
  }
  assert.ok(count >= 15);
});

test('tests in JavaScript', () => {
  const folder = 'conformance/js/tests/', files = readdirSync(new URL(folder, root)).filter((name) => name.endsWith('.test.mjs'));
  if (isRun('browser.test.mjs')) for (const name of files) assert.ok(isRun(name), `no test runs ${name}`);
  const names = files.flatMap((file) => [...read(folder + file).matchAll(/^test\('(.*?)'/gm)].map(([, name]) => name));
  const cited = [...guide.matchAll(/(?<!\*)\*([^*]+)\*(?!\*)/g)].map(([, name]) => name);
  assert.ok(cited.length >= 8);
  for (const name of cited) assert.ok(names.includes(name), name);
});
