/** Git repositories in temporary folders, and the programs that a hostile one names. */

import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { systemClock } from "kit/core/clock.ts";
import type { GitHost } from "../../../daemon/features/changes/git/git.ts";
import { outputReaderOf } from "../../../daemon/host/program_output.ts";

const PATH = Deno.env.get("PATH") ?? "";
const AUTHOR = { NAME: "sam", EMAIL: "sam@example.com" };

/** The real git, with a home folder that has no settings. */
export const realGit: GitHost = {
  readOutput: outputReaderOf(systemClock),
  env: { PATH, HOME: "/nonexistent" },
};

export class TestRepository implements Disposable {
  readonly folder: string;
  readonly parent: string;

  /** A folder `work` in a new folder, where `git init` has run with these arguments. */
  constructor(...init: readonly string[]) {
    this.parent = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "mesh-changes-" }));
    this.folder = join(this.parent, "work");
    Deno.mkdirSync(this.folder);
    this.git("init", "-q", "-b", "main", ...init);
  }

  git(...args: readonly string[]): string {
    return this.gitIn(this.folder, ...args);
  }

  gitIn(folder: string, ...args: readonly string[]): string {
    const env = {
      PATH,
      HOME: this.parent,
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_AUTHOR_NAME: AUTHOR.NAME,
      GIT_AUTHOR_EMAIL: AUTHOR.EMAIL,
      GIT_COMMITTER_NAME: AUTHOR.NAME,
      GIT_COMMITTER_EMAIL: AUTHOR.EMAIL,
      GIT_ALLOW_PROTOCOL: "file",
    };
    const options = { cwd: folder, env, encoding: "utf8", stdio: "pipe" } as const;
    return execFileSync("git", [...args], options).trim();
  }

  write(path: string, text: string | Uint8Array): void {
    const file = join(this.folder, path);
    Deno.mkdirSync(dirname(file), { recursive: true });
    Deno.writeFileSync(file, typeof text === "string" ? new TextEncoder().encode(text) : text);
  }

  /** Commits everything. */
  commit(message = "a commit"): string {
    this.git("add", "-A");
    this.git("commit", "-q", "--allow-empty", "-m", message);
    return this.git("rev-parse", "HEAD");
  }

  /** A file outside of the repository. */
  outside(name: string, text: string): string {
    const file = join(this.parent, name);
    Deno.writeTextFileSync(file, text);
    return file;
  }

  /** A program that leaves a mark, and passes on its input. */
  canary(name: string): string {
    return `sh -c 'touch "${this.parent}/ran-${name}"; cat'`;
  }

  /** The canaries that ran. */
  ran(): string[] {
    return [...Deno.readDirSync(this.parent)].map(({ name }) => name)
      .filter((name) => name.startsWith("ran-"));
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.parent, { recursive: true });
  }
}
