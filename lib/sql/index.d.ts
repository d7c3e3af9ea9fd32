/// <reference types="node" />

import { Value } from 'quickgres';

declare const made: unique symbol;

/**
 * A piece of SQL, text and values, made by `sql` and by nothing else. Spread it: ``query(...sql`…`)``; in a batch it is a
 * query as it is.
 */
export type Sql = readonly [text: string & { readonly [made]: true }, values: Value[]];

/** What JSON can have; of an object of another type make a parameter by `sql.json`. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json | undefined };

/** A PostgreSQL array of at most six dimensions. */
export type SqlList = ReadonlyArray<Value | URL | Json | SqlList>;

/** What a placeholder takes: pieces are SQL, a list is a PostgreSQL array, a plain object JSON, a URL its href. */
export type SqlValue = Exclude<Value, undefined> | Sql | SqlList | { readonly [name: string]: Json | undefined } | URL;

/** An object, all of whose columns are values. */
export type SqlRow<T> = { readonly [K in keyof T]: SqlValue | undefined };

/** The names of an object's columns that are values. */
export type SqlColumn<T> = string & { [K in keyof T]-?: T[K] extends SqlValue | undefined ? K : unknown extends T[K] ? K : never }[keyof T];

/** The tag, and what makes pieces of names, lists and objects. Bad input is a TypeError that names its place. */
export interface SqlTag {
  (strings: TemplateStringsArray, ...values: SqlValue[]): Sql;
  /** No SQL. */
  readonly empty: Sql;
  /** An identifier, quoted. @param names one name, or more to be joined by dots @returns a piece */
  id(...names: readonly [string, ...string[]]): Sql;
  /**
   * `("a", "b") VALUES ($1, $2), ($3, $4)`.
   * @param rows objects, at least one
   * @param columns the columns to take; by default those of the first row, and no row may have another
   * @returns a piece
   * @throws {RangeError} for more than 65535 values
   */
  values<T extends SqlRow<T>>(rows: readonly T[], columns?: undefined): Sql;
  values<T extends object>(rows: readonly T[], columns: readonly SqlColumn<T>[]): Sql;
  /**
   * `"a" = $1, "b" = $2`.
   * @param object a plain object
   * @param columns the columns to take, which the object must have; by default all
   * @returns a piece
   */
  set<T extends SqlRow<T>>(object: T, columns?: undefined): Sql;
  set<T extends object>(object: T, columns: readonly SqlColumn<T>[]): Sql;
  /** All of them hold; TRUE where there is none. @param conditions pieces @returns a piece, in parentheses */
  and(conditions: readonly Sql[]): Sql;
  /** One of them holds; FALSE where there is none. @param conditions pieces @returns a piece, in parentheses */
  or(conditions: readonly Sql[]): Sql;
  /** Pieces in a row. @param pieces any number @param separator between them; ``sql`, ` `` by default @returns a piece */
  join(pieces: readonly Sql[], separator?: Sql): Sql;
  /** A parameter of JSON; null is JSON's null. @param value what JSON.stringify takes @returns a piece */
  json(value: object | string | number | boolean | null): Sql;
  /** Text as it is: nothing in it is quoted. @param text SQL that you have written yourself @returns a piece */
  raw(text: string): Sql;
}

/** Makes SQL from pieces; values are parameters. */
export const sql: SqlTag;

export {};
