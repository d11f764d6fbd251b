/**
 * Records running programs in files, because a daemon that was killed cannot end what it started.
 */

import type { Clock } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import { endProcesses } from "./program_group.ts";

const MARK = /^[0-9a-f]{32}$/;

/** One empty file for each running program, named by its mark. */
export class StartedPrograms {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Records a program until it ends. */
  add(mark: string): Disposable {
    const path = `${this.#folder}/${mark}`;
    Deno.mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    Deno.writeTextFileSync(path, "", { mode: 0o600 });
    return { [Symbol.dispose]: () => Deno.removeSync(path) };
  }

  /**
   * Ends the programs that the last daemon left behind, with all processes that they started. Finds
   * nothing on macOS, where a process cannot read the environment of others.
   */
  async endLeft(clock: Clock, log: Log): Promise<void> {
    for (const mark of this.#marks()) {
      const left = await endProcesses(clock, { mark });
      if (left.length > 0) log.warn("A program of the last daemon does not end", { pids: left });
      Deno.removeSync(`${this.#folder}/${mark}`);
    }
  }

  #marks(): string[] {
    try {
      return [...Deno.readDirSync(this.#folder)].map(({ name }) => name)
        .filter((name) => MARK.test(name));
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return [];
      throw error;
    }
  }
}
