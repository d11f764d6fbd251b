/** A browser's request to one machine, and that machine's answer, under the relay's address. */

import { Problem } from "kit/problem.ts";
import { REQUEST_BYTES_MAX } from "kit/tunnel/frames.ts";
import { leave } from "kit/tunnel/stream.ts";
import type { MachineRequest, Machines, Sessions } from "./contract.ts";

/** The longest that the daemon itself holds a request before it answers, and some more. */
const ANSWER_MS_MAX = 60_000;

export interface ThroughNeeds {
  readonly machines: Machines;
  readonly sessions: Sessions;
  isFromOurPage(request: Request): boolean;
  /** Ends what is under way, as the relay goes down. */
  readonly signal: AbortSignal;
}

/**
 * What a daemon sends is shown under our own origin, where a session's cookie lies. So whatever is
 * no page with a policy of its own may run nothing there, and be framed by nobody.
 */
const SANDBOX = "default-src 'none'; sandbox; frame-ancestors 'none'";

/** Everything here needs a session and a page of ours, reading too (contract 9). */
export async function throughTo(
  { machines, sessions, isFromOurPage, signal }: ThroughNeeds,
  request: Request,
  daemon_id: string,
): Promise<Response> {
  if (!isFromOurPage(request)) {
    const { headers } = request;
    const origin = headers.get("origin") ?? headers.get("sec-fetch-site") ?? "none";
    throw new Problem("foreign_page", { origin });
  }
  const namespace = sessions.namespaceOf(request);
  if (namespace === undefined) throw new Problem("not_signed_in", {});
  if (Number(request.headers.get("content-length") ?? 0) > REQUEST_BYTES_MAX) {
    throw new Problem("body_too_large", { bytes_max: REQUEST_BYTES_MAX });
  }
  const { method, headers, body } = request;
  const asked: MachineRequest = {
    method,
    path: pathWithin(request.url),
    headers: Object.fromEntries(headers),
    ...(body && { body }),
    signal: AbortSignal.any([request.signal, signal]),
    timeout_ms: ANSWER_MS_MAX,
    door: "browser",
  };
  const answer = guarded(await machines.request(namespace, daemon_id, asked));
  if (method !== "HEAD") return answer;
  await leave(answer.body); // There is none to wait for, and none that could break off.
  return new Response(null, answer);
}

/** The daemon's own path, spelt as the browser spelt it. */
function pathWithin(url: string): `/${string}` {
  const { pathname, search } = new URL(url);
  return `/${pathname.replace(/^\/m\/[^/]*\/*/, "")}${search}`;
}

function guarded({ status, headers: said, body }: Response): Response {
  const headers = new Headers(said);
  if (!headers.has("content-security-policy")) headers.set("content-security-policy", SANDBOX);
  if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
  headers.set("x-content-type-options", "nosniff");
  return new Response(body, { status, headers });
}
