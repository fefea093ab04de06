// SPDX-License-Identifier: Apache-2.0
//
// The tests that include/webnn/INTEGRATION.md names exist.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

const root = new URL('../../../', import.meta.url);
const read = (name) => readFileSync(fileURLToPath(new URL(name, root)), 'utf8');
const guide = read('include/webnn/INTEGRATION.md').replace(/\s+/g, ' ');

test('functions in C', () => {
  let file, count = 0;
  for (const [, program, name] of guide.matchAll(/`(?:(\w+_test|validation_\w+)(?:: )?)?(test_\w+)?`/g)) {
    if (program) {
      file = `conformance/unit/${program}.c`;
      assert.ok(existsSync(new URL(file, root)), file);
    }
    if (!name) continue;
    assert.match(read(file), new RegExp(`^static void ${name}\\(`, 'm'), `${file}: ${name}`);
    count++;
  }
  assert.ok(count >= 15);
});

test('tests in JavaScript', () => {
  const folder = 'conformance/js/tests/', files = readdirSync(new URL(folder, root));
  const text = files.filter((name) => name.endsWith('.test.mjs')).map((name) => read(folder + name)).join('\n');
  const names = [...text.matchAll(/^test\('(.*?)'/gm)].map(([, name]) => name);
  const cited = [...guide.matchAll(/(?<!\*)\*([^*]+)\*(?!\*)/g)].map(([, name]) => name);
  assert.ok(cited.length >= 8);
  for (const name of cited) assert.ok(names.includes(name), name);
});
