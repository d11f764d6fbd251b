/** The values of a JSON file, and the error for a file that cannot be changed. */

/** A value that a JSON file can hold. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** The file, or a value in it, has an unexpected form. The file was left unchanged. */
export class Unchangeable extends Error {
  override readonly name = "Unchangeable";
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
