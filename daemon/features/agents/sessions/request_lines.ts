/** Reads the requests in files with a record in each line, from where the last reading ended. */

import { tryJson } from "kit/core/text.ts";
import { continued, newBytes, NEWLINE, probe } from "./growing_file.ts";
import { inBatches } from "./lines.ts";
import type { CursorOf, ModelRequest, RequestPart } from "./requests.ts";

/** The requests in the lines of a file. */
export interface RequestFormat<S> {
  /** Every line that matters contains one of these texts. */
  readonly marks: readonly string[];
  /** The facts from earlier lines, at the beginning of a file. */
  readonly initial: S;
  /** The requests of a line, and what is known after it. */
  read(
    json: unknown,
    state: S,
  ): { readonly requests?: readonly ModelRequest[]; readonly state?: S };
}

/** Reads the new requests of files with a record in each line. */
export async function* lineRequests<S>(
  files: readonly string[],
  format: RequestFormat<S>,
  cursorOf: CursorOf,
): AsyncGenerator<RequestPart> {
  for (const file of files) {
    const known = cursorOf(file);
    const { at, size, isKnown } = continued(file, known);
    const position = { at };
    let state: S = known && isKnown ? JSON.parse(known.state) : format.initial;
    for await (const bytes of inBatches(newBytes(file, position, size), 1)) {
      const end = bytes.lastIndexOf(NEWLINE) + 1;
      const requests: ModelRequest[] = [];
      for (const line of new TextDecoder().decode(bytes.subarray(0, end)).split("\n")) {
        if (!format.marks.some((mark) => line.includes(mark))) continue;
        const found = format.read(tryJson(line), state);
        requests.push(...found.requests ?? []);
        state = found.state ?? state;
      }
      // A line that is longer than any chunk is skipped.
      position.at += end === 0 ? bytes.length : end;
      const before = probe(file, position.at);
      yield { file, requests, cursor: { at: position.at, before, state: JSON.stringify(state) } };
    }
  }
}
