/** The sources of the repository and their imports, as the tidy tests read them. */

import { join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const SOURCE_FOLDERS = [
  "kit",
  "protocol",
  "daemon",
  "relay",
  "cli",
  "surfaces",
  "tools",
  "dashboard",
  "packaging",
  "clients",
  "tests",
];
/** Folders of packages, and of files that are generated or recorded. */
const FOREIGN = /^(node_modules|dist|out|golden|generated|\..*)$/;

export interface Source {
  /** From the root of the repository, such as `daemon/features/asks/asks.ts`. */
  readonly path: string;
  readonly text: string;
  /** The text without comments. */
  readonly code: string;
  readonly imports: readonly Import[];
}

export interface Import {
  /** From the root of the repository; a package keeps its name. */
  readonly to: string;
  /** Erased by the compiler: nothing of it is loaded. */
  readonly type_only: boolean;
  /** `await import(…)`: loaded when it is needed. */
  readonly lazy: boolean;
}

export function sources(): Source[] {
  const paths = [
    ...filesIn("", false),
    ...SOURCE_FOLDERS.flatMap((folder) => [...filesIn(folder, true)]),
  ];
  return paths.filter((path) => /\.(?:tsx?|js)$/.test(path)).sort()
    .map((path) => readSource(path, Deno.readTextFileSync(join(ROOT, path))));
}

/** The paths of the folders in a folder, without those below them. */
export function foldersIn(folder: string): string[] {
  const folders = entries(folder).filter(({ name, isDirectory }) =>
    isDirectory && !FOREIGN.test(name)
  );
  return folders.map(({ name }) => `${folder}/${name}`).sort();
}

function* filesIn(folder: string, deep: boolean): Generator<string> {
  for (const { name, isDirectory } of entries(folder)) {
    const path = folder ? `${folder}/${name}` : name;
    if (!isDirectory) yield path;
    else if (deep && !FOREIGN.test(name)) yield* filesIn(path, deep);
  }
}

function entries(folder: string): Deno.DirEntry[] {
  try {
    return [...Deno.readDirSync(join(ROOT, folder))];
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** The outline of a source: `path` is from the root of the repository. */
export function readSource(path: string, text: string): Source {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\/|(?<=^|[\s;{}(,])\/\/.*$/gm, "");
  return { path, text, code, imports: [...importsOf(path, code)] };
}

const STATIC = /^(?:import|export)\s+(type\s)?(?:([^;"']*?)\s+from\s+)?"([^"]+)"/gm;
const LAZY = /\bimport\("([^"]+)"\)/g;

function* importsOf(path: string, code: string): Generator<Import> {
  for (const [, type, names = "", to = ""] of code.matchAll(STATIC)) {
    const listed = /\{([^}]*)\}/.exec(names)?.[1]?.split(",").map((name) => name.trim());
    const all_types = listed?.filter(Boolean).every((name) => name.startsWith("type ")) ?? false;
    yield { to: resolvePath(path, to), type_only: Boolean(type) || all_types, lazy: false };
  }
  for (const [, to = ""] of code.matchAll(LAZY)) {
    yield { to: resolvePath(path, to), type_only: false, lazy: true };
  }
}

function resolvePath(from: string, to: string): string {
  return to.startsWith(".") ? normalize(join(from, "..", to)) : to;
}
