/** A clock for real programs, which a test can set while they run, through libfaketime. */

import { join } from "node:path";

const LIBRARY = "faketime/libfaketimeMT.so.1";

/** The library of the package libfaketime, in a folder that depends on the architecture. */
function library(): string | undefined {
  if (Deno.build.os !== "linux") return undefined;
  const folders = [...Deno.readDirSync("/usr/lib")].filter(({ isDirectory }) => isDirectory);
  const paths = folders.map(({ name }) => join("/usr/lib", name, LIBRARY));
  return paths.find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return false;
      throw error;
    }
  });
}

/** The reason why clocks cannot be set here; undefined if they can. */
export function obstacle(): string | undefined {
  return library() === undefined ? "libfaketime is not installed" : undefined;
}

/** Registers a test; its name says that the library is missing. */
export function clockTest(name: string, fn: () => Promise<void>): void {
  const reason = obstacle();
  const shown = reason === undefined ? name : `${name} (skipped: ${reason})`;
  Deno.test({ name: shown, ignore: reason !== undefined, fn });
}

export class MovedClock {
  readonly #file: string;
  #ahead_ms = 0;

  /** The time lies in a file of this folder. */
  constructor(folder: string, ahead_ms = 0) {
    this.#file = join(folder, "moved_clock");
    this.step(ahead_ms);
  }

  /** The environment of programs with this clock. Their monotonic clock is real. */
  get env(): Record<string, string> {
    return {
      LD_PRELOAD: library() ?? "",
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: "1",
      DONT_FAKE_MONOTONIC: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    };
  }

  now(): number {
    return Date.now() + this.#ahead_ms;
  }

  /** Sets the clock at once; whole seconds. */
  step(ms: number): void {
    this.#ahead_ms += ms;
    const sign = this.#ahead_ms < 0 ? "-" : "+";
    Deno.writeTextFileSync(`${this.#file}.new`, `${sign}${Math.abs(this.#ahead_ms) / 1000}`);
    Deno.renameSync(`${this.#file}.new`, this.#file);
  }
}
