/**
 * Recognizes our program in the commands of hooks and MCP servers. The form of a command proves
 * nothing: other programs are named `mesh`, or have commands `hook AGENT EVENT` and `mcp`.
 */

import { basename, dirname, join } from "kit/core/path.ts";
import type { Env } from "../../../host/paths.ts";
import { type Argv, commandsIn } from "./shell_words.ts";
import { unlessError } from "kit/host/file_errors.ts";

/** The name of our npm package and of the Homebrew formula. */
const PACKAGE = "agent-mesh";
/** A string in the main module of every version: in sources, bundles and executables. */
const SIGNATURE = ".runCli(Deno.args,";
const SCRIPT_BYTES_MAX = 65_536;
const PROGRAM_BYTES_MAX = 600_000_000;
const CHUNK_BYTES = 4_194_304;
/** Maximum number of scripts that are followed, one starting the next. */
const WRAPPERS_MAX = 3;

export class MeshPrograms {
  readonly #env: Env;
  readonly #known = new Set<string>();
  readonly #files = new Map<string, boolean>();

  /** `mesh` is the command of this program. */
  constructor(env: Env, mesh: Argv) {
    this.#env = env;
    this.add(mesh);
  }

  /** Adds a command that has our mark. */
  add(command: Argv): void {
    if (command.length > 0) this.#known.add(JSON.stringify(command));
  }

  /** True if a command, without its arguments `hook …` or `mcp`, starts our program. */
  includes(command: Argv): boolean {
    return this.#known.has(JSON.stringify(command)) || this.#isMesh(command, WRAPPERS_MAX);
  }

  /**
   * True if the program of a command no longer exists and the command has the exact form that a
   * former version wrote: `/path/mesh`, or Deno with our main module.
   */
  isFormer(command: Argv): boolean {
    const [program = "", ...args] = command;
    const main = args.at(-1) ?? "";
    const isDeno = /^\/.*\/deno$/.test(program) && /^\/.*\/main\.[jt]s$/.test(main) &&
      args.slice(0, 3).join(" ") === "run -A --quiet" &&
      args.slice(3, -1).every((flag) => flag.startsWith("--"));
    if (isDeno) return this.#pathOf(main) === undefined;
    const isOurName = /^\/(.*\/)?mesh$/.test(program) && args.length === 0;
    return isOurName && this.#pathOf(program) === undefined;
  }

  #isMesh(command: Argv, depth: number): boolean {
    const program = programOf(command);
    if (program === undefined) return false;
    if ("package" in program) return program.package === PACKAGE;
    const path = this.#pathOf(program.file);
    return path !== undefined && this.#isMeshFile(path, depth);
  }

  #isMeshFile(path: string, depth: number): boolean {
    const found = this.#files.get(path);
    if (found !== undefined) return found;
    const isMesh = unlessError(isUnreadable, () => {
      if (/\/(node_modules|Cellar)\/agent-mesh\//.test(path)) return true;
      return hasSignature(path) || isLauncher(path) || this.#startsMesh(path, depth);
    }) ?? false;
    this.#files.set(path, isMesh);
    return isMesh;
  }

  /** True if a script passes its arguments on to our program. */
  #startsMesh(path: string, depth: number): boolean {
    if (depth === 0) return false;
    return commandsIn(scriptAt(path)).some(({ words }) => {
      const end = words.findIndex((word) => /^\$[@*]$/.test(word));
      return end > 0 && this.#isMesh(words.slice(0, end), depth - 1);
    });
  }

  /** The real path of a program; undefined if there is no such file. */
  #pathOf(program: string): string | undefined {
    const home = this.#env["HOME"] ?? "";
    const file = program.replace(/^file:\/\//, "").replace(/^(~|\$HOME|\$\{HOME\})(?=\/)/, home);
    const folders = (this.#env["PATH"] ?? "").split(":").filter((folder) => folder.startsWith("/"));
    const paths = file.includes("/") ? [file] : folders.map((folder) => join(folder, file));
    for (const path of paths.filter((candidate) => candidate.startsWith("/"))) {
      const real = unlessError(isUnreadable, () => Deno.realPathSync(path));
      if (real !== undefined && Deno.statSync(real).isFile) return real;
    }
    return undefined;
  }
}

/** The file that a command runs, or the package that has its program. */
type Program = { readonly file: string } | { readonly package: string };

/** Programs that run the command in their arguments. */
const WRAPPERS: readonly string[] = ["command", "env", "exec", "nice", "nohup", "time", "timeout"];
const PACKAGE_RUNNERS: Readonly<Record<string, readonly string[]>> = {
  npx: [],
  bunx: [],
  npm: ["exec", "x"],
  bun: ["x"],
  pnpm: ["dlx", "exec"],
  yarn: ["dlx", "exec"],
};

function programOf(command: Argv): Program | undefined {
  const at = command.findIndex((word, index) =>
    !(WRAPPERS.includes(basename(word)) ||
      (index > 0 && /^-|^\d+[smh]?$|^[A-Za-z_]\w*=/.test(word)))
  );
  const [first = "", ...args] = command.slice(Math.max(at, 0));
  const name = basename(first);
  const operand = args.find((word) => !word.startsWith("-"));
  const verbs = Object.hasOwn(PACKAGE_RUNNERS, name) ? PACKAGE_RUNNERS[name] : undefined;
  if (verbs && (verbs.length === 0 || verbs.includes(operand ?? ""))) {
    const named = args.find((word) => !word.startsWith("-") && !verbs.includes(word));
    return named === undefined ? undefined : { package: withoutVersion(named) };
  }
  if (name === "node" || name === "bun") {
    return operand === undefined ? undefined : { file: operand };
  }
  if (name === "deno") {
    const module = args.find((word) => !word.startsWith("-") && word !== "run");
    if (module?.startsWith("npm:")) return { package: withoutVersion(module.slice(4)) };
    return module === undefined ? undefined : { file: module };
  }
  return first === "" ? undefined : { file: first };
}

function withoutVersion(name: string): string {
  return name.replace(/(?<=.)@[^/]*$/, "");
}

/** True for the launcher of our package, in any folder. */
function isLauncher(path: string): boolean {
  const manifest = unlessError(
    isUnreadable,
    () => Deno.readTextFileSync(join(dirname(path), "package.json")),
  );
  return manifest !== undefined && /"name"\s*:\s*"agent-mesh"/.test(manifest);
}

/** The text of a script; empty for any other file. */
function scriptAt(path: string): string {
  if (Deno.statSync(path).size > SCRIPT_BYTES_MAX) return "";
  const text = Deno.readTextFileSync(path);
  return text.startsWith("#!") ? text : "";
}

function hasSignature(path: string): boolean {
  const { size } = Deno.statSync(path);
  if (size > PROGRAM_BYTES_MAX) return false;
  using file = Deno.openSync(path);
  const bytes = new Uint8Array(CHUNK_BYTES + SIGNATURE.length);
  const decoder = new TextDecoder("latin1");
  for (let kept = 0;;) {
    const count = file.readSync(bytes.subarray(kept));
    if (count === null) return false;
    const length = kept + count;
    if (decoder.decode(bytes.subarray(0, length)).includes(SIGNATURE)) return true;
    // The signature may span two chunks.
    kept = Math.min(SIGNATURE.length, length);
    bytes.copyWithin(0, length - kept, length);
  }
}

/** True if the error comes from the file itself. Such a file does not count as ours. */
function isUnreadable(error: unknown): boolean {
  return error instanceof Error && "code" in error;
}
