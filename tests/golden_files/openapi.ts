/**
 * The daemon's API description, and the digest of each of its parts. The digests are kept: the
 * description itself has 30,000 lines, and every reader gets it from a daemon.
 */

import { createHash } from "node:crypto";
import { world } from "../support/world.ts";

const DIGEST_DIGITS = 16;

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

export async function readDescription(): Promise<Description> {
  await using w = world();
  return await (await w.fetch("/openapi.json")).json();
}

/** The parts of a description by their names, such as `POST /ask` or `schema Peer`. */
export function partsOf({ paths, components, ...rest }: Description): Map<string, unknown> {
  const parts = new Map<string, unknown>([["the rest", rest]]);
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      parts.set(`${method.toUpperCase()} ${path}`, operation);
    }
  }
  for (const [name, schema] of Object.entries(components.schemas)) {
    parts.set(`schema ${name}`, schema);
  }
  return parts;
}

/** A line for each part, in the order of their names. */
export function digestsOf(parts: ReadonlyMap<string, unknown>): string {
  return [...parts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, part]) => {
    const hash = createHash("sha256").update(JSON.stringify(part)).digest("hex");
    return `${hash.slice(0, DIGEST_DIGITS)}  ${name}\n`;
  }).join("");
}

export async function renderDigests(): Promise<string> {
  return digestsOf(partsOf(await readDescription()));
}
