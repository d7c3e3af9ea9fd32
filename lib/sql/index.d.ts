/// <reference types="node" />

import { Queries, Value } from '../../index.js';

declare const made: unique symbol;

/**
 * A piece of SQL with its values, which only `sql` makes, for ``query(sql`…`)``. Awaiting it does not send it, but
 * rejects; an async function returns it as `{ piece }`. ESLint's rule `@typescript-eslint/await-thenable` reports such
 * an await. The compiler reports only that it is no result: with a `then` that it would report, a type is no tuple, and
 * cannot be spread (TS2556).
 */
export type Sql = readonly [text: string & { readonly [made]: true }, values: Value[]];

/** A piece with a name, by which `npx quickgres types` has declared its row and values. */
export type NamedSql<N> = Sql & { readonly [named]: N };
declare const named: unique symbol;

/** A piece without a name. */
export type UnnamedSql = Sql & { readonly [named]?: never };

/** A placeholder's value: a piece is SQL, all others are parameters, as in `query`. */
export type SqlValue = Value | Sql;

/** An object whose properties are all values. */
export type SqlRow<T> = { readonly [K in keyof T]: SqlValue | undefined };

/** The names of an object's properties that are values. */
export type SqlColumn<T> = string &
  { [K in keyof T]-?: T[K] extends SqlValue | undefined ? K : unknown extends T[K] ? K : never }[keyof T];

/** The tag, and functions that make pieces. Bad input is a TypeError that names its place. */
export interface SqlTag {
  /** With a name: TypeScript does not know the text of a template that has a tag. */
  <N extends keyof Queries = never>(
    strings: TemplateStringsArray,
    ...values: [N] extends [never]
      ? [never, ...never[]]
      : Queries[N] extends { values: infer V extends readonly unknown[] }
        ? V
        : readonly Value[]
  ): NamedSql<N>;
  (strings: TemplateStringsArray, ...values: SqlValue[]): Sql;
  /** No SQL. Pieces without text are left out of `and`, `or` and `join`. */
  readonly empty: Sql;
  /** A quoted identifier. @param names one name, or several to be joined by dots @returns a piece */
  id(...names: readonly [string, ...string[]]): Sql;
  /**
   * `("a", "b") VALUES ($1, $2), ($3, $4)`.
   * In a session with `names: 'camel'`, the column of `userId` is "user_id".
   * @param rows at least one object
   * @param columns to use; by default those of the first row, and no row may have another
   * @returns a piece
   * @throws {RangeError} for more than 65535 values
   */
  values<T extends SqlRow<T>>(rows: readonly T[], columns?: undefined): Sql;
  values<T extends object>(rows: readonly T[], columns: readonly SqlColumn<T>[]): Sql;
  /**
   * `"a" = $1, "b" = $2`. In a session with `names: 'camel'`, the column of `userId` is "user_id".
   * @param object a plain object
   * @param columns to use, which the object must have; by default all
   * @returns a piece
   */
  set<T extends SqlRow<T>>(object: T, columns?: undefined): Sql;
  set<T extends object>(object: T, columns: readonly SqlColumn<T>[]): Sql;
  /** All conditions hold; TRUE if there are none. @param conditions pieces @returns a piece in parentheses */
  and(conditions: readonly Sql[]): Sql;
  /** One condition holds; FALSE if there are none. @param conditions pieces @returns a piece in parentheses */
  or(conditions: readonly Sql[]): Sql;
  /** @param pieces any number @param separator between them, ``sql`, ` `` by default @returns one piece */
  join(pieces: readonly Sql[], separator?: Sql): Sql;
  /** A JSON parameter; null is JSON's null. @param value for JSON.stringify @returns a piece */
  json(value: object | string | number | boolean | null): Sql;
  /** SQL without any quoting. @param text that you have written yourself @returns a piece */
  raw(text: string): Sql;
}

/** Makes SQL; values become parameters. */
export const sql: SqlTag;

/**
 * SQL for logs: without its strings of any kind (`'…'`, `E'…'`, `$$…$$`, …) and numbers. Names, quoted names, comments
 * and parameters such as $1 stay. The time is linear in the text.
 * @param text of one or more statements
 * @param string in the place of each string, `?` by default
 * @param number in the place of each number, that of strings by default
 * @returns the text with these in it
 * @throws {TypeError} if one of them is not a string
 */
export function withoutLiterals(text: string, string?: string, number?: string): string;

export {};
