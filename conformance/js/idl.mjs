// SPDX-License-Identifier: Apache-2.0
//
// Reads the part of Web IDL that definitions.mjs uses.
//
//   parse(text, marks) -> { enums: {name: [value]}, dictionaries: {name: [member]}, interfaces: {name: interface} }
//   interface      { attributes: [{name, type}], operations: {name: [signature]}, constructor: signature | null }
//   signature      { returns: type, parameters: [{name, type, optional, fallback}] }
//   member         { name, type, required, fallback }, inherited ones first, then in the order of their names
//   type           { name, enforceRange } | { generic, of } | { union: [type] } | { nullable: type }
//
// A member that carries an extended attribute other than EnforceRange is left out unless `marks` has the attribute.

const TOKEN = /\s+|\/\/.*|("[^"]*")|(-?\d[\w.]*)|([A-Za-z_]\w*)|([{}()[\]<>=;:,?])/y;
const PREFIXES = new Set(['unsigned', 'unrestricted', 'long']);

function tokenize(text) {
  const tokens = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex, match = TOKEN.exec(text);
    if (!match) throw new SyntaxError(`Web IDL: ${JSON.stringify(text.slice(at, at + 30))}`);
    const token = match[1] ?? match[2] ?? match[3] ?? match[4];
    if (token !== undefined) tokens.push(token);
  }
  return tokens;
}

class Parser {
  constructor(text, marks) {
    this.tokens = tokenize(text);
    this.next = 0;
    this.marks = ['EnforceRange', ...marks];
    this.enums = {};
    this.dictionaries = {};
    this.interfaces = {};
    this.typedefs = {};
  }

  peek() { return this.tokens[this.next]; }
  take() { return this.tokens[this.next++]; }
  skip(token) {
    if (this.peek() !== token) return false;
    this.next++;
    return true;
  }
  expect(token) {
    if (!this.skip(token)) throw new SyntaxError(`Web IDL: ${this.peek()} where ${token} should be`);
  }

  attributes() {
    const names = [];
    if (this.skip('[')) {
      do names.push(this.take()); while (this.skip(','));
      this.expect(']');
    }
    return names;
  }

  isWanted(marks) { return marks.every((mark) => this.marks.includes(mark)); }

  type(enforceRange = this.attributes().includes('EnforceRange')) {
    const type = this.plainType(enforceRange);
    return this.skip('?') ? { nullable: type } : type;
  }

  plainType(enforceRange) {
    if (this.skip('(')) {
      const union = [this.type()];
      while (this.skip('or')) union.push(this.type());
      this.expect(')');
      return { union };
    }
    let name = this.take();
    while (PREFIXES.has(name.split(' ').at(-1)) && /^(long|double|float)$/.test(this.peek())) name += ` ${this.take()}`;
    if (this.skip('<')) {
      const of = [this.type()];
      while (this.skip(',')) of.push(this.type());
      this.expect('>');
      return { generic: name, of: of.at(-1) };
    }
    return this.typedefs[name] ?? { name, enforceRange };
  }

  fallback() {
    if (!this.skip('=')) return undefined;
    const token = this.take();
    if (token === '{' || token === '[') {
      this.take();
      return token === '{' ? {} : [];
    }
    return JSON.parse(token);
  }

  parameters() {
    const parameters = [];
    this.expect('(');
    while (!this.skip(')')) {
      const optional = this.skip('optional'), type = this.type(), name = this.take(), fallback = this.fallback();
      parameters.push({ name, type, optional, fallback });
      this.skip(',');
    }
    return parameters;
  }

  enumeration() {
    const name = this.take(), values = [];
    this.expect('{');
    while (!this.skip('}')) {
      values.push(JSON.parse(this.take()));
      this.skip(',');
    }
    this.enums[name] = values;
  }

  dictionary() {
    const name = this.take(), base = this.skip(':') ? this.dictionaries[this.take()] : [], members = [];
    this.expect('{');
    while (!this.skip('}')) {
      const marks = this.attributes(), required = this.skip('required');
      const type = this.type(marks.includes('EnforceRange')), member = this.take(), fallback = this.fallback();
      this.expect(';');
      if (this.isWanted(marks)) members.push({ name: member, type, required, fallback });
    }
    return [name, orderMembers(base, members)];
  }

  interface() {
    const name = this.take(), result = { attributes: [], operations: {}, constructor: null };
    this.expect('{');
    while (!this.skip('}')) {
      const marks = this.attributes(), wanted = this.isWanted(marks);
      if (this.skip('readonly')) {
        this.expect('attribute');
        const type = this.type(), attribute = this.take();
        if (wanted) result.attributes.push({ name: attribute, type });
      } else if (this.skip('constructor')) {
        result.constructor = { returns: null, parameters: this.parameters() };
      } else {
        const returns = this.type(), operation = this.take(), parameters = this.parameters();
        if (wanted) (result.operations[operation] ??= []).push({ returns, parameters });
      }
      this.expect(';');
    }
    this.interfaces[name] = result;
  }

  parse() {
    while (this.peek() !== undefined) {
      const wanted = this.isWanted(this.attributes()), kind = this.take();
      if (kind === 'enum') this.enumeration();
      else if (kind === 'dictionary') {
        const [name, members] = this.dictionary();
        if (wanted) this.dictionaries[name] = members;
      }
      else if (kind === 'interface') this.interface();
      else if (kind === 'typedef') {
        const type = this.type();
        this.typedefs[this.take()] = type;
      } else throw new SyntaxError(`Web IDL: ${kind}`);
      this.expect(';');
    }
    return { enums: this.enums, dictionaries: this.dictionaries, interfaces: this.interfaces };
  }
}

// https://webidl.spec.whatwg.org/#js-dictionary: the order in which the members of an object are read.
export function orderMembers(base, members) {
  return [...base, ...members.sort((a, b) => (a.name < b.name ? -1 : 1))];
}

export const parse = (text, marks) => new Parser(text, marks).parse();
