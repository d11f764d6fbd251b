/** The options of `deno task bench`. */

import { parseArgs } from "node:util";

export interface Options {
  readonly quick: boolean;
  readonly peers: boolean;
  readonly sources: boolean;
  readonly compare: string | undefined;
  /** The names of the parts to run; all of them if it is empty. */
  readonly only: readonly string[];
}

/** Throws for an unknown option and for the name of no part. */
export function readOptions(args: readonly string[], parts: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      peers: { type: "boolean", default: false },
      sources: { type: "boolean", default: false },
      compare: { type: "string" },
      only: { type: "string", default: "" },
    },
  });
  const only = values.only.split(",").filter((name) => name !== "");
  const unknown = only.find((name) => !parts.includes(name));
  if (unknown !== undefined) {
    throw new Error(`--only "${unknown}" names no part; the parts are ${parts.join(", ")}`);
  }
  const { quick, peers, sources, compare } = values;
  return { quick, peers, sources, compare, only };
}
