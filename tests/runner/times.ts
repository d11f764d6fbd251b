/** Duration of the tests of each file, read from the output of `deno test`. */

/** A line such as `running 3 tests from ./tests/kit/core/clock_test.ts`. */
const FILE = /^running \d+ tests? from \.\/(\S+)$/;
/** A line such as `a message waits ... ok (1m2s)`; the output of a test may precede the last word. */
const TEST = /\.\.\. (?:ok|FAILED) \((?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?(?:\d+µs)?\)$/;

export class FileTimes {
  readonly #ms = new Map<string, number>();
  #file = "";

  /** Reads the next line of one process. */
  read(line: string): void {
    this.#file = FILE.exec(line)?.[1] ?? this.#file;
    const found = TEST.exec(line);
    if (!found || !this.#file) return;
    const [minutes, seconds, ms] = found.slice(1).map((digits) => Number(digits ?? 0));
    const took_ms = (Number(minutes) * 60 + Number(seconds)) * 1000 + Number(ms);
    this.#ms.set(this.#file, (this.#ms.get(this.#file) ?? 0) + took_ms);
  }

  /** Milliseconds by file. */
  get all(): ReadonlyMap<string, number> {
    return this.#ms;
  }
}

/** A table of the slowest files of all processes, the slowest first. */
export function slowest(times: readonly FileTimes[], files_max: number): string[] {
  return times.flatMap(({ all }) => [...all])
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, files_max)
    .map(([file, ms]) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${file}`);
}
