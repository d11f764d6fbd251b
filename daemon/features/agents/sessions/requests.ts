/** The requests to models that an agent recorded, read once, in the order of recording. */

import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import { CHUNKS_AT_ONCE, continued, newBytes, NEWLINE, probe } from "./growing_file.ts";
import { inBatches } from "./lines.ts";

const Count = z.number().int().nonnegative().nullable();

/** The tokens of a request; null where the agent does not record them. */
export const RequestTokens = z.object({
  /** All input, with what was read from a cache and written to it. */
  input_tokens: Count,
  cached_input_read_tokens: Count,
  cached_input_write_tokens: Count,
  /** All output, with reasoning. */
  output_tokens: Count,
  reasoning_tokens: Count,
});
export type RequestTokens = z.output<typeof RequestTokens>;
export const TOKEN_KINDS = Object.keys(RequestTokens.shape) as (keyof RequestTokens)[];

export interface ModelRequest {
  /** Identifies the request in every file of the agent in which it is recorded. */
  readonly key: string;
  /** The time of its record, in milliseconds since 1970; null if the record has none. */
  readonly at: number | null;
  readonly model: string | null;
  /** The tokens so far: a later record of the same request may have more. */
  readonly tokens: RequestTokens;
}

/** Where the reading of a file's requests ended. It holds no text of the file. */
export interface RequestCursor {
  readonly at: number;
  readonly before: number;
  /** What a format has to know of earlier records, as JSON. */
  readonly state: string;
}

/** New requests of a file, and the cursor behind them. */
export interface RequestPart {
  readonly file: string;
  readonly requests: readonly ModelRequest[];
  readonly cursor: RequestCursor;
}

/** Finds the cursor of a file; undefined for a file that was not read. */
export type CursorOf = (file: string) => RequestCursor | undefined;

/** The requests in the lines of a file. */
export interface RequestFormat<S> {
  /** Every line that matters contains one of these texts. */
  readonly marks: readonly string[];
  /** What earlier lines said, at the beginning of a file. */
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
    for await (const bytes of inBatches(newBytes(file, position, size), CHUNKS_AT_ONCE)) {
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
