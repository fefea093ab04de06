// SPDX-License-Identifier: Apache-2.0
//
// Runs the tests of a checkout of web-platform-tests as they are, a process each, and compares with what is expected.

import { spawn } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const here = import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname);
const USAGE = `usage: node conformance/js/wpt --wpt DIR [options] [FILTER...]

  --wpt DIR           the checkout; default: what WPT names in the environment
  --package FILE      index.mjs of the package; default: that of build/
  --device cpu|gpu    default: cpu
  --api VINTAGE       of the package; default: as old as the checkout
  --scope NAME        window or worker; default: both, where the test asks for them
  --jobs N            processes at once; default: one per processor
  --report FILE       write wptreport.json
  --expect FILE       what does not pass; default: expectations.txt. "none": nothing is expected
  --if-named          without a checkout, say so and end with status 77
  --verbose           name the files

FILTER: only tests with it in their path.`;

const { values: options, positionals: filters } = parseArgs({ allowPositionals: true, options: {
  wpt: { type: 'string', default: process.env.WPT },
  package: { type: 'string', default: path.join(here, '../../../build/conformance/js/index.mjs') },
  device: { type: 'string', default: 'cpu' }, api: { type: 'string' }, scope: { type: 'string' },
  jobs: { type: 'string', default: String(os.cpus().length) },
  report: { type: 'string' }, expect: { type: 'string', default: path.join(here, 'expectations.txt') },
  'if-named': { type: 'boolean' }, verbose: { type: 'boolean' }, help: { type: 'boolean' },
} });
if (!options.wpt && options['if-named']) {
  console.log('skipped: WPT names no checkout of web-platform-tests');
  process.exit(77);
}
if (!options.wpt || options.help) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}
const { create } = await import(pathToFileURL(path.resolve(options.package)));
await create().ml.createContext({ deviceType: options.device }).catch((error) => {
  console.log(`skipped: ${error.message}`);
  process.exit(77);
});
const root = path.resolve(options.wpt);
// The list of types that everybody has to support came after March 2025, and has another name since 2026.
const list = ['minimum_datatype_set.json', 'required_datatypes_ranks.json'].map((name) => `webnn/resources/${name}`)
  .find((name) => existsSync(path.join(root, name)));
const reason = options.api ? 'as asked' : list ? `the checkout has ${list}`
  : 'the checkout has no list of required types, and tests what browsers had in March 2025';
options.api ??= list ? '2026-06' : '2025-03';

// ---------------------------------------------------------------------------------------------------------------

// The scopes of a test that are run: of workers, the dedicated one. No META: a window and a dedicated worker.
function scopesOf(text) {
  const [, list = 'window,dedicatedworker'] = text.match(/^\/\/ META: global=(.*)$/m) ?? [], names = list.trim().split(',');
  return [names.includes('window') && 'window',
          names.some((name) => ['worker', 'dedicatedworker'].includes(name)) && 'worker'].filter(Boolean);
}

// [test, variant, scope]: variants of a device only for the one that is asked for.
function findTests() {
  const files = readdirSync(path.join(root, 'webnn'), { recursive: true })
    .filter((name) => name.endsWith('.https.any.js')).map((name) => `webnn/${name}`).sort();
  return files.filter((file) => !filters.length || filters.some((filter) => file.includes(filter))).flatMap((file) => {
    const text = readFileSync(path.join(root, file), 'utf8');
    const variants = [...text.matchAll(/^\/\/ META: variant=(.*)$/gm)].map(([, variant]) => variant.trim());
    const wanted = variants.filter((variant) => new RegExp(`(\\?|device=)${options.device}$`).test(variant));
    return (variants.length ? wanted : ['']).flatMap((variant) => scopesOf(text).filter((scope) =>
      !options.scope || scope === options.scope).map((scope) => [file, variant, scope]));
  });
}

const nameOf = (file, scope) => `/${file.replace(/\.js$/, scope === 'worker' ? '.worker.html' : '.html')}`;

function runTest([file, variant, scope]) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [path.join(here, 'one.mjs'), root, file, variant, options.package,
                                           options.device, options.api, scope]);
    let output = '', errors = '';
    child.stdout.on('data', (data) => { output += data; });
    child.stderr.on('data', (data) => { errors += data; });
    const timer = setTimeout(() => child.kill('SIGKILL'), 300_000);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      const last = output.trimEnd().split('\n').at(-1);
      try {
        resolve(JSON.parse(last));
      } catch {
        resolve({ test: `${nameOf(file, scope)}${variant}`, status: signal ? 'CRASH' : 'ERROR',
                  message: (errors || `exit status ${code}, ${signal}`).slice(-2000), subtests: [], duration: 0 });
      }
    });
  });
}

// ---------------------------------------------------------------------------------------------------------------

// Lines "TEST | SUBTEST | REASON"; a "*" at the end of TEST or SUBTEST stands for anything.
function readExpectations() {
  if (options.expect === 'none') return [];
  const lines = readFileSync(options.expect, 'utf8').split('\n');
  return lines.filter((line) => line && !line.startsWith('#')).map((line) => {
    const [test, subtest, reason] = line.split(' | ');
    if (!reason) throw new Error(`${options.expect}: "${line}" gives no reason`);
    return { test, subtest, reason, used: false };
  });
}

const matches = (pattern, text) => (pattern.endsWith('*') ? text.startsWith(pattern.slice(0, -1)) : text === pattern);
const expectations = readExpectations();
// On one line, as the list has it.
const plain = (text) => JSON.stringify(text).slice(1, -1);

function isExpected(test, subtest) {
  const line = expectations.find((one) => matches(one.test, test) && matches(one.subtest, plain(subtest)));
  if (line) line.used = true;
  return Boolean(line);
}

const begin = Date.now(), work = findTests(), results = [], total = work.length;
await Promise.all(Array.from({ length: Number(options.jobs) }, async () => {
  for (let test; (test = work.shift()); ) results.push(await runTest(test));
}));
results.sort((a, b) => (a.test < b.test ? -1 : 1));

let passed = 0, expected = 0;
const failures = [], suites = {};
for (const { test, status, message, subtests } of results) {
  const folder = test.split('/').slice(2, -1).join('/') || test.split('/').at(-1).split('.')[0];
  const suite = (suites[`${folder}${test.includes('.worker.html') ? ', worker' : ''}`] ??= { passed: 0, total: 0 });
  const good = subtests.filter((subtest) => subtest.status === 'PASS').length;
  passed += good;
  suite.passed += good;
  suite.total += subtests.length;
  if (options.verbose) console.log(`${status.padEnd(7)} ${good}/${subtests.length} ${test}`);
  const bad = subtests.filter((subtest) => subtest.status !== 'PASS');
  if (status !== 'OK') bad.push({ name: '(file)', status, message });
  for (const { name, status: outcome, message: text } of bad) {
    if (isExpected(test, name)) expected++;
    else failures.push(`${outcome} ${test} | ${plain(name)}\n     ${(text ?? '').split('\n')[0].slice(0, 300)}`);
  }
}
if (options.report) {
  writeFileSync(options.report, JSON.stringify({
    run_info: { product: 'webnn', os: os.platform(), processor: os.arch(), version: os.release(),
                device: options.device },
    time_start: begin, time_end: Date.now(), results }, null, 1));
}
for (const failure of failures) console.log(failure);
for (const [suite, count] of Object.entries(suites)) console.log(`${suite}: ${count.passed} of ${count.total}`);
for (const line of expectations.filter((one) => !one.used && results.some(({ test }) => matches(one.test, test))))
  failures.push(`${line.test} | ${line.subtest} is expected to fail and does not`);
console.log(`API of ${options.api}: ${reason}`);
console.log(`${total} files in ${Math.round((Date.now() - begin) / 1000)} s`);
console.log(`${passed} passed, ${failures.length} failed, ${expected} skipped`);
if (expected) console.log(`skipped: ${expected} subtests, for the reasons in ${path.basename(options.expect)}`);
process.exit(failures.length || !passed ? 1 : 0);
