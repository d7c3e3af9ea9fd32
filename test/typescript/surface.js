'use strict';

// What the declarations say there is, and what the sources have, in the same form.

const fs = require('node:fs');
const path = require('node:path');
const ts = require('typescript-5');

const root = path.join(__dirname, '..', '..');

/** How many arguments a call needs (undefined if the source does not say), and how many it takes. */
const arity = parameters => ({
  required: parameters.includes(undefined) ? undefined : parameters.filter(optional => !optional).length,
  most: parameters.length
});
/** Whether a declared parameter may be left out; `...more: Arguments<…>` are two: values and options. */
const given = ({ questionToken, dotDotDotToken, type }) =>
  dotDotDotToken !== undefined && /^(?:Text)?Arguments</.test(type?.getText() ?? '')
    ? [true, true]
    : [questionToken !== undefined];
const merge = (a, b) => ({ required: Math.min(a.required, b.required), most: Math.max(a.most, b.most) });

/**
 * Reads declaration files of the package, as one program.
 * @param {string[]} files
 * @returns {Array<{exports: Map<string, object>, propertiesOf: function(string): string[]}>} of each file, by exported
 *   name `{ value, call, members, statics }`: whether it is there when the program runs, the arity of a call or
 *   construction, and of each member its arity, or null where it is none
 */
function declared(files) {
  const program = ts.createProgram(files, {
    strict: true,
    module: ts.ModuleKind.Node16,
    moduleResolution: ts.ModuleResolutionKind.Node16,
    noEmit: true,
    typeRoots: [path.join(__dirname, 'node_modules', '@types')],
    types: ['node']
  });
  const checker = program.getTypeChecker();
  return files.map(file => declaredIn(checker, program.getSourceFile(file)));
}

/** What one file of a program declares, as `declared` says. */
function declaredIn(checker, source) {
  const isOurs = symbol =>
    symbol.declarations?.some(
      ({ parent }) =>
        parent.getSourceFile().fileName.startsWith(root) && !parent.getSourceFile().fileName.includes('node_modules')
    );
  const arityOf = type =>
    type
      .getCallSignatures()
      .map(({ declaration }) =>
        arity(declaration.parameters.filter(each => each.name.getText() !== 'this').flatMap(given))
      )
      .reduce((a, b) => (a ? merge(a, b) : b), null);
  const membersOf = type => {
    const members = new Map();
    for (const symbol of checker.getPropertiesOfType(type)) {
      if (!isOurs(symbol) || symbol.name === 'prototype') continue;
      const name = symbol.name.replace(/^__@(\w+)@.*/, '$1'); // of a symbol
      const isMethod = symbol.flags & ts.SymbolFlags.Method;
      members.set(name, isMethod ? arityOf(checker.getTypeOfSymbol(symbol)) : null);
    }
    return members;
  };
  const result = new Map();
  for (const exported of checker.getExportsOfModule(checker.getSymbolAtLocation(source))) {
    const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    const value = (symbol.flags & ts.SymbolFlags.Value) !== 0;
    const entry = { value, call: null, members: new Map(), statics: new Map() };
    if (symbol.flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Interface)) {
      entry.members = membersOf(checker.getDeclaredTypeOfSymbol(symbol));
    }
    if (value) {
      const type = checker.getTypeOfSymbol(symbol);
      entry.call = arityOf(type);
      for (const { declaration } of type.getConstructSignatures()) {
        entry.call = arity((declaration?.parameters ?? []).map(each => each.questionToken !== undefined));
      }
      if (symbol.flags & ts.SymbolFlags.Class) entry.statics = membersOf(type);
    }
    result.set(exported.name, entry);
  }
  return { exports: result, propertiesOf: name => propertiesOf(checker, source, name) };
}

/** The names of the properties of an exported type. */
function propertiesOf(checker, file, name) {
  const symbol = checker.getExportsOfModule(checker.getSymbolAtLocation(file)).find(each => each.name === name);
  const type = checker.getDeclaredTypeOfSymbol(
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  );
  return checker.getPropertiesOfType(type).map(each => each.name);
}

/** Whether a parameter may be left out, by its default or by its comment; undefined without both. */
function isOptional(parameter) {
  if (parameter.initializer !== undefined) return true;
  const tags = ts.getJSDocParameterTags(parameter);
  return tags.length === 0 ? undefined : tags.some(tag => tag.isBracketed);
}

/** The name of a member that everybody may use; undefined for others. */
function publicName({ name }) {
  if (ts.isComputedPropertyName(name))
    return /^Symbol\.(\w+)(?: \?\? Symbol\(\))?$/.exec(name.expression.getText())?.[1];
  return ts.isPrivateIdentifier(name) || name.text.startsWith('_') ? undefined : name.text;
}

function membersOfClass(declaration) {
  const members = new Map();
  const assigned = new Set();
  let call; // of its own constructor
  const addAssigned = node => {
    // this.name = …, with a comment: a field for everybody.
    if (ts.isExpressionStatement(node) && ts.isBinaryExpression(node.expression)) {
      const { left } = node.expression;
      const field =
        ts.isPropertyAccessExpression(left) && left.expression.kind === ts.SyntaxKind.ThisKeyword && left.name;
      const commented =
        field &&
        (ts.getLeadingCommentRanges(node.getSourceFile().text, node.pos) || []).some(({ pos }) =>
          node.getSourceFile().text.startsWith('/**', pos)
        );
      if (field) assigned.add(field.text);
      if (commented && ts.isIdentifier(field) && !field.text.startsWith('_')) members.set(field.text, null);
    }
    ts.forEachChild(node, addAssigned);
  };
  for (const member of declaration.members) {
    addAssigned(member);
    if (ts.getJSDocPrivateTag(member)) continue;
    if (ts.isConstructorDeclaration(member)) call = arity(member.parameters.map(isOptional));
    else if (member.name && publicName(member)) {
      members.set(publicName(member), ts.isMethodDeclaration(member) ? arity(member.parameters.map(isOptional)) : null);
    }
  }
  return { call, members, assigned };
}

/** The name of the class that a class extends. */
function parentOf({ heritageClauses }) {
  const expression = heritageClauses?.find(({ token }) => token === ts.SyntaxKind.ExtendsKeyword)?.types[0].expression;
  return expression?.getText().split('.').at(-1);
}

/**
 * Reads the sources of a folder and of those in it, but for those of lib/pg, whose classes have the names of others.
 * @param {string} folder
 * @param {Map<string, object>} [base] of a folder whose classes these may extend
 * @returns {Map<string, object>} by the name of a class or function `{ call, members, assigned }`, as `declared` does; members
 *   with those of the classes that it extends; assigned has the names of all fields that its methods set
 */
function written(folder, base = new Map()) {
  const result = new Map(base);
  const parents = new Map();
  const names = fs.readdirSync(folder, { recursive: true }).filter(each => /^(?!demo|pg[\\/]).*\.js$/.test(each));
  for (const name of names) {
    const file = ts.createSourceFile(
      name,
      fs.readFileSync(path.join(folder, name), 'utf8'),
      ts.ScriptTarget.Latest,
      true,
      ts.ScriptKind.JS
    );
    for (const node of file.statements) {
      if (ts.isClassDeclaration(node)) {
        const { text } = node.name;
        const own = membersOfClass(node);
        const known = result.get(text);
        // One that extends another of its name, read before or behind it, is both.
        if (parents.get(text) === text) own.call = known.call;
        if (known && [parentOf(node), parents.get(text)].includes(text)) {
          own.members = new Map([...known.members, ...own.members]);
          for (const each of known.assigned) own.assigned.add(each);
        }
        if (parentOf(node) !== undefined) parents.set(text, parentOf(node));
        result.set(text, own);
      } else if (ts.isFunctionDeclaration(node)) {
        const call = arity(node.parameters.map(isOptional));
        if (node.parameters.at(-1)?.dotDotDotToken) call.most = Infinity; // the declaration says which
        result.set(node.name.text, { call, members: new Map(), assigned: new Set() });
      }
    }
  }
  for (const [name, entry] of result) {
    // That of browsers is Node's.
    const chain = new Set([name, 'EventEmitter']);
    for (let parent = parents.get(name); parent && !chain.has(parent); parent = parents.get(parent)) {
      chain.add(parent);
      entry.call ??= result.get(parent)?.call;
      entry.members = new Map([...(result.get(parent)?.members ?? []), ...entry.members]);
      for (const each of result.get(parent)?.assigned ?? []) entry.assigned.add(each);
    }
  }
  for (const entry of result.values()) entry.call ??= { required: 0, most: 0 };
  return result;
}

module.exports = { declared, written };
