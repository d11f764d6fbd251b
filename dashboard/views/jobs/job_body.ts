/** The request of a new job, from the fields of its form. */

import type { When, WhenText } from "../../components/time/when.ts";
import type { Backend, JobRequest } from "../../state/records.ts";

export interface JobText {
  readonly title: string;
  readonly prompt: string;
  readonly target: "peer" | "folder";
  readonly assigned_peer: string;
  readonly path: string;
  /** Undefined until the configuration is loaded. */
  readonly backend: Backend | undefined;
  readonly profile: string;
  readonly checks: string;
  readonly when: WhenText;
}

/** A missing or wrong field; undefined if the job can be created. */
export function problemOf(text: JobText, when: When): string | undefined {
  if (text.title.trim() === "" && text.prompt.trim() === "") return "Give a prompt or a title.";
  if (text.target === "peer" && text.assigned_peer === "") return "Choose a peer.";
  if (text.target === "folder" && !/^[/~]/.test(text.path.trim())) {
    return "Give a folder that begins with / or ~.";
  }
  if (text.target === "folder" && text.backend === undefined) return "Choose an agent.";
  return when.kind === "invalid" ? when.problem : undefined;
}

/** Empty fields are left out. */
export function toJobBody(text: JobText, when: When, human: string | null): JobRequest {
  const fields = {
    title: text.title.trim(),
    prompt: text.prompt.trim(),
    ...(text.target === "peer" ? { assigned_peer: text.assigned_peer } : {
      path: text.path.trim(),
      backend: text.backend ?? "",
      profile: text.profile.trim(),
    }),
    created_by: human ?? "",
    ...(when.kind === "once" && { due_at: new Date(when.at).toISOString() }),
    ...(when.kind === "recurring" && { cron: when.cron, timezone: when.timezone }),
  };
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ""));
  const checks = text.checks.split(/[\s,]+/).filter(Boolean);
  return { ...given, ...(checks.length > 0 && { checks }) };
}
