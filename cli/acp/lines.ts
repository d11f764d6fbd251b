/** The lines of a stream of bytes, with a limit on their length. */

/** The longest line. An agent sends whole files in one, but never this much. */
export const LINE_CHARS_MAX = 16 * 1024 * 1024;

export type LineReader = AsyncIterable<Uint8Array>;

/** Yields each line. Throws at a line that is too long: the rest of it could be anything. */
export async function* readLines(input: LineReader): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let parts: string[] = [], length = 0;
  for await (const chunk of input) {
    const [first = "", ...more] = decoder.decode(chunk, { stream: true }).split("\n");
    for (const [at, text] of [first, ...more].entries()) {
      if (at > 0) {
        yield parts.join("");
        parts = [];
        length = 0;
      }
      parts.push(text);
      length += text.length;
      if (length > LINE_CHARS_MAX) throw new Error("It wrote a line of more than 16 MiB");
    }
  }
  if (length > 0) yield parts.join("");
}
