/** The outputs of hooks. */

import type { HookReader } from "../../../daemon/features/agents/adapter.ts";

/** The output of a hook with this payload; `context` is the text for the model. */
export function answerTo(reader: HookReader, payload: unknown, context: string | null) {
  return reader.answer(reader.read(payload), context, payload);
}
