// SPDX-License-Identifier: Apache-2.0
//
// Writes the package's TypeScript declarations from the interfaces that it makes: types.mjs PACKAGE OUTPUT.

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [entry, output] = process.argv.slice(2);
const { create } = await import(pathToFileURL(path.resolve(entry)));
const { enums, dictionaries, interfaces } = create().definitions;

const NAMES = {
  'unsigned long': 'number', 'long': 'number', 'double': 'number', 'float': 'number', 'unrestricted double': 'number',
  'DOMString': 'string', 'USVString': 'string', 'any': 'unknown', 'undefined': 'void',
  'AllowSharedBufferSource': 'ArrayBufferView | ArrayBuffer | SharedArrayBuffer',
};

// What a caller may pass, or what it gets.
function typeOf(type, isResult) {
  const of = type.of && typeOf(type.of, isResult);
  if (type.nullable) return `${typeOf(type.nullable, isResult)} | null`;
  if (type.values) return type.values.map((value) => `'${value}'`).join(' | ');
  if (type.union) return type.union.map((one) => typeOf(one, isResult)).join(' | ');
  if (type.generic === 'sequence') return isResult ? `(${of})[]` : `Iterable<${of}>`;
  if (type.generic === 'FrozenArray') return `readonly (${of})[]`;
  if (type.generic === 'record') return `Record<string, ${of}>`;
  if (type.generic === 'Promise') return `Promise<${of}>`;
  return NAMES[type.name] ?? type.name;
}

const parametersOf = ({ parameters }) =>
  parameters.map(({ name, type, optional }) => `${name}${optional ? '?' : ''}: ${typeOf(type, false)}`).join(', ');

const RESULTS = ['MLContextLostInfo', 'MLRankRange', 'MLTensorLimits', 'MLOpSupportLimits', 'MLComputeResult'];

const lines = [
  '// SPDX-License-Identifier: Apache-2.0',
  '// Made from the interfaces that the package has.',
  '',
];
for (const [name, values] of Object.entries(enums))
  lines.push(`export type ${name} = ${values.map((value) => `'${value}'`).join(' | ')};`);
for (const [name, members] of Object.entries(dictionaries)) {
  const isResult = RESULTS.includes(name);
  lines.push('', `export interface ${name} {`);
  for (const { name: member, type, required } of members)
    lines.push(`  ${member}${required || isResult ? '' : '?'}: ${typeOf(type, isResult)};`);
  if (name === 'MLOpSupportLimits') {
    const methods = Object.keys(interfaces.MLGraphBuilder.operations);
    for (const operator of methods.filter((method) => !['input', 'constant', 'build'].includes(method)))
      lines.push(`  ${operator}: Record<string, MLTensorLimits>;`);
  }
  lines.push('}');
}
for (const [name, { attributes, operations, constructor }] of Object.entries(interfaces)) {
  lines.push('', `export class ${name} {`,
             constructor ? `  constructor(${parametersOf(constructor)});` : '  private constructor();');
  for (const { name: attribute, type } of attributes) lines.push(`  readonly ${attribute}: ${typeOf(type, true)};`);
  for (const [operation, signatures] of Object.entries(operations))
    for (const signature of signatures.filter(({ parameters }) => parameters.every(({ type }) => type.name !== 'GPUDevice')))
      lines.push(`  ${operation}(${parametersOf(signature)}): ${typeOf(signature.returns, true)};`);
  lines.push('}');
}
lines.push('', `export interface CreateOptions {
  /** Which text holds where they exclude each other; today's by default. */
  api?: '2024-04' | '2025-03' | '2026-06';
  /** For contexts whose options say nothing. */
  defaults?: { deviceType?: 'cpu' | 'gpu'; threadCount?: number; strictNumerics?: boolean };
  /** Where compiled graphs are kept for the next time; null: nowhere, also if the environment names a folder. */
  compiledGraphCache?: string | { folder: string; maxBytes?: number } | null;
}

/** Another set of interfaces; of an older API these types do not hold. */
export function create(options?: CreateOptions): {
  ml: ML;
  install(target?: object): void;
  [name: string]: unknown;
};

export const ml: ML;

/** Makes navigator.ml and the interfaces global. */
export function install(target?: object): void;`, '');
writeFileSync(output, lines.join('\n'));
