/** How long tests took, read from the output of `deno test`. */

/** A line such as `a message waits ... ok (1m2s)`; the output of a test may precede the last word. */
const TEST = /^(.*?) ?\.\.\. ?(?:ok|FAILED) \((?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?(?:\d+µs)?\)$/;

/** Milliseconds by the name of the test. */
export type TestTimes = Map<string, number>;

/** Adds the time that a line of one process reports. */
export function readTime(times: TestTimes, line: string): void {
  const [, name = "", ...digits] = TEST.exec(line) ?? [];
  if (!name) return;
  const [minutes = 0, seconds = 0, ms = 0] = digits.map((text) => Number(text ?? 0));
  times.set(name, (minutes * 60 + seconds) * 1000 + ms);
}

/** Lines of a table: the slowest tests of all processes, slowest first. */
export function slowest(times: readonly TestTimes[], tests_max: number): string[] {
  return times.flatMap((all) => [...all])
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, tests_max)
    .map(([name, ms]) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${name}`);
}
