/** The machines of a namespace, and what is asked of them: a request, a bounded answer, read. */

import { Problem } from "kit/problem.ts";
import { tryJson } from "kit/text.ts";

export interface Machine {
  readonly daemon_id: string;
  /** What the machine calls itself. */
  readonly machine: string;
  readonly connected_at: number;
}

export interface DaemonRequest {
  readonly method: string;
  /** With its query. */
  readonly path: `/${string}`;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  readonly timeout_ms: number;
}

/** The tunnel, as the rooms that ask daemons need it. It refuses with an `Unreachable`. */
export interface Machines {
  list(namespace: string): readonly Machine[];
  request(namespace: string, daemon_id: string, request: DaemonRequest): Promise<Response>;
}

/** One daemon, named exactly: there is no other that would do (specification 4, rule 2). */
export interface At {
  readonly namespace: string;
  readonly daemon_id: string;
}

/** Why no answer came; `fields.may_have_been_delivered` is false only where that is proved. */
const UNREACHABLE = ["unknown_machine", "machine_offline", "timed_out"] as const;
export type Unreachable = Problem<(typeof UNREACHABLE)[number]>;

export function isUnreachable(fault: unknown): fault is Unreachable {
  return fault instanceof Problem && UNREACHABLE.some((code) => code === fault.code);
}

/** An answer that was read. */
export interface Answer {
  readonly status: number;
  /** Undefined for what is no JSON, or more than may be held. */
  readonly json: unknown;
}

/** What one answer may take of our memory: a list of some thousand peers, or of asks. */
export const ANSWER_BYTES_MAX = 8_388_608;

/** Asks a daemon for JSON. */
export async function askDaemon(
  machines: Machines,
  { namespace, daemon_id }: At,
  asked: Omit<DaemonRequest, "body" | "headers"> & { readonly json?: unknown },
): Promise<Answer> {
  const { json, ...request } = asked;
  const response = await machines.request(namespace, daemon_id, {
    ...request,
    ...(json !== undefined && {
      headers: { "content-type": "application/json" },
      body: JSON.stringify(json),
    }),
  });
  const text = await readAtMost(response, ANSWER_BYTES_MAX);
  return { status: response.status, json: text === undefined ? undefined : tryJson(text) };
}

async function readAtMost(response: Response, bytes_max: number): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = "", bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > bytes_max) return undefined; // Leaving the loop cancels the rest.
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
