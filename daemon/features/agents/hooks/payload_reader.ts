/** Reads what a hook was handed: in full where its event is known, else by name. Pure: no I/O. */

import * as z from "zod";
import { invalidRequest } from "kit/core/problem.ts";
import type { HookReader, HookReport } from "../adapter.ts";

/** What every event says of itself. */
export const commonFields = {
  session_id: z.string().min(1),
  transcript_path: z.string().optional(),
  cwd: z.string().optional(),
};

/** Any event, those of later versions too: that it came is all that is taken from it. */
const UnknownEvent = z.object({ ...commonFields, hook_event_name: z.string().min(1) });

/** Reads payloads of these events; refuses one that names no event or no session. */
export function payloadReader<Event extends z.infer<typeof UnknownEvent>>(
  schema: z.ZodType<Event>,
  reportFields: (event: Event) => Partial<HookReport>,
): HookReader["read"] {
  return (payload) => {
    const parsed = schema.safeParse(payload);
    const { data, error } = parsed.success ? parsed : UnknownEvent.safeParse(payload);
    if (!data) throw invalidRequest(error);
    const { session_id, transcript_path, cwd, hook_event_name: event } = data;
    const report = { event, session_id, transcript_path, cwd };
    return parsed.success ? { ...report, ...reportFields(parsed.data) } : report;
  };
}
