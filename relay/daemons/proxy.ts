/** A browser's request to one machine, and that machine's answer, under the relay's address. */

import { Problem } from "kit/core/problem.ts";
import { REQUEST_BYTES_MAX } from "kit/net/tunnel/frames.ts";
import { abandon } from "kit/net/tunnel/stream.ts";
import { toBrowserResponse } from "./browser_response.ts";
import type { MachineRequest, Machines, Sessions } from "./contract.ts";

/** The longest that the daemon itself holds a request before it answers, and some more. */
const ANSWER_MS_MAX = 60_000;

export interface ProxyDeps {
  readonly machines: Machines;
  readonly sessions: Sessions;
  isFromOurPage(request: Request): boolean;
  /** Ends what is under way, as the relay goes down. */
  readonly signal: AbortSignal;
}

/** Where a browser may put a machine's answer: what a page reads, shows as a picture, or saves. */
const ALLOWED_DESTINATIONS: ReadonlySet<string> = new Set([
  "empty",
  "document",
  "image",
  "video",
  "audio",
]);

/** The relay's own files go here (contract 9), so that no daemon is asked for them. */
const OWN_FILES = /^\/dashboard(?:\/|$)/;

/** Everything here needs a session and a page of ours, reading too (contract 9). */
export async function proxyToMachine(
  { machines, sessions, isFromOurPage, signal }: ProxyDeps,
  request: Request,
  daemon_id: string,
): Promise<Response> {
  if (!isFromOurPage(request)) {
    const { headers } = request;
    const origin = headers.get("origin") ?? headers.get("sec-fetch-site") ?? "none";
    throw new Problem("foreign_page", { origin });
  }
  refuseEmbedding(request);
  const namespace = sessions.namespaceOf(request);
  if (namespace === undefined) throw new Problem("not_signed_in", {});
  sessions.refuseOtherSession(request);
  if (Number(request.headers.get("content-length") ?? 0) > REQUEST_BYTES_MAX) {
    throw new Problem("body_too_large", { bytes_max: REQUEST_BYTES_MAX });
  }
  const { method, headers, body } = request;
  const path = pathWithin(request.url);
  if (OWN_FILES.test(toPlainPath(path))) {
    throw new Problem("not_found", { method, path: new URL(request.url).pathname });
  }
  const proxied: MachineRequest = {
    method,
    path,
    headers: Object.fromEntries(headers),
    ...(body && { body }),
    signal: AbortSignal.any([request.signal, signal]),
    timeout_ms: ANSWER_MS_MAX,
    origin: "browser",
  };
  const answer = await toBrowserResponse(
    daemon_id,
    await machines.request(namespace, daemon_id, proxied),
  );
  if (method !== "HEAD") return answer;
  await abandon(answer.body); // There is none to wait for, and none that could break off.
  return new Response(null, answer);
}

/** The daemon's own path, spelt as the browser spelt it. */
function pathWithin(url: string): `/${string}` {
  const { pathname, search } = new URL(url);
  return `/${pathname.replace(/^\/m\/[^/]*\/*/, "")}${search}`;
}

/** A path without its query and its percent-encoding, to be compared. */
function toPlainPath(path: string): string {
  const plain = path.split("?", 1)[0] ?? "";
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain; // It is no UTF-8, and so no path of the relay's.
  }
}

/**
 * Refuses an answer that would become a part of a page, or a service worker, which would stay and
 * answer for the relay. Browsers name the use in `Sec-Fetch-Dest`, older ones only the worker's.
 */
function refuseEmbedding({ headers }: Request): void {
  const destination = headers.has("service-worker")
    ? "serviceworker"
    : headers.get("sec-fetch-dest");
  if (destination !== null && !ALLOWED_DESTINATIONS.has(destination)) {
    throw new Problem("not_for_embedding", { used_as: destination });
  }
}
