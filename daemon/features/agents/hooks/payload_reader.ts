/** Reads hook payloads: known events in full, other events only by name. No I/O. */

import * as z from "zod";
import { invalidRequest } from "kit/core/problem.ts";
import type { HookReader, HookReport, SubagentReport } from "../adapter.ts";

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

/** The longest id of a subagent. An event with a longer id is not the session's own either. */
const AGENT_ID_CHARS_MAX = 255;

/** The phases by the names of events, which Copilot CLI begins with a small letter. */
const PHASES: ReadonlyMap<unknown, SubagentReport["phase"]> = new Map([
  ...["SubagentStart", "subagentStart"].map((event) => [event, "started"] as const),
  ...["SubagentStop", "subagentStop"].map((event) => [event, "ended"] as const),
]);

/**
 * The report of an event that happened in a subagent. Its prompt, its turn and its last message are
 * the subagent's, so they are left out: they would prove messages that the session's model never
 * got. Only a permission dialog is the session's, because its terminal shows it.
 */
export function ofSubagent(report: HookReport, payload: unknown): HookReport {
  const { agent_id, agent_type }: Record<string, unknown> = Object(payload);
  if (typeof agent_id !== "string" || agent_id === "") return report;
  const { event, session_id, transcript_path, cwd, permission, waits_for } = report;
  return {
    event,
    session_id,
    transcript_path,
    cwd,
    ...(permission && { permission, waits_for, turn_state: "awaiting_input" }),
    subagent: subagentOf(agent_id, agent_type, event),
  };
}

/** Reads the subagent that an event names. Its id has a bounded length. */
export function subagentOf(agent_id: string, type: unknown, event: unknown): SubagentReport {
  const id = agent_id.slice(0, AGENT_ID_CHARS_MAX);
  const phase = PHASES.get(event) ?? "working";
  return { agent_id: id, type: typeof type === "string" ? type : "", phase };
}
