/** Compares what a command prints with what a document shows. */

/** The output without what differs from run to run: ids, times, durations, processes, addresses. */
export function comparable(output: string): string {
  return output.trim()
    .replaceAll(/\b(ask|inb|notif|peer|work|cal|sched|sub|qd|dm|att)-[0-9a-f]{4,32}\b/g, "$1-0")
    .replaceAll(/\d\d:\d\d(?::\d\d)?(?:\.\d+)?/g, "00:00")
    .replaceAll(/\b\d{4}-\d\d-\d\d\b/g, "0000-00-00")
    .replaceAll(/\d+(?:\.\d+)? ?(?:ms|s|min|h|d)\b/g, "0 s")
    .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:0")
    .replaceAll(/\bprocess( +)\d+/g, "process$10")
    .split("\n").map((line) => line.replaceAll(/ +/g, " ").trimEnd()).join("\n");
}

/** True if the output is as expected; an expected line `…` stands for any lines. */
export function matches(printed: string, expected: string): boolean {
  const lines = printed.split("\n"), wanted = expected.split("\n");
  const from = (line: number, want: number): boolean => {
    if (want === wanted.length) return line === lines.length;
    if (wanted[want] === "…") {
      return from(line, want + 1) || (line < lines.length && from(line + 1, want));
    }
    return line < lines.length && lines[line] === wanted[want] && from(line + 1, want + 1);
  };
  return from(0, 0);
}
