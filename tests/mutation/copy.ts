/** A copy of the sources and the tests, in which faults are tried. */

import { fileURLToPath } from "node:url";
import { temporary } from "../support/programs/child.ts";
import type { Fault } from "./target.ts";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Longer than any of these tests take; a fault may make one wait for good. */
const TEST_MS_MAX = 180_000;
/** The runner's line for a failed test, or for a file that could not be loaded. */
const FAILED = /(?:=> \.\/(tests\/\S+?):\d+:\d+$)|(?:^\.\/(tests\/\S+) \(uncaught error\)$)/;

export class SourceCopy implements Disposable {
  readonly #folder = temporary();
  /** The tests that pass without a fault. */
  readonly #passing = new Set<string>();

  /** Copies every file of the work tree, without what is built or ignored. */
  constructor() {
    const list = git("ls-files", "-z", "--cached", "--others", "--exclude-standard");
    for (const file of list.split("\0").filter(Boolean)) {
      const to = `${this.#folder.path}/${file}`;
      Deno.mkdirSync(to.replace(/\/[^/]*$/, ""), { recursive: true });
      Deno.copyFileSync(`${ROOT}${file}`, to);
    }
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]();
  }

  /**
   * The first test file that fails with a fault; undefined if all pass. Throws if one of the tests
   * fails without the fault.
   */
  async finderOf(
    file: string,
    [, find, replace]: Fault,
    tests: readonly string[],
  ): Promise<string | undefined> {
    const path = `${this.#folder.path}/${file}`;
    const text = Deno.readTextFileSync(path);
    for (const test of tests) {
      await this.#mustPass(test);
      Deno.writeTextFileSync(path, text.replace(find, () => replace));
      const found = await this.#failing(test);
      Deno.writeTextFileSync(path, text);
      if (found) return found;
    }
    return undefined;
  }

  /** Without a fault. */
  async #mustPass(test: string): Promise<void> {
    if (this.#passing.has(test)) return;
    const failing = await this.#failing(test);
    if (failing) throw new Error(`${failing} fails without a fault`);
    this.#passing.add(test);
  }

  /** The first file of these tests that fails; undefined if all pass. */
  async #failing(test: string): Promise<string | undefined> {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["test", "-A", "--no-check", "--fail-fast", "--quiet", test],
      cwd: this.#folder.path,
      env: { NO_COLOR: "1" },
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const timer = setTimeout(() => child.kill("SIGKILL"), TEST_MS_MAX);
    try {
      const { success, stdout } = await child.output();
      if (success) return undefined;
      return failedFile(new TextDecoder().decode(stdout)) ?? test;
    } finally {
      clearTimeout(timer);
    }
  }
}

function failedFile(output: string): string | undefined {
  for (const line of output.split("\n").toReversed()) {
    const [, failed, unloaded] = FAILED.exec(line) ?? [];
    if (failed ?? unloaded) return failed ?? unloaded;
  }
}

export function git(...args: readonly string[]): string {
  const { success, stdout } = new Deno.Command("git", { args: [...args], cwd: ROOT }).outputSync();
  if (!success) throw new Error(`git ${args.join(" ")} failed`);
  return new TextDecoder().decode(stdout);
}
