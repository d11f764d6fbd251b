/** The messages of a Gemini CLI session, out of records that change and remove earlier ones. */

import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import type { BackwardLines, RecordSource } from "../sessions/lines.ts";
import type { JsonLine } from "../sessions/new_records.ts";
import { type ParsedEntry, Timestamp } from "../sessions/pages.ts";
import type { CallOutcome } from "../sessions/session_files.ts";
import { Content, NOT_CONVERSATION, textOf } from "./sessions.ts";

const Count = z.number().nonnegative();
const Time = Timestamp.nullable().catch(null);

/** A message, as of 0.61.0. It is written again, with the same id, when its tools have run. */
const Message = z.object({
  id: z.string(),
  timestamp: Time,
  type: z.enum(["user", "gemini"]),
  content: Content,
  model: z.string().optional(),
  tokens: z.object({ input: Count, output: Count, cached: Count, thoughts: Count.default(0) })
    .optional().catch(undefined),
  toolCalls: z.array(z.object({
    id: z.string().optional(),
    name: z.string(),
    /** `success`, `error` or `cancelled`. */
    status: z.string().optional(),
    args: z.unknown().optional(),
    result: z.unknown().optional(),
    timestamp: Time,
  })).optional().catch(undefined),
});
type Message = z.output<typeof Message>;

/** Replaces all messages so far by a new list. */
const Replaced = z.object({ $set: z.object({ messages: z.array(z.unknown()) }) });
/** Removes a message and all that follow it. */
const Rewound = z.object({ $rewindTo: z.string() });

interface MessageRecord {
  readonly end: number;
  readonly messages: readonly Message[];
}

/** The messages that the session still has, last first; each as it was last written. */
export class MessageRecords implements RecordSource<MessageRecord> {
  readonly #lines: BackwardLines;

  constructor(lines: BackwardLines) {
    this.#lines = lines;
  }

  get unread(): number {
    return this.#lines.unread;
  }

  *[Symbol.iterator](): Iterator<MessageRecord> {
    yield* recordsIn(
      Iterator.from(this.#lines).map(({ end, text }) => ({ end, json: tryJson(text) })),
    );
  }
}

/** As `MessageRecords`, of lines last to first. */
export function* recordsIn(
  lines: Iterable<Pick<JsonLine, "end" | "json">>,
): Generator<MessageRecord> {
  const seen = new Set<string>();
  /** The first of the messages that were removed; undefined once it was passed. */
  let removed: string | undefined;
  for (const { end, json } of lines) {
    let messages = messagesIn(json);
    removed ??= Rewound.safeParse(json).data?.$rewindTo;
    if (removed !== undefined) {
      const at = messages.findIndex(({ id }) => id === removed);
      messages = messages.slice(0, Math.max(0, at));
      if (at >= 0) removed = undefined;
    }
    messages = messages.filter(({ id }) => !seen.has(id));
    messages.forEach(({ id }) => seen.add(id));
    if (messages.length > 0) yield { end, messages };
    if (Replaced.safeParse(json).success) return;
  }
}

/** The messages of a record: itself, or those of a new list. */
export function messagesIn(json: unknown): Message[] {
  const replaced = Replaced.safeParse(json).data?.$set.messages;
  return (replaced ?? [json]).flatMap((message) => Message.safeParse(message).data ?? []);
}

/** The entries of a record's messages, without thoughts and added context. */
export function entriesOf({ messages }: Pick<MessageRecord, "messages">): ParsedEntry[] {
  return messages.flatMap(({ timestamp: at, type, content, toolCalls = [] }): ParsedEntry[] => {
    const text = textOf(content);
    if (type === "user") {
      return NOT_CONVERSATION.test(text) ? [] : [{ at, kind: "prompt", text }];
    }
    return [
      { at, kind: "text", text },
      ...toolCalls.flatMap(
        ({ id: call, name: tool, args, result, status, timestamp }): ParsedEntry[] => {
          const text = outputOf(result);
          const outcome = outcomeOf(status, text);
          return [
            { at, kind: "tool_call", text: JSON.stringify(args ?? {}), tool, call },
            { at: timestamp, kind: "tool_result", text, tool, call, outcome },
          ];
        },
      ),
    ];
  });
}

function outcomeOf(status: string | undefined, text: string): CallOutcome {
  if (status === "error") return "failed";
  if (status !== "cancelled") return "ok";
  return /did not allow/.test(text) ? "denied" : "interrupted";
}

const Result = z.array(z.object({
  functionResponse: z.object({ response: z.object({ output: z.string() }) }),
}));

/** The output as the model got it; another form is shown as JSON. */
function outputOf(result: unknown): string {
  const { data } = Result.safeParse(result);
  if (data) return data.map((part) => part.functionResponse.response.output).join("\n");
  return result === undefined ? "" : JSON.stringify(result);
}
