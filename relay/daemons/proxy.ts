/** Proxies a browser's request to one machine, under the relay's origin. */

import { Problem } from "kit/core/problem.ts";
import { REQUEST_BYTES_MAX } from "kit/net/tunnel/frames.ts";
import { abandon } from "kit/net/tunnel/stream.ts";
import { toBrowserResponse } from "./browser_response.ts";
import type { MachineRequest, Machines, Sessions } from "./contract.ts";

/** Longer than the longest time that a daemon holds a request. */
const ANSWER_MS_MAX = 60_000;

export interface ProxyDeps {
  readonly machines: Machines;
  readonly sessions: Sessions;
  isFromOurPage(request: Request): boolean;
  /** Aborts open requests at shutdown. */
  readonly signal: AbortSignal;
}

/** How a browser may use a machine's response (`Sec-Fetch-Dest`): read, show or save it. */
const ALLOWED_DESTINATIONS: ReadonlySet<string> = new Set([
  "empty",
  "document",
  "image",
  "video",
  "audio",
]);

/** The relay serves these files itself (contract 9). */
const OWN_FILES = /^\/dashboard(?:\/|$)/;

/** Every request, also a `GET`, needs a session and a page of the relay (contract 9). */
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
  await abandon(answer.body); // A response to HEAD has no body.
  return new Response(null, answer);
}

/** The path at the daemon, spelt as in the request. */
function pathWithin(url: string): `/${string}` {
  const { pathname, search } = new URL(url);
  return `/${pathname.replace(/^\/m\/[^/]*\/*/, "")}${search}`;
}

/** A path without query and percent-encoding, for comparison. */
function toPlainPath(path: string): string {
  const plain = path.split("?", 1)[0] ?? "";
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain; // Invalid UTF-8, so it is no path of the relay.
  }
}

/**
 * Refuses requests whose response would become a part of a page, or a service worker, which could
 * later answer requests to the relay. Old browsers send only the `Service-Worker` header.
 */
function refuseEmbedding({ headers }: Request): void {
  const destination = headers.has("service-worker")
    ? "serviceworker"
    : headers.get("sec-fetch-dest");
  if (destination !== null && !ALLOWED_DESTINATIONS.has(destination)) {
    throw new Problem("not_for_embedding", { used_as: destination });
  }
}
