/** The programs that run now, in files: a daemon that was killed cannot end what it has started. */

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

  /** Notes a program until it has ended. */
  add(mark: string): Disposable {
    const path = `${this.#folder}/${mark}`;
    Deno.mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    Deno.writeTextFileSync(path, "", { mode: 0o600 });
    return { [Symbol.dispose]: () => Deno.removeSync(path) };
  }

  /**
   * Ends what the last daemon has started and could not end, with all that it has started. On
   * macOS, where no process shows its environment to others, nothing is found.
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
