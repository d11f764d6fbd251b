/** Proxies a browser's request to one machine, under the relay's origin. */

import type { Clock } from "kit/core/clock.ts";
import { failStalled, STALLED_MS_MAX } from "kit/net/silence.ts";
import { Problem } from "protocol/problems.ts";
import { REQUEST_BYTES_MAX } from "kit/net/tunnel/frames.ts";
import { abandon } from "kit/net/tunnel/stream.ts";
import type { OriginPolicy } from "../web/origin_policy.ts";
import { toBrowserResponse } from "./browser_response.ts";
import {
  findMachine,
  type MachineRequest,
  type Machines,
  type PairedBrowsers,
  type Sessions,
} from "protocol/relay/daemons.ts";

/** Time limit of a machine's response. A daemon holds no request for longer than this. */
export const ANSWER_MS_MAX = 60_000;

export interface ProxyDeps {
  readonly clock: Clock;
  readonly machines: Machines;
  readonly sessions: Sessions;
  readonly devices: PairedBrowsers;
  readonly originPolicy: OriginPolicy;
  /** Aborts at shutdown and ends open requests. */
  readonly signal: AbortSignal;
}

/** Allowed uses of a machine's response in a browser (`Sec-Fetch-Dest`): read, show or save. */
const ALLOWED_DESTINATIONS: ReadonlySet<string> = new Set([
  "empty",
  "document",
  "image",
  "video",
  "audio",
]);

/** Paths of the dashboard's files. The relay serves its own copies (contract 9). */
const OWN_FILES = /^\/dashboard(?:\/|$)/;

/** Every request, even a `GET`, needs a session and must come from a relay page (contract 9). */
export async function proxyToMachine(
  deps: ProxyDeps,
  request: Request,
  daemon_id: string,
): Promise<Response> {
  const { clock, machines, originPolicy, signal } = deps;
  originPolicy.mustBeFromOurPage(request);
  refuseEmbedding(request);
  const { namespace, ...access } = accessOf(deps, request, daemon_id);
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
    ...access,
  };
  const given = await machines.request(namespace, daemon_id, proxied);
  const answer = failIfStalled(clock, await toBrowserResponse(daemon_id, given, request));
  if (method !== "HEAD") return answer;
  await abandon(answer.body); // A response to HEAD has no body.
  return new Response(null, answer);
}

/**
 * The namespace that a browser may reach, and as whom: signed in, or paired with this machine. A
 * form token decides between the two; without one, such as for a stream, the sign-in counts if the
 * machine is one of its machines.
 */
function accessOf({ sessions, devices, machines }: ProxyDeps, request: Request, daemon_id: string) {
  const device = devices.get(request, daemon_id);
  const namespace = sessions.namespaceOf(request);
  const hasToken = request.headers.has("x-mesh-form-token");
  const isSignedInHere = namespace !== undefined && findMachine(machines, namespace, daemon_id);
  const isDevice = device && (hasToken ? devices.isFormOf(request, device) : !isSignedInHere);
  if (!isDevice) {
    if (namespace === undefined) throw new Problem("not_signed_in", {});
    sessions.refuseOtherSession(request);
    return { namespace, origin: "browser" as const };
  }
  if (!knowsDevices(machines, device.namespace, daemon_id)) {
    throw new Problem("device_not_paired", {});
  }
  return { namespace: device.namespace, origin: "program" as const, device: device.token };
}

/** False for a connected daemon of an earlier version, which would not check the token. */
function knowsDevices(machines: Machines, namespace: string, daemon_id: string): boolean {
  const machine = findMachine(machines, namespace, daemon_id);
  return machine === undefined || machine.capabilities["paired_devices"] === true;
}

/** Limits only event streams, which always have something to read. A download may be paused. */
function failIfStalled(clock: Clock, answer: Response): Response {
  const { body, headers } = answer;
  if (!body || headers.get("content-type") !== "text/event-stream") return answer;
  return new Response(failStalled(clock, STALLED_MS_MAX, body), answer);
}

/** The path to request from the daemon, percent-encoded as in the browser's request. */
function pathWithin(url: string): `/${string}` {
  const { pathname, search } = new URL(url);
  return `/${pathname.replace(/^\/m\/[^/]*\/*/, "")}${search}`;
}

/** The path without query and percent-encoding, for comparisons. */
function toPlainPath(path: string): string {
  const plain = path.split("?", 1)[0] ?? "";
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain; // The path is invalid UTF-8, so it is not a path of the relay.
  }
}

/**
 * Refuses requests whose response would become part of a page, such as a script, or a service
 * worker. A service worker could later answer requests to the relay. Old browsers announce one with
 * the `Service-Worker` header only.
 */
function refuseEmbedding({ headers }: Request): void {
  const destination = headers.has("service-worker")
    ? "serviceworker"
    : headers.get("sec-fetch-dest");
  if (destination !== null && !ALLOWED_DESTINATIONS.has(destination)) {
    throw new Problem("not_for_embedding", { used_as: destination });
  }
}
