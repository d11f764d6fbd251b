/** The arguments of a tool, as an agent's permission request has them. */

import type { Act } from "protocol/messages/act.ts";

export type Input = Readonly<Record<string, unknown>>;

/** The arguments of a tool. Each one that is read is not listed as a detail. */
export class Args {
  readonly #input: Input;
  readonly #read = new Set<string>();

  constructor(input: Input) {
    this.#input = input;
  }

  /** The text under the first of these names that has one. */
  text(...names: readonly string[]): string | undefined {
    const name = names.find((name) => typeof this.#own(name) === "string");
    if (name === undefined) return undefined;
    this.#read.add(name);
    return String(this.#own(name));
  }

  /** The first of these names that has a boolean; false without one. */
  flag(...names: readonly string[]): boolean {
    const name = names.find((name) => typeof this.#own(name) === "boolean");
    if (name === undefined) return false;
    this.#read.add(name);
    return this.#own(name) === true;
  }

  /** A list of objects. */
  list(name: string): Args[] | undefined {
    const value = this.#own(name);
    if (!Array.isArray(value) || value.length === 0 || !value.every(isInput)) return undefined;
    this.#read.add(name);
    return value.map((item) => new Args(item));
  }

  details(): Act["details"] {
    return Object.entries(this.#input).filter(([name]) => !this.#read.has(name)).map(
      ([name, value]) => ({
        name,
        value: typeof value === "string" ? value : JSON.stringify(value, null, 2),
      }),
    );
  }

  #own(name: string): unknown {
    return Object.hasOwn(this.#input, name) ? this.#input[name] : undefined;
  }
}

export function isInput(value: unknown): value is Input {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
