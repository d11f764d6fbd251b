/** The requests in Gemini CLI's session records, with those of its subagents. */

import { basename, dirname, join } from "kit/core/path.ts";
import { namesIn } from "../../../host/agent_files.ts";
import type { RequestFormat } from "../sessions/new_records.ts";
import { messagesIn } from "./messages.ts";

/**
 * A message is written again, with the same id, when its tools have run, and when a new list
 * replaces the messages. A message that its user rewound was paid, so it stays counted.
 */
export const geminiRequests: RequestFormat<null> = {
  marks: ['"tokens"'],
  initial: null,
  read: (json) => ({
    requests: messagesIn(json).flatMap(({ id: key, timestamp: at, model = null, tokens }) => {
      if (!tokens) return [];
      const { input, output, cached, thoughts } = tokens;
      return [{
        key,
        at,
        model,
        tokens: {
          input_tokens: input,
          cached_input_read_tokens: cached,
          // Not in the records.
          cached_input_write_tokens: null,
          output_tokens: output + thoughts,
          reasoning_tokens: thoughts,
        },
      }];
    }),
  }),
};

/** All files of a session: a resumed session has two, and each subagent has one. */
export function filesWithRequests(files: readonly string[], session_id: string): string[] {
  const folders = new Set(files.map((file) => join(dirname(file), basename(session_id))));
  const subagents = [...folders].flatMap((folder) =>
    namesIn(folder).filter((name) => name.endsWith(".jsonl")).map((name) => join(folder, name))
  );
  return [...files, ...subagents];
}
