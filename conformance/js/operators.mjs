// SPDX-License-Identifier: Apache-2.0
//
// The methods of MLGraphBuilder that record an operator, made of the operator table (ops/ops.def, which the native side
// hands over): their signatures here, and what they pass on in webnn.mjs.

import { orderMembers } from './idl.mjs';

const U32 = { name: 'unsigned long', enforceRange: true };
const OPERAND = { name: 'MLOperand' };

const TYPES = {
  u32: U32,
  i32: { name: 'long', enforceRange: true },
  bool: { name: 'boolean' },
  f64: { name: 'double' },
  number: { union: [{ name: 'bigint' }, { name: 'unrestricted double' }] },
  u32s: { generic: 'sequence', of: U32 },
  f32s: { generic: 'sequence', of: { name: 'float' } },
  dataType: { name: 'MLOperandDataType' },
  activation: { name: 'MLActivation' },
  activations: { generic: 'sequence', of: { name: 'MLRecurrentNetworkActivation' } },
};
const LEGACY_TYPES = { activations: { generic: 'sequence', of: { name: 'MLActivation' } } };

// The forms of 2024 share their names with the operators of today. softmax without an axis lived on in browsers.
const FORMS = { argMinAxes: 'argMin', argMaxAxes: 'argMax', softmax2d: 'softmax' };
const FORMS_OF_2025 = ['softmax2d'];
// Names of 2024.
const ALIASES = { not: 'logicalNot' };
// Members that today's text has no longer, which ignores them, and a value that it refuses.
const FORMER_MEMBERS = ['roundingType', 'steepness'];
const FORMER_VALUES = ['symmetric'];
// Arguments that wrap around in the texts that have them: there is no EnforceRange.
const WRAPPING = { cumulativeSum: 'axis', tile: 'repetitions' };

function typeOf(row, legacy) {
  if (row.kind === 'option') return OPERAND;
  if (row.type === 'enum') return { values: row.values };
  return (legacy && LEGACY_TYPES[row.type]) || TYPES[row.type];
}

function withoutRange(type) {
  return type.of ? { ...type, of: withoutRange(type.of) } : { ...type, enforceRange: false };
}

// The rows that an API knows.
function rowsOf(rows, api) {
  if (api !== '2026-06') return rows;
  return rows.filter(({ name }) => !FORMER_MEMBERS.includes(name)).map((row) =>
    (row.values ? { ...row, values: row.values.filter((value) => !FORMER_VALUES.includes(value)) } : row));
}

// Positional arguments: operands, then attributes; rows with one place are one argument.
function parametersOf(rows, operator, legacy) {
  const parameters = [];
  for (const row of rows.filter(({ kind }) => kind === 'input'))
    parameters.push({ name: row.name, type: OPERAND, row });
  for (const row of rows.filter(({ kind }) => kind === 'inputs'))
    parameters.push({ name: row.name, type: { generic: 'sequence', of: OPERAND }, row });
  for (const row of rows.filter(({ argument }) => argument)) {
    const same = parameters.find((other) => other.row.place === row.place && other.row.argument);
    const sameName = parameters.find((other) => other.name === row.name);
    if (sameName) sameName.type = { union: [typeOf(row), sameName.type] };
    else if (!same) parameters.push({ name: row.name, type: typeOf(row), row });
  }
  if (!legacy) for (const parameter of parameters)
    if (parameter.name === WRAPPING[operator]) parameter.type = withoutRange(parameter.type);
  return parameters;
}

function optionsOf(rows, legacy) {
  const members = rows.filter((row) => row.kind === 'option' || (row.kind === 'attribute' && !row.argument))
    .filter((row) => legacy || row.type !== 'activation')
    .map((row) => ({ name: row.name, type: typeOf(row, legacy) }));
  return orderMembers([{ name: 'label', type: { name: 'USVString' }, fallback: '' }], members);
}

// For each method of the table, its signatures: as idl.parse has them, with `name` and `number` of the operator, and
// `activation` on those that make an MLActivation. The dictionaries of their options are added to `definitions`.
export function operatorSignatures(table, definitions, api) {
  const methods = {}, legacy = api === '2024-04';
  const isForm = (name) => (legacy ? name in FORMS : api === '2025-03' && FORMS_OF_2025.includes(name));
  table.forEach(({ name, rows: allRows, activation }, number) => {
    const rows = rowsOf(allRows, api);
    const method = FORMS[name] ?? name;
    if (name in FORMS && !isForm(name)) return;
    const dictionary = `ML${name[0].toUpperCase()}${name.slice(1)}Options`;
    definitions.dictionaries[dictionary] = optionsOf(rows, legacy);
    const options = { name: 'options', type: { name: dictionary }, optional: true, fallback: {} };
    const outputs = rows.filter(({ kind }) => kind === 'output' || kind === 'outputs');
    const isList = outputs.length > 1 || outputs[0].kind === 'outputs';
    const returns = isList ? { generic: 'sequence', of: OPERAND } : OPERAND;
    const signatures = (methods[method] ??= []);
    signatures.push({ returns, parameters: [...parametersOf(rows, name, legacy), options], name, number, isList });
    if (activation && legacy)
      signatures.push({ returns: { name: 'MLActivation' }, parameters: [options], number, activation: true });
  });
  if (legacy) for (const [alias, name] of Object.entries(ALIASES)) methods[alias] = methods[name];
  if (api === '2026-06') {
    // A number of equal parts is the same by either name.
    const [{ parameters: [input, splits, options], ...split }] = methods.split;
    methods.splitDynamic.unshift({ ...split, parameters: [input, { ...splits, type: U32 }, options] });
  }
  return methods;
}
