/** A request to a model as an agent recorded it, and the place up to which its file was read. */

import * as z from "zod";

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
  /** Identifies the request among those of its file. */
  readonly key: string;
  /**
   * Identifies the request in every file in which it is recorded; by default, its key with the time
   * of its first record, which copies keep.
   */
  readonly identity?: string;
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
  /** The facts from earlier records that a format needs, as JSON. */
  readonly state: string;
}
