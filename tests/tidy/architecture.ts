/** The rules of the architecture: each takes sources and returns what breaks it. */

import { dirname } from "node:path";
import { cyclesIn } from "../shape/cycles.ts";
import { ENTRY_POINTS, layerOf, LAYERS, PROGRAMS, SHARED, TEST_KINDS } from "./layers.ts";
import type { Import, Source } from "./sources.ts";

/** The parts of a source that the rules read. */
export type Outline = Pick<Source, "path" | "text" | "code" | "imports">;

export const FOLDER_FILES_MAX = 20;
const FEATURE_LEVELS_MAX = 2;

const isTest = (path: string) => path.startsWith("tests/");
const programOf = (path: string) => path.split("/")[0] ?? "";

/** Every source lies in a layer or is an entry point; no test lies in `tests/` itself. */
export function outsideLayers(sources: readonly Outline[]): string[] {
  return sources.map(({ path }) => path).filter((path) =>
    isTest(path)
      ? dirname(path) === "tests" && !ENTRY_POINTS.includes(path)
      : layerOf(path) === undefined && !ENTRY_POINTS.includes(path)
  );
}

/** An import points to the same layer or to a lower one, type and lazy imports included. */
export function upwardImports(sources: readonly Outline[]): string[] {
  return eachImport(sources, (path, { to }) => {
    const [from, target] = [layerOf(path), layerOf(to)];
    if (from === undefined || target === undefined || target <= from) return undefined;
    return `${path} (${LAYERS[from]}) imports ${to} (${LAYERS[target]})`;
  });
}

/** A source imports only shared folders of another program. */
export function foreignImports(sources: readonly Outline[]): string[] {
  return eachImport(sources, (path, { to }) => {
    const [own, other] = [programOf(path), programOf(to)];
    const allowed = PROGRAMS[own];
    if (!allowed || !(other in PROGRAMS)) return undefined;
    if (!allowed.includes(other)) return `${path} imports ${to}`;
    if ([own, "kit", "protocol"].includes(other)) return undefined;
    return SHARED[own]?.some((start) => to.startsWith(start))
      ? undefined
      : `${path} imports ${to}, which is not shared`;
  });
}

/** Finds import cycles, type and lazy imports included. */
export function cycles(sources: readonly Outline[]): string[] {
  return cyclesIn(sources).map((files) => files.join(" ↔ "));
}

/** A folder holds at most 20 files. */
export function crowdedFolders(sources: readonly Outline[]): string[] {
  const folders = Map.groupBy(sources, ({ path }) => dirname(path));
  return [...folders].filter(([, files]) => files.length > FOLDER_FILES_MAX)
    .map(([folder, files]) => `${folder}: ${files.length} files`);
}

/** A feature is at most two levels deep. */
export function deepFeatures(sources: readonly Outline[]): string[] {
  return sources.flatMap(({ path }) => {
    const layer = LAYERS[layerOf(path) ?? -1];
    if (layer === undefined) return [];
    const levels = dirname(path).slice(layer.length).split("/").length - 1;
    return levels > FEATURE_LEVELS_MAX ? [`${path}: ${levels} levels`] : [];
  });
}

/** `tests/x/y/z_test.ts` tests a file in `x/y`; helpers lie in `tests/support`. */
export function misplacedTests(sources: readonly Outline[]): string[] {
  const folders = new Set(
    sources.filter(({ path }) => !isTest(path)).map(({ path }) => dirname(path)),
  );
  return sources.map(({ path }) => path).filter((path) => {
    const kind = TEST_KINDS.some((folder) => path.startsWith(`${folder}/`));
    if (!isTest(path) || kind || ENTRY_POINTS.includes(path)) return false;
    return !path.endsWith("_test.ts") || !folders.has(dirname(path).slice("tests/".length));
  });
}

function eachImport(
  sources: readonly Outline[],
  broken: (path: string, found: Import) => string | undefined,
): string[] {
  return sources.filter(({ path }) => !isTest(path)).flatMap(({ path, imports }) =>
    imports.flatMap((found) => broken(path, found) ?? [])
  );
}
