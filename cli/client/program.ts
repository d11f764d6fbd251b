/** How this program was installed, and the command that runs it again from any folder. */

import { dirname, join } from "kit/core/path.ts";
import { fileURLToPath } from "node:url";
import type { Env } from "../../daemon/host/paths.ts";
import { unlessMissing } from "kit/host/file_errors.ts";
import { type Installed, INSTALLED_FILE } from "./installed.ts";

/** How a mesh was installed (docs/install.md). */
export interface Installation {
  readonly kind: "npm" | "homebrew" | "executable" | "sources";
  /** The path of the program or of its launcher. */
  readonly program: string;
  /** Set if `deno task install` installed it; `folder` is where the program lies. */
  readonly installed?: Installed & { readonly folder: string };
}

/** Deno's options for the parts. Without the first two it looks for configuration beside them. */
export const PARTS_FLAGS: readonly string[] = [
  "--no-config",
  "--no-lock",
  "--unstable-no-legacy-abort",
  "--unstable-lazy-dynamic-imports",
];
/** Folders that a package manager may empty at any time. */
const PACKAGE_CACHE = /\/(_npx|_cacache|\.npm|\.cache|[Cc]aches|pnpm\/dlx|deno\/npm)\//;

/** The command that runs this program: an executable, a launcher, or Deno with the main module. */
export function meshCommand(): readonly string[] {
  if (Deno.build.standalone) return [Deno.execPath()];
  const here = fileURLToPath(import.meta.url);
  if (here.endsWith(".ts")) {
    const main = fileURLToPath(new URL("../../main.ts", import.meta.url));
    return [Deno.execPath(), "run", "-A", "--quiet", main];
  }
  // A part of the bundle: a package has a launcher one folder above the parts.
  const folder = dirname(dirname(here));
  if (isFile(join(folder, "package.json"))) {
    return [installedIn(folder)?.program ?? join(folder, "mesh")];
  }
  return [Deno.execPath(), "run", "-A", "--quiet", ...PARTS_FLAGS, join(dirname(here), "main.js")];
}

/** How this program was installed, by where it lies. */
export function installationOf(command: readonly string[]): Installation {
  const program = command.at(-1) ?? "";
  if (/\.[jt]s$/.test(program)) return { kind: "sources", program };
  const folder = dirname(unlessMissing(() => Deno.realPathSync(program)) ?? program);
  const installed = installedIn(folder);
  if (installed) return { kind: "sources", program, installed: { ...installed, folder } };
  if (program.includes("/node_modules/")) return { kind: "npm", program };
  const isHomebrew = /\/(Cellar|homebrew|linuxbrew)\//.test(program);
  return { kind: isHomebrew ? "homebrew" : "executable", program };
}

/**
 * The installation from the sources that lies in a folder, unless its launcher was removed or
 * starts another one.
 */
function installedIn(folder: string): Installed | undefined {
  const text = unlessMissing(() => Deno.readTextFileSync(join(folder, INSTALLED_FILE)));
  if (text === undefined) return undefined;
  const installed: Installed = JSON.parse(text);
  const real = unlessMissing(() => Deno.realPathSync(installed.program));
  return real === join(folder, "mesh") ? installed : undefined;
}

/** The first word of a command that lies in a package cache; undefined if none does. */
export function cachedWord(command: readonly string[]): string | undefined {
  return command.find((word) => isInPackageCache(word));
}

export function isInPackageCache(path: string): boolean {
  return PACKAGE_CACHE.test(path);
}

/** The files of this name in the folders of the PATH, as absolute paths. */
export function programsOnPath(name: string, env: Env): string[] {
  const folders = (env["PATH"] ?? "").split(":").filter((folder) => folder.startsWith("/"));
  return folders.map((folder) => join(folder, name)).filter(isFile);
}

function isFile(path: string): boolean {
  return unlessMissing(() => Deno.statSync(path))?.isFile ?? false;
}
