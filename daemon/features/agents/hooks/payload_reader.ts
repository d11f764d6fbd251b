/** Reads hook payloads: known events in full, other events only by name. No I/O. */

import * as z from "zod";
import { invalidRequest } from "kit/core/problem.ts";
import type { HookReader, HookReport } from "../adapter.ts";

/** The fields of every event. An event of a later version is read by these fields alone. */
const Payload = z.object({
  session_id: z.string().min(1),
  transcript_path: z.string().optional(),
  cwd: z.string().optional(),
  hook_event_name: z.string().min(1),
});

/** Reads what one kind of event reports; undefined if the payload lacks a field of that event. */
type EventReader = (payload: unknown) => Partial<HookReport> | undefined;

/** An event with these fields. */
export function event<Shape extends z.ZodRawShape>(
  shape: Shape,
  report: (fields: z.output<z.ZodObject<Shape>>) => Partial<HookReport>,
): EventReader {
  const schema = z.object(shape);
  return (payload) => {
    const { success, data } = schema.safeParse(payload);
    return success ? report(data) : undefined;
  };
}

/** Reads payloads of these events; refuses a payload without an event or a session. */
export function payloadReader(events: Readonly<Record<string, EventReader>>): HookReader["read"] {
  const readers = new Map(Object.entries(events));
  return (payload) => {
    const { data, error } = Payload.safeParse(payload);
    if (!data) throw invalidRequest(error);
    const { hook_event_name: event, ...common } = data;
    return { event, ...common, ...readers.get(event)?.(payload) };
  };
}
