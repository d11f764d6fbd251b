/** Reads hook payloads: known events in full, other events only by name. No I/O. */

import * as z from "zod";
import { invalidRequest } from "kit/core/problem.ts";
import type { HookReader, HookReport } from "../adapter.ts";

/** The fields of every event. */
export const commonFields = {
  session_id: z.string().min(1),
  transcript_path: z.string().optional(),
  cwd: z.string().optional(),
};

/** Any event, including events of later versions. Only its name is read. */
const UnknownEvent = z.object({ ...commonFields, hook_event_name: z.string().min(1) });

/** Reads payloads of these events; refuses a payload without an event or a session. */
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
