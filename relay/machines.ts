/** What is asked of one daemon: a request through the tunnel, and a bounded answer, read. */

import { tryJson } from "kit/text.ts";
import type { MachineRequest, Machines } from "./tunnel/contract.ts";

/** One daemon, named exactly: there is no other that would do (specification 4, rule 2). */
export interface At {
  readonly namespace: string;
  readonly daemon_id: string;
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
  asked: Omit<MachineRequest, "body" | "headers"> & { readonly json?: unknown },
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
