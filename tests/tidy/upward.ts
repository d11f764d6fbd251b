/**
 * The ways from a lower feature to a higher one: the rows of `daemon/app/effects.ts` and
 * `daemon/app/ports.ts`, and nothing else.
 */

import { layerOf, LAYERS } from "./layers.ts";
import type { Outline } from "./architecture.ts";

const TABLES = ["daemon/app/effects.ts", "daemon/app/ports.ts"];

/** A row of a table: a call that a lower feature makes, and the higher layers that it reaches. */
export interface UpwardRow {
  readonly table: string;
  readonly from: string;
  readonly name: string;
  readonly to: readonly string[];
}

/** A feature reads the event log, but does not subscribe to it: an effect is a row. */
export function subscribingFeatures(sources: readonly Outline[]): string[] {
  return sources.filter(({ path, code }) =>
    path.startsWith("daemon/features/") && /\bevents\.subscribe\(/.test(code)
  ).map(({ path }) => `${path} subscribes to the event log`);
}

const IMPORT =
  /import (?:type )?(?:\{([^}]*)\}|\* as (\w+)) from "(\.[^"]*\/(?:api|features|machines)\/[^"]*)"/g;

/**
 * Composition passes classes. A function or a table of a feature that it imports would become a
 * closure over a higher feature.
 */
export function closuresInComposition(sources: readonly Outline[]): string[] {
  const compositions = sources.filter(({ path }) => path.startsWith("daemon/app/compose/"));
  return compositions.flatMap(({ path, code }) =>
    [...code.matchAll(IMPORT)].filter(([, , , from = ""]) => from.includes("/features/"))
      .flatMap(([, names, namespace]) => namesOf(names, namespace))
      .filter((name) => /^[a-z]/.test(name))
      .map((name) => `${path} imports ${name}`)
  );
}

function namesOf(names = "", namespace = ""): string[] {
  const listed = names.split(",").map((name) => name.replace(/^\s*type /, "").trim());
  return [...listed, namespace].filter((name) => name !== "");
}

/** The rows of both tables. A name in a row stands for the feature whose import brought it. */
export function upwardRows(sources: readonly Outline[]): UpwardRow[] {
  return sources.filter(({ path }) => TABLES.includes(path)).flatMap(({ path, code }) => {
    const layers = namedLayers(code);
    return [...code.matchAll(/^ {2}readonly (\w+): [^=;]+ = \{\n([^]*?)^ {2}\};/gm)].flatMap(
      ([, from = "", body = ""]) =>
        body.split(/^ {4}(?=\w+:)/m).slice(1).map((row) => ({
          table: path,
          from: `daemon/features/${from}`,
          name: /^\w+/.exec(row)?.[0] ?? "",
          to: [...layers].filter(([name]) => new RegExp(`(?<!\\w)${name}\\b`).test(row))
            .map(([, layer]) => layer),
        })),
    );
  });
}

/** The layer of each imported name, and of each member that has or returns an imported type. */
function namedLayers(code: string): Map<string, string> {
  const layers = new Map<string, string>();
  for (const [, names, namespace, from = ""] of code.matchAll(IMPORT)) {
    const layer = LAYERS[layerOf(from.replace(/^\.\.\//, "daemon/")) ?? -1];
    for (const name of namesOf(names, namespace)) if (layer) layers.set(name, layer);
  }
  for (const [, member = "", type = ""] of code.matchAll(/(#?\w+)(?:\(\))?: (\w+)\b/g)) {
    const layer = layers.get(type);
    if (layer) layers.set(member, layer);
  }
  return layers;
}

/** A row goes from a lower feature to the same or a higher one: a lower one is a dependency. */
export function downwardRows(sources: readonly Outline[]): string[] {
  const index = (layer: string) => LAYERS.indexOf(layer);
  return upwardRows(sources)
    .filter(({ from, to }) => !to.some((layer) => index(layer) >= index(from)))
    .map(({ table, from, name }) => `${table}: ${name} of ${from} reaches no higher feature`);
}
