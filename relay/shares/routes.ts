/** Routes of shares: for owners with a secret or a session, and for guests with the link. */

import type * as z from "zod";
import { OK } from "kit/http/contract.ts";
import { Refusal, STREAM_HEADERS, UNCACHED_HEADERS } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import { readBody } from "kit/http/body.ts";
import { rawRoute, readBodyOf, type Route, toJsonResponse } from "kit/http/route.ts";
import { tryJson } from "kit/core/text.ts";
import type { Clock } from "kit/core/clock.ts";
import { failStalled, STALLED_MS_MAX } from "kit/net/silence.ts";
import { abandon as abandonBody } from "kit/net/tunnel/stream.ts";
import { ownerOf, type OwnerSessions } from "../sign_in/sessions.ts";
import { type AddressRateLimit, enforceRateLimit } from "../web/rate_limiter.ts";
import type { OriginPolicy } from "../web/origin_policy.ts";
import { ANSWER_MS_MAX, DaemonClient, DaemonError } from "../daemons/daemon_client.ts";
import { SANDBOX, seeOther } from "../web/page.ts";
import { isUnreachable, type Machines } from "protocol/relay/daemons.ts";
import * as contracts from "protocol/relay/shares.ts";
import type { Shares, StoredShare } from "./shares.ts";
import { endOnAbort, filterEvents } from "./guest_stream.ts";
import { shareEndedPage, tooManyRequestsPage, type View, viewerPage } from "./viewer_page.ts";

const FORM = "application/x-www-form-urlencoded";
/** Body limits. In JSON, each character of a guest's text may be escaped with six characters. */
const SHARE_BYTES_MAX = 16_384;
const ASK_BYTES_MAX = 6 * contracts.GUEST_TEXT_BYTES_MAX + 1024;

export interface ShareDeps {
  readonly clock: Clock;
  readonly originPolicy: OriginPolicy;
  readonly machines: Machines;
  readonly shares: Shares;
  /** The sessions of signed-in owners. */
  readonly sessions: OwnerSessions;
  readonly limits: {
    /** Limits the asks of one share. `acquire` returns the seconds to wait, or undefined. */
    readonly guestAsks: { acquire(share_id: string): number | undefined };
    /** Limits how often one address may visit shares and create them. */
    readonly shareVisits: AddressRateLimit;
    readonly shareCreations: AddressRateLimit;
  };
}

export function shareRoutes(deps: ShareDeps): Route[] {
  const { sessions, shares } = deps;
  return [
    rawRoute(contracts.createShare, async (request, { remote }) => {
      const namespace = ownerOf(sessions, request);
      enforceRateLimit(deps.limits.shareCreations, request, remote);
      const input = await bodyOf(contracts.createShare.body, request, SHARE_BYTES_MAX);
      const { daemon_id, peer_id } = input;
      const daemon = daemonOf(deps, { namespace, daemon_id, asker: "relay" }, request);
      const { display_name } = await daemon.mustBeAgent(peer_id);
      const share = shares.create(namespace, { ...input, display_name });
      return toJsonResponse(contracts.createShare, toShare(deps, share, request));
    }),
    rawRoute(contracts.listShares, (request) => {
      const stored = shares.list(ownerOf(sessions, request));
      const publicFields = stored.map((share) => toShare(deps, share, request));
      return toJsonResponse(contracts.listShares, { shares: publicFields });
    }),
    rawRoute(contracts.revokeShare, (request, _, { id = "" }) => {
      shares.revoke(ownerOf(sessions, request), id);
      return toJsonResponse(contracts.revokeShare, OK);
    }),
    ...guestRoutes(deps),
  ].map(withDaemonErrors);
}

function guestRoutes(deps: ShareDeps): Route[] {
  const { shares } = deps;
  return [
    rawRoute(contracts.viewShare, async (request, { remote }, { id = "" }) => {
      const seconds = deps.limits.shareVisits.take(request, remote);
      if (seconds !== undefined) return tooManyRequestsPage(seconds);
      try {
        return viewerPage(await loadView(deps, shares.mustGet(id), request));
      } catch (thrown) {
        if (thrown instanceof Refusal && thrown.code === "unknown_share") return shareEndedPage();
        throw thrown;
      }
    }),
    rawRoute(contracts.streamShare, (request, { remote }, { id = "" }) => {
      enforceRateLimit(deps.limits.shareVisits, request, remote);
      return stream(deps, id, request);
    }),
    rawRoute(contracts.askShared, async (request, _, { id = "" }) => {
      deps.originPolicy.refuseForeign(request);
      const share = shares.mustGet(id);
      if (share.permissions !== "rw") throw new Problem("share_read_only", {});
      const retry_after_seconds = deps.limits.guestAsks.acquire(id);
      if (retry_after_seconds !== undefined) {
        throw new Problem("too_many_requests", { retry_after_seconds });
      }
      const { text } = await bodyOf(contracts.askShared.body, request, ASK_BYTES_MAX);
      const { correlation_id } = await daemonOf(deps, share, request).ask(share.peer_id, text);
      if (isForm(request)) {
        return seeOther(`/s/${id}?request=${encodeURIComponent(correlation_id)}`);
      }
      return toJsonResponse(contracts.askShared, { request_id: correlation_id, status: "pending" });
    }),
  ];
}

/** Loads the peer and the state of the question. Each is undefined if it cannot be loaded. */
async function loadView(deps: ShareDeps, share: StoredShare, request: Request): Promise<View> {
  const daemon = daemonOf(deps, share, request);
  const request_id = new URL(request.url).searchParams.get("request");
  const [peer, question] = await Promise.all([
    orUndefined(daemon.mustBePeer(share.peer_id)),
    request_id === null ? undefined : orUndefined(daemon.wait(request_id, 0)),
  ]);
  return { share, peer, question };
}

/** The daemon's response. Undefined if the daemon is offline or refuses. */
async function orUndefined<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (thrown) {
    if (isUnreachable(thrown) || thrown instanceof DaemonError || thrown instanceof Refusal) {
      return undefined;
    }
    throw thrown;
  }
}

/** The daemon's events, filtered. The stream ends with the share or when the guest leaves. */
async function stream(deps: ShareDeps, id: string, request: Request): Promise<Response> {
  const { shares, machines } = deps;
  const { namespace, daemon_id, peer_id } = shares.mustGet(id);
  const viewer = shares.openViewer(id);
  const stop = AbortSignal.any([viewer.signal, request.signal]);
  const abandon = () => viewer[Symbol.dispose]();
  stop.addEventListener("abort", abandon, { once: true });
  try {
    const query = new URL(request.url).searchParams;
    const since = request.headers.get("last-event-id") ?? query.get("since");
    const upstream = await machines.request(namespace, daemon_id, {
      method: "GET",
      path: "/events/stream",
      headers: since !== null && /^\d{1,15}$/.test(since) ? { "last-event-id": since } : {},
      signal: stop,
      timeout_ms: ANSWER_MS_MAX,
    });
    if (!upstream.ok || !upstream.body) {
      await abandonBody(upstream.body);
      throw new Problem("bad_daemon_answer", { daemon_id });
    }
    const body = upstream.body.pipeThrough(filterEvents(peer_id, query.has("alive")));
    const taken = failStalled(deps.clock, STALLED_MS_MAX, endOnAbort(stop, body, abandon));
    const policies = { "content-security-policy": SANDBOX, "referrer-policy": "same-origin" };
    return new Response(taken, { headers: { ...STREAM_HEADERS, ...policies } });
  } catch (thrown) {
    abandon();
    throw thrown;
  }
}

function daemonOf(
  { machines }: ShareDeps,
  { namespace, daemon_id, asker }: Pick<StoredShare, "namespace" | "daemon_id" | "asker">,
  { signal }: Request,
): DaemonClient {
  return new DaemonClient({ machines, namespace, daemon_id, asker, signal });
}

function toShare({ originPolicy, shares }: ShareDeps, stored: StoredShare, request: Request) {
  const { namespace: _, asker: _asker, limit: _limit, ...publicFields } = stored;
  const url = `${originPolicy.originOf(request)}/s/${stored.share_id}`;
  return { ...publicFields, url, viewers: shares.viewersOf(stored.share_id) };
}

function isForm({ headers }: Request): boolean {
  return headers.get("content-type")?.startsWith(FORM) ?? false;
}

/** Reads and validates a body, which is JSON or a form. */
async function bodyOf<S extends z.ZodType>(
  schema: S,
  request: Request,
  bytes_max: number,
): Promise<z.output<S>> {
  const text = await readBody(request, bytes_max);
  const input = isForm(request) ? Object.fromEntries(new URLSearchParams(text)) : tryJson(text);
  if (input === undefined) throw new Problem("bad_json", { reason: "it is malformed" });
  return readBodyOf(schema, input);
}

/** Wraps a route, so that a daemon's refusal is passed on with its code, detail and status. */
function withDaemonErrors(route: Route): Route {
  return {
    ...route,
    async run(request, caller, guard) {
      try {
        return await route.run(request, caller, guard);
      } catch (thrown) {
        if (!(thrown instanceof DaemonError)) throw thrown;
        const { code: error, detail, status } = thrown;
        return Response.json({ error, detail }, { status, headers: UNCACHED_HEADERS });
      }
    },
  };
}
