'use strict';

// What can never be NULL, by the server's analysis of a query: the tree that it keeps of the body of an SQL function.
// In it, each column says which outer joins may make it NULL (PostgreSQL 16 and newer). What is not
// known here may be NULL.

/** As pg_strtok of PostgreSQL divides them: quotes and square brackets may stand in a name. */
const TOKEN = /[(){}]|(?:[^ \n\t(){}\\]|\\[^])+/g;

/** @returns {Array|object|string|null} nodes as objects with their name in `node`, lists as arrays, else strings */
function parse(text) {
  const tokens = text.match(TOKEN);
  let at = 0;
  const value = () => {
    const token = tokens[at++];
    if (token === '<>') return null;
    if (token === '(') {
      const list = [];
      while (tokens[at] !== ')') list.push(value());
      at++;
      return list;
    }
    if (token !== '{') return token;
    const node = { node: tokens[at++] };
    while (tokens[at] !== '}') {
      const name = tokens[at++].slice(1);
      node[name] = value();
      while (tokens[at] !== '}' && tokens[at][0] !== ':') value(); // the bytes of a constant
    }
    at++;
    return node;
  };
  return value();
}

// Numbers in the trees: CmdType, VarReturningType, RTEKind, SubLinkType, SQLValueFunctionOp, CoercionForm.
const [SELECT, UPDATE, INSERT, DELETE, MERGE] = '12345';
const [OLD, NEW] = '12';
const [RELATION, SUBQUERY, JOIN, , , , CTE, , , GROUP] = '0123456789';
const [EXISTS, SCALAR, ARRAY] = '046';
const CURRENT_SCHEMA = '14';
const IMPLICIT_CAST = '2';

const OUTER_JOIN = /:jointype [123] /;
/** Clauses with which a query that counts may have no row. */
const MAY_BE_EMPTY = ['groupClause', 'groupingSets', 'havingQual', 'limitCount', 'limitOffset', 'setOperations'];

/** What no key of GROUP BY can be. */
const NO_KEYS = new Set(['VAR', 'AGGREF', 'WINDOWFUNC', 'GROUPINGFUNC']);

/** Steps of one query. Subqueries and views that use each other twice would double them at each level. */
const MOST_STEPS = 100_000;

const isTrue = value => value === 'true';

const targetsOf = query =>
  ((query.commandType === SELECT ? query.targetList : query.returningList) ?? []).filter(each => !isTrue(each.resjunk));

/**
 * Facts about a database, with OIDs as strings.
 * @typedef {object} Facts
 * @property {function(string, string): boolean} isSure whether a table's column is never NULL
 * @property {function(string, string): boolean} refusesNull whether a table's column refuses NULL
 * @property {function(string): boolean[]} view which columns of a view are never NULL
 * @property {Set<string>} strict functions that make NULL of NULL alone
 * @property {Set<string>} counts functions that are never NULL
 */

/** Finds what is sure in one tree. */
class Nullability {
  #facts;
  #steps = 0;
  #busy = []; // columns of recursive queries
  #columnsAsKeys = new Map(); // of grouping sets, by query
  #knowsJoins; // which may make a column NULL
  #isBlind; // one may

  /** @param {Facts} facts */
  constructor(facts) {
    this.#facts = facts;
  }

  /**
   * @param {string} text pg_proc.prosqlbody
   * @returns {{columns: boolean[], params: Set<number>}} which are never NULL
   */
  of(text) {
    const [query] = parse(text).flat(3);
    this.#knowsJoins = text.includes(':varnullingrels');
    this.#isBlind = !this.#knowsJoins && OUTER_JOIN.test(text);
    return { columns: targetsOf(query).map((_, index) => this.#column(query, index, [])), params: this.#params(query) };
  }

  /** Whether a column of a query is never NULL. */
  #column(query, index, around) {
    const queries = [query, ...around];
    if (query.setOperations !== null) {
      // each of the queries
      const parts = query.rtable.filter(each => each.rtekind === SUBQUERY);
      return parts.every(each => this.#column(each.subquery, index, queries));
    }
    const target = targetsOf(query)[index];
    return target !== undefined && this.#sure(target.expr, queries);
  }

  #sure(node, queries) {
    if (++this.#steps > MOST_STEPS) return false;
    if (queries[0].groupingSets !== null && !NO_KEYS.has(node?.node) && !this.#hasColumnsAsKeys(queries[0]))
      return false;
    const { strict, counts } = this.#facts;
    const all = list => (list ?? []).every(each => this.#sure(each, queries));
    switch (node?.node) {
      case 'VAR':
        return this.#variable(node, queries);
      case 'CONST':
        return node.constisnull === 'false';
      case 'AGGREF':
        return counts.has(node.aggfnoid);
      case 'WINDOWFUNC':
        return counts.has(node.winfnoid);
      case 'FUNCEXPR':
        return strict.has(node.funcid) && all(node.args);
      case 'OPEXPR':
        return strict.has(node.opfuncid) && all(node.args);
      case 'RELABELTYPE':
      case 'COERCEVIAIO':
        return this.#sure(node.arg, queries);
      // Names without EXPR are those of PostgreSQL 15 and older.
      case 'COALESCEEXPR':
      case 'COALESCE':
      case 'MINMAXEXPR':
      case 'MINMAX':
        return node.args.some(each => this.#sure(each, queries));
      case 'CASEEXPR':
      case 'CASE':
        return this.#sure(node.defresult, queries) && node.args.every(each => this.#sure(each.result, queries));
      case 'BOOLEXPR':
        return all(node.args);
      case 'NULLTEST':
      case 'BOOLEANTEST':
      case 'DISTINCTEXPR':
      case 'ARRAYEXPR':
      case 'ARRAY':
      case 'ROWEXPR':
      case 'ROW':
      case 'GROUPINGFUNC':
        return true;
      case 'SQLVALUEFUNCTION':
        return node.op !== CURRENT_SCHEMA;
      case 'SUBLINK':
        return this.#subquery(node, queries);
      default:
        return false;
    }
  }

  /** EXISTS, ARRAY(…), and what has one row because it counts. */
  #subquery({ subLinkType, subselect }, queries) {
    if (subLinkType === EXISTS || subLinkType === ARRAY) return true;
    const isOne = isTrue(subselect.hasAggs) && MAY_BE_EMPTY.every(name => subselect[name] === null);
    return subLinkType === SCALAR && isOne && !isTrue(subselect.hasTargetSRFs) && this.#column(subselect, 0, queries);
  }

  /**
   * Whether the keys of grouping sets are columns. An expression that is a key may be NULL wherever it stands; up to
   * PostgreSQL 17, the tree does not tell.
   */
  #hasColumnsAsKeys(query) {
    if (!this.#columnsAsKeys.has(query)) {
      const references = new Set(query.groupClause?.map(({ tleSortGroupRef }) => tleSortGroupRef));
      const keys = query.targetList.filter(({ ressortgroupref }) => references.has(ressortgroupref));
      this.#columnsAsKeys.set(
        query,
        keys.every(({ expr }) => expr.node === 'VAR')
      );
    }
    return this.#columnsAsKeys.get(query);
  }

  #variable(node, around) {
    const queries = around.slice(Number(node.varlevelsup));
    const [query] = queries;
    if (this.#isBlind || !query || query.groupingSets !== null || query.commandType === MERGE) return false;
    if (this.#knowsJoins && node.varnullingrels?.length !== 1) return false; // (b), an empty set
    if (node.varreturningtype === OLD && query.commandType === INSERT) return false;
    if (node.varreturningtype === NEW && query.commandType === DELETE) return false;
    const table = query.rtable[node.varno - 1];
    const column = node.varattno - 1;
    switch (table?.rtekind) {
      case RELATION:
        return this.#relation(table, node, query);
      case SUBQUERY:
        return this.#column(table.subquery, column, queries);
      case JOIN:
        return this.#sure(table.joinaliasvars[column], queries);
      case GROUP:
        return this.#sure(table.groupexprs[column], queries);
      case CTE:
        return this.#cte(table, column, queries);
      default:
        return false;
    }
  }

  #relation({ relkind, relid }, { varno, varattno }, { resultRelation }) {
    if (varattno.startsWith('-')) return true; // a system column
    const isView = relkind === 'v' && resultRelation !== varno;
    return isView ? this.#facts.view(relid)[varattno - 1] === true : this.#facts.isSure(relid, varattno);
  }

  #cte({ ctelevelsup, ctename }, column, queries) {
    const home = queries.slice(Number(ctelevelsup));
    const found = home[0]?.cteList?.find(each => each.ctename === ctename)?.ctequery;
    if (found === undefined) return false;
    // The other rows of a recursive query decide.
    if (this.#busy.some(([query, index]) => query === found && index === column)) return true;
    this.#busy.push([found, column]);
    try {
      return this.#column(found, column, home);
    } finally {
      this.#busy.pop();
    }
  }

  /** Parameters that a NOT NULL column takes as they are. */
  #params({ commandType, rtable, resultRelation, targetList }) {
    const found = new Set();
    if (commandType !== INSERT && commandType !== UPDATE) return found;
    const { relid } = rtable[resultRelation - 1];
    for (const { expr, resno, resjunk } of targetList ?? []) {
      let node = expr;
      while (['RELABELTYPE', 'COERCETODOMAIN'].includes(node?.node) || node?.funcformat === IMPLICIT_CAST) {
        node = node.arg ?? node.args[0];
      }
      if (node?.node !== 'PARAM' || isTrue(resjunk) || !this.#facts.refusesNull(relid, resno)) continue;
      found.add(Number(node.paramid));
    }
    return found;
  }
}

module.exports = { Nullability };
