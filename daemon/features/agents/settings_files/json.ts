/** The values of a JSON file, and the error for a file that cannot be changed. */

import { messageOf } from "kit/core/text.ts";
import { FileRefusal, unlessError } from "kit/host/file_errors.ts";

/** A value that a JSON file can hold. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** The file, or a value in it, has an unexpected form. The file was left unchanged. */
export class Unchangeable extends Error {
  override readonly name = "Unchangeable";
}

/** The text of a refusal that a file causes, with its hint; undefined for any other error. */
export function refusalOf(error: unknown): string | undefined {
  if (error instanceof Unchangeable) return error.message;
  return error instanceof FileRefusal ? messageOf(error) : undefined;
}

/** Runs an operation; undefined if a file causes a refusal. */
export function unlessRefused<T>(operation: () => T): T | undefined {
  return unlessError((error) => refusalOf(error) !== undefined, operation);
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A copy without a parser's prototypes and classes, which would make a comparison fail. */
export function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** The value at the path `keys`; undefined if it is missing. */
export function valueAt(whole: Json | undefined, ...keys: readonly string[]): Json | undefined {
  return keys.reduce<Json | undefined>(
    (value, key) => isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined,
    whole,
  );
}
