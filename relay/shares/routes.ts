/** Shares: what their owner may do by secret or session, and what a guest may do by the link. */

import * as z from "zod";
import { type Contract, OK } from "kit/http/contract.ts";
import { invalidRequest, Problem } from "kit/core/problem.ts";
import { rawRoute, readBody, type Route } from "kit/http/route.ts";
import { tryJson } from "kit/core/text.ts";
import { leave as leaveUnread } from "kit/net/tunnel/stream.ts";
import type { Address } from "../web/issuer.ts";
import { ANSWER_MS_MAX, Daemon, Refused } from "../daemons/daemon.ts";
import { SANDBOX, seeOther } from "../web/page.ts";
import { bearerNamespace } from "../web/secrets.ts";
import { isUnreachable, type Machines } from "../daemons/contract.ts";
import * as contracts from "./contract.ts";
import type { Held, Shares } from "./shares.ts";
import { endedBy, only } from "./stream.ts";
import { overPage, tooOftenPage, type View, viewerPage } from "./viewer.ts";

const FORM = "application/x-www-form-urlencoded";
/** Ids and a number; JSON may write each letter of a guest's text with six. */
const SHARE_BYTES_MAX = 16_384;
const ASK_BYTES_MAX = 6 * contracts.GUEST_TEXT_BYTES_MAX + 1024;

interface Pace {
  /** Counts this request; the seconds to wait where it is one too many. */
  take(request: Request, remote: Deno.NetAddr | undefined): number | undefined;
}

export interface ShareNeeds {
  readonly address: Address;
  readonly machines: Machines;
  readonly shares: Shares;
  /** Whoever is signed in, and what a request of theirs must prove. */
  readonly sessions: {
    namespaceOf(request: Request): string | undefined;
    refuseForged(request: Request): void;
    refuseOtherSession(request: Request): void;
  };
  /** How often guests of one share may ask: the seconds to wait where it is too often. */
  readonly pace: { pass(share_id: string): number | undefined };
  /** How often one address may look at shares, and make them. */
  readonly visits: Pace;
  readonly sharing: Pace;
}

export function shareRoutes(needs: ShareNeeds): Route[] {
  const { shares } = needs;
  return [
    rawRoute(contracts.createShare, async (request, { remote }) => {
      const namespace = ownerOf(needs, request);
      refuseHasty(needs.sharing, request, remote);
      const given = await bodyOf(contracts.createShare.body, request, SHARE_BYTES_MAX);
      const { daemon_id, peer_id } = given;
      const daemon = daemonOf(needs, { namespace, daemon_id, asker: "relay" }, request);
      const { display_name } = await daemon.mustBeAgent(peer_id);
      const share = shares.create(namespace, { ...given, display_name });
      return json(contracts.createShare, toShare(needs, share, request));
    }),
    rawRoute(contracts.listShares, (request) => {
      const held = shares.list(ownerOf(needs, request));
      const told = held.map((share) => toShare(needs, share, request));
      return json(contracts.listShares, { shares: told });
    }),
    rawRoute(contracts.revokeShare, (request, _, { id = "" }) => {
      shares.revoke(ownerOf(needs, request), id);
      return json(contracts.revokeShare, OK);
    }),
    ...guestRoutes(needs),
  ].map(tellRefusals);
}

function guestRoutes(needs: ShareNeeds): Route[] {
  const { shares } = needs;
  return [
    rawRoute(contracts.viewShare, async (request, { remote }, { id = "" }) => {
      const seconds = needs.visits.take(request, remote);
      if (seconds !== undefined) return tooOftenPage(seconds);
      try {
        return viewerPage(await look(needs, shares.mustGet(id), request));
      } catch (fault) {
        if (fault instanceof Problem && fault.code === "unknown_share") return overPage();
        throw fault;
      }
    }),
    rawRoute(contracts.streamShare, (request, { remote }, { id = "" }) => {
      refuseHasty(needs.visits, request, remote);
      return stream(needs, id, request);
    }),
    rawRoute(contracts.askShared, async (request, _, { id = "" }) => {
      needs.address.refuseForeign(request);
      const share = shares.mustGet(id);
      if (share.permissions !== "rw") throw new Problem("share_read_only", {});
      const retry_after_seconds = needs.pace.pass(id);
      if (retry_after_seconds !== undefined) {
        throw new Problem("too_many_requests", { retry_after_seconds });
      }
      const { text } = await bodyOf(contracts.askShared.body, request, ASK_BYTES_MAX);
      const { correlation_id } = await daemonOf(needs, share, request).ask(share.peer_id, text);
      if (isForm(request)) {
        return seeOther(`/s/${id}?request=${encodeURIComponent(correlation_id)}`);
      }
      return json(contracts.askShared, { request_id: correlation_id, status: "pending" });
    }),
  ];
}

function refuseHasty(pace: Pace, request: Request, remote: Deno.NetAddr | undefined): void {
  const retry_after_seconds = pace.take(request, remote);
  if (retry_after_seconds === undefined) return;
  throw new Problem("too_many_requests", { retry_after_seconds });
}

/** The peer as it is now, and what became of a question; a machine that is away hides neither. */
async function look(needs: ShareNeeds, share: Held, request: Request): Promise<View> {
  const daemon = daemonOf(needs, share, request);
  const request_id = new URL(request.url).searchParams.get("request");
  const [peer, asked] = await Promise.all([
    known(daemon.mustBePeer(share.peer_id)),
    request_id === null ? undefined : known(daemon.wait(request_id, 0)),
  ]);
  return { share, peer, asked };
}

/** What a daemon knows; undefined where it is away, or knows nothing of it any more. */
async function known<T>(asking: Promise<T>): Promise<T | undefined> {
  try {
    return await asking;
  } catch (fault) {
    if (isUnreachable(fault) || fault instanceof Refused || fault instanceof Problem) {
      return undefined;
    }
    throw fault;
  }
}

/** The daemon's own stream, through a sieve; it ends with the share, and as the guest leaves. */
async function stream(needs: ShareNeeds, id: string, request: Request): Promise<Response> {
  const { shares, machines } = needs;
  const { namespace, daemon_id, peer_id } = shares.mustGet(id);
  const viewer = shares.watch(id);
  const over = AbortSignal.any([viewer.signal, request.signal]);
  const leave = () => viewer[Symbol.dispose]();
  over.addEventListener("abort", leave, { once: true });
  try {
    const since = request.headers.get("last-event-id");
    const heard = await machines.request(namespace, daemon_id, {
      method: "GET",
      path: "/events/stream",
      headers: since !== null && /^\d{1,15}$/.test(since) ? { "last-event-id": since } : {},
      signal: over,
      timeout_ms: ANSWER_MS_MAX,
    });
    if (!heard.ok || !heard.body) {
      await leaveUnread(heard.body);
      throw new Problem("bad_daemon_answer", { daemon_id });
    }
    const body = heard.body.pipeThrough(only(peer_id));
    return new Response(endedBy(over, body, leave), {
      headers: {
        "content-type": "text/event-stream",
        "content-security-policy": SANDBOX,
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",
      },
    });
  } catch (fault) {
    leave();
    throw fault;
  }
}

/** Whoever holds the secret, or is signed in with it and sends this from our own page. */
function ownerOf({ sessions }: ShareNeeds, request: Request): string {
  const bearer = bearerNamespace(request);
  if (bearer !== undefined) return bearer;
  const signed_in = request.headers.has("authorization")
    ? undefined
    : sessions.namespaceOf(request);
  if (signed_in === undefined) throw new Problem("no_relay_secret", {});
  if (request.method === "GET") sessions.refuseOtherSession(request);
  else sessions.refuseForged(request);
  return signed_in;
}

function daemonOf(
  { machines }: ShareNeeds,
  { namespace, daemon_id, asker }: Pick<Held, "namespace" | "daemon_id" | "asker">,
  { signal }: Request,
): Daemon {
  return new Daemon({ machines, namespace, daemon_id, asker, signal });
}

function toShare({ address, shares }: ShareNeeds, held: Held, request: Request) {
  const { namespace: _, asker: _asker, ...told } = held;
  const url = `${address.originOf(request)}/s/${held.share_id}`;
  return { ...told, url, viewers: shares.viewersOf(held.share_id) };
}

function isForm({ headers }: Request): boolean {
  return headers.get("content-type")?.startsWith(FORM) ?? false;
}

/** JSON, or the fields of a form. */
async function bodyOf<S extends z.ZodType>(
  schema: S,
  request: Request,
  bytes_max: number,
): Promise<z.output<S>> {
  const text = await readBody(request, bytes_max);
  const given = isForm(request) ? Object.fromEntries(new URLSearchParams(text)) : tryJson(text);
  if (given === undefined) throw new Problem("bad_json", { reason: "it cannot be read" });
  const read = schema.safeParse(given);
  if (!read.success) throw invalidRequest(read.error);
  return read.data;
}

function json<C extends Contract>(contract: C, answer: z.output<C["returns"]>): Response {
  return Response.json(z.encode(contract.returns, answer), {
    headers: { "cache-control": "no-store", "x-content-type-options": "nosniff" },
  });
}

/** What a daemon refuses is told as it was said: it is the owner's, or about the owner's guest. */
function tellRefusals(route: Route): Route {
  return {
    ...route,
    async run(context, caller, door) {
      try {
        return await route.run(context, caller, door);
      } catch (fault) {
        if (!(fault instanceof Refused)) throw fault;
        const { code: error, detail, status } = fault;
        return Response.json({ error, detail }, {
          status,
          headers: { "cache-control": "no-store", "x-content-type-options": "nosniff" },
        });
      }
    },
  };
}
