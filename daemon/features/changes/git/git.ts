/**
 * Runs git on a repository that may be hostile. git gets a `.git` folder of our own, in which only
 * the branches, the objects and the index are those of the repository. Our configuration is the
 * only one: it names no program, no filter, no remote and no other file.
 */

import { isNotInstalled, type ReadOutput } from "../../../host/program_output.ts";
import { namesIn, readWhole } from "../../../host/agent_files.ts";
import { dirname, join } from "kit/core/path.ts";
import { CONFIG_BYTES_MAX, realPath, type Repository, statOf } from "./repository.ts";
import { readOwnSettings, readSettings, type Settings } from "./settings.ts";

/** The environment of the daemon, as far as git needs it, and the runner of programs. */
export interface GitHost {
  readonly readOutput: ReadOutput;
  readonly env: Readonly<Record<string, string>>;
  /** The folder of temporary folders, which a start empties; by default the system's. */
  readonly folder?: string;
}

/** Time limit of one run of git. */
const GIT_MS_MAX = 10_000;
/** A larger file counts as binary, and is not loaded. */
const BIG_FILE_BYTES = 4_194_304;
/** Maximum bytes of a file that is copied from the repository's `.git`. */
const COPIED_BYTES_MAX = 1_048_576;

/** A larger index is that of millions of files. */
const INDEX_BYTES_MAX = 268_435_456;

/** The result of a run that ended well or was cut off at a limit. */
export interface GitResult {
  readonly text: string;
  /** The limit at which the run was ended; the text is its beginning. */
  readonly cut: "time" | "bytes" | null;
}

/** git failed, is missing, or found nothing within the time limit. */
export class GitFailed extends Error {
  override readonly name = "GitFailed";
  readonly why: "git_missing" | "git_failed" | "too_slow";

  constructor(why: GitFailed["why"]) {
    super(`git could not read the repository: ${why}`);
    this.why = why;
  }
}

export class Git implements AsyncDisposable {
  readonly repository: Repository;
  /** The settings of the repository and of the user that change no more than what git finds. */
  readonly settings: Settings;
  /** The text of HEAD: a branch, or a commit. */
  readonly head: string;
  readonly #host: GitHost;
  readonly #own: string;
  readonly #objects: string | undefined;
  readonly #signal: AbortSignal;

  private constructor(
    repository: Repository,
    { host, own, objects, signal, settings, head }: {
      readonly host: GitHost;
      readonly own: string;
      readonly objects: string | undefined;
      readonly signal: AbortSignal;
      readonly settings: Settings;
      readonly head: string;
    },
  ) {
    this.repository = repository;
    this.settings = settings;
    this.head = head;
    this.#host = host;
    this.#own = own;
    this.#objects = objects;
    this.#signal = signal;
  }

  /** With a folder `objects`, new objects are kept there, and those in it are found. */
  static async open(
    repository: Repository,
    host: GitHost,
    signal: AbortSignal,
    objects?: string,
  ): Promise<Git> {
    // Beside the new objects, so that one removal after a crash removes both.
    const dir = objects === undefined ? host.folder : dirname(objects);
    const place = { ...dir !== undefined && { dir }, prefix: "mesh-git-" };
    const own = await Deno.realPath(await Deno.makeTempDir(place));
    try {
      const run = (args: readonly string[]) => host.readOutput(args, runOptions(own, host, signal));
      const config = join(repository.common_dir, "config");
      const isSafe = readWhole(config, CONFIG_BYTES_MAX) !== undefined;
      const [settings, ownSettings] = await Promise.all([
        isSafe ? readSettings(run, config) : {},
        readOwnSettings(run, host.env),
      ]);
      const head = headOf(repository);
      const all = { ...ownSettings, ...settings };
      fillOwn(own, { repository, head, settings: all });
      await copyIndex(join(repository.git_dir, "index"), join(own, "index"));
      return new Git(repository, { host, own, objects, signal, settings: all, head });
    } catch (error) {
      await Deno.remove(own, { recursive: true });
      throw error;
    }
  }

  /** Runs git. Throws `GitFailed`; if `allowed` names its exit status, that is no failure. */
  async run(
    args: readonly string[],
    { bytes_max, input, writes = false, allowed = [0] }: {
      readonly bytes_max: number;
      /** True for a command that makes objects: they are kept in a folder of ours. */
      readonly writes?: boolean;
      readonly input?: string;
      readonly allowed?: readonly number[];
    },
  ): Promise<GitResult> {
    const { root, common_dir } = this.repository;
    const options = runOptions(this.#own, this.#host, this.#signal);
    const output = await this.#host.readOutput(
      ["git", "--literal-pathspecs", ...args],
      {
        ...options,
        env: {
          ...options.env,
          GIT_WORK_TREE: root,
          GIT_INDEX_FILE: join(this.#own, "index"),
          ...writes || this.#objects !== undefined
            ? {
              GIT_ALTERNATE_OBJECT_DIRECTORIES: quoted(join(common_dir, "objects")),
              GIT_OBJECT_DIRECTORY: this.#objects ?? join(this.#own, "objects"),
            }
            : { GIT_OBJECT_DIRECTORY: join(common_dir, "objects") },
        },
        bytes_max,
        input,
      },
    );
    this.#signal.throwIfAborted();
    const { exit, bytes, ended_at } = output;
    if (isNotInstalled(output)) throw new GitFailed("git_missing");
    if (ended_at === "time" && bytes.length === 0) throw new GitFailed("too_slow");
    const cut = ended_at === "aborted" ? null : ended_at;
    if (cut === null && (exit === null || !allowed.includes(exit))) {
      throw new GitFailed("git_failed");
    }
    return { text: new TextDecoder().decode(bytes), cut };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.#own, { recursive: true });
  }
}

/** A path in a list of paths, which colons part. */
function quoted(path: string): string {
  return `"${path.replaceAll(/["\\]/g, "\\$&")}"`;
}

function runOptions(own: string, { env }: GitHost, signal: AbortSignal) {
  const path = (env["PATH"] ?? "").split(":").filter((folder) => folder.startsWith("/"));
  return {
    cwd: own,
    timeout_ms: GIT_MS_MAX,
    bytes_max: COPIED_BYTES_MAX,
    signal,
    env: {
      PATH: path.join(":"),
      LC_ALL: "C",
      HOME: own,
      GIT_DIR: own,
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_ATTR_NOSYSTEM: "1",
      GIT_NO_LAZY_FETCH: "1",
      GIT_NO_REPLACE_OBJECTS: "1",
      GIT_OPTIONAL_LOCKS: "0",
      GIT_TERMINAL_PROMPT: "0",
    },
  };
}

/** The text of HEAD; a branch without a name for a text that is neither a branch nor a commit. */
function headOf({ git_dir }: Repository): string {
  const head = (readWhole(join(git_dir, "HEAD"), COPIED_BYTES_MAX) ?? "").trim();
  // deno-lint-ignore no-control-regex -- A branch's name has no control characters.
  return /^(?:ref: refs\/[^\s\x00-\x20\x7f]+|[0-9a-f]{40}|[0-9a-f]{64})$/.test(head) ? head : "";
}

/** Makes our `.git` folder. */
function fillOwn(
  own: string,
  { repository, head, settings }: {
    readonly repository: Repository;
    readonly head: string;
    readonly settings: Settings;
  },
): void {
  const { git_dir, common_dir } = repository;
  const copy = (from: string, to: string) => {
    const text = readWhole(from, COPIED_BYTES_MAX);
    if (text !== undefined) Deno.writeTextFileSync(to, text);
  };
  Deno.mkdirSync(join(own, "objects"), { recursive: true });
  Deno.mkdirSync(join(own, "info"), { recursive: true });
  Deno.writeTextFileSync(join(own, "HEAD"), `${head || "ref: refs/heads/none"}\n`);
  Deno.writeTextFileSync(join(own, "config"), configOf(own, settings));
  // Outweighs the files `.gitattributes`: they cannot hide a text as binary, nor name a filter.
  Deno.writeTextFileSync(join(own, "info", "attributes"), "* !diff !filter\n");
  Deno.symlinkSync(join(common_dir, "refs"), join(own, "refs"));
  const ignored = settings["core.excludesfile"];
  if (ignored !== undefined) copy(realPath(ignored) ?? ignored, join(own, "ignored"));
  copy(join(common_dir, "info", "exclude"), join(own, "info", "exclude"));
  copy(join(common_dir, "shallow"), join(own, "shallow"));
  linkFile(join(common_dir, "packed-refs"), join(own, "packed-refs"));
  for (const name of namesIn(git_dir).filter((name) => name.startsWith("sharedindex."))) {
    linkFile(join(git_dir, name), join(own, name));
  }
}

/** git may write to its index. A file that changed after the index counts as not compared yet. */
async function copyIndex(from: string, to: string): Promise<void> {
  const found = statOf(from);
  if (!found?.isFile) return;
  if (found.size > INDEX_BYTES_MAX) throw new GitFailed("too_slow");
  await Deno.copyFile(from, to);
  const changed_at = found.mtime ?? new Date(0);
  await Deno.utime(to, changed_at, changed_at);
}

function linkFile(from: string, to: string): void {
  if (statOf(from)?.isFile) Deno.symlinkSync(from, to);
}

/** Settings whose values are words out of a short list. */
const WORDS = ["filemode", "symlinks", "ignorecase", "precomposeunicode", "autocrlf", "eol"];
const WORD = /^(?:true|false|input|lf|crlf|native)$/;

function configOf(own: string, settings: Settings): string {
  const format = settings["extensions.objectformat"] === "sha256" ? "sha256" : "sha1";
  const words = WORDS.flatMap((name) => {
    const value = settings[`core.${name}`] ?? "";
    return WORD.test(value) ? [`\t${name} = ${value}`] : [];
  });
  return [
    "[core]",
    `\trepositoryformatversion = ${format === "sha256" ? 1 : 0}`,
    "\tbare = false",
    "\tfsmonitor = false",
    "\tuntrackedCache = false",
    "\thooksPath = /dev/null",
    "\tattributesFile = /dev/null",
    `\texcludesFile = "${own}/ignored"`,
    "\tquotePath = false",
    `\tbigFileThreshold = ${BIG_FILE_BYTES}`,
    "\tpackedGitLimit = 256m",
    "\tpackedGitWindowSize = 32m",
    ...words,
    ...format === "sha256" ? ["[extensions]", "\tobjectformat = sha256"] : [],
    "[protocol]",
    "\tallow = never",
    "[gc]",
    "\tauto = 0",
    "",
  ].join("\n");
}
