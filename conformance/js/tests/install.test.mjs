// SPDX-License-Identifier: Apache-2.0
//
// The package as npm installs it: its README's example, with what it prints, its licence, what it loads.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { entry } from './package.mjs';

const source = path.dirname(entry);
const hasNpm = spawnSync('npm', ['--version']).status === 0;

test('npm install, and the example of the README', { skip: !hasNpm && 'there is no npm' }, () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'webnn-package-'));
  const run = (program, ...values) => spawnSync(program, values, { cwd: folder, encoding: 'utf8' });
  try {
    const readme = readFileSync(path.join(source, 'README.md'), 'utf8');
    const [, example] = readme.match(/```js\n([^]*?)```/), [, expected] = readme.match(/It prints\n\n {4}(.*)\n/);
    writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');
    writeFileSync(path.join(folder, 'example.mjs'), example);
    // Packed, so that what package.json leaves out is missing here too.
    const packed = run('npm', 'pack', '--silent', source);
    assert.equal(packed.status, 0, packed.stderr);
    const installed = run('npm', 'install', '--offline', '--no-audit', '--no-fund', '--no-package-lock',
                          `./${packed.stdout.trim()}`);
    assert.equal(installed.status, 0, installed.stderr);
    const result = run(process.execPath, 'example.mjs');
    assert.equal(result.stdout, `${expected}\n`, result.stderr);
    assert.match(readFileSync(path.join(folder, 'node_modules/webnn/index.d.mts'), 'utf8'), /conv2d\(input: MLOperand/);
    const license = readFileSync(new URL('../../../LICENSE', import.meta.url), 'utf8');
    assert.equal(readFileSync(path.join(folder, 'node_modules/webnn/LICENSE'), 'utf8'), license);
    // The README names what has to be installed.
    const loaded = run(process.execPath, '--input-type=module', '-e', `
      const objects = () => process.report.getReport().sharedObjects, before = objects();
      await import('webnn');
      console.log(JSON.stringify(objects().filter((file) => !before.includes(file))));`);
    assert.equal(loaded.status, 0, loaded.stderr);
    const libraries = JSON.parse(loaded.stdout).map((file) => path.basename(file));
    assert.ok(libraries.includes('webnn.node'));
    for (const library of libraries) assert.ok(readme.includes(`\`${library}\``) || library === 'webnn.node', library);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
