/** Routes of asks, structured questions and asks to many. */

import * as z from "zod";
import { ANONYMOUS_SENDER } from "kit/core/schema.ts";
import { OK } from "kit/http/contract.ts";
import { type Caller, type Route, route } from "kit/http/route.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import type { Delivery } from "../messages/delivery.ts";
import { type CallerChecks, senderOf } from "../messages/request_context.ts";
import type { Directory } from "../peers/directory.ts";
import type { Asks } from "./asks.ts";
import { foldAskKeys } from "protocol/asks/body_keys.ts";
import * as contracts from "protocol/asks/contract.ts";
import type { Ask } from "protocol/asks/contract.ts";
import { askMany, getMany } from "protocol/asks/many.ts";
import type { MultiAsks } from "./multi_asks.ts";
import { answerAsk, askBlocking, queryPeer } from "protocol/asks/questions.ts";
import type { Questions } from "./questions/questions.ts";
import type { Routing } from "protocol/asks/routing.ts";
import type { Wake } from "protocol/peers/record.ts";
import type { Proof } from "protocol/proofs/contract.ts";
import type { Router, UnnamedAsk } from "./routing/router.ts";

const PAGE_ROWS = 100;

/** `POST /ask` with a routing strategy: the same contract, with `to_peer` optional. */
const routedAsk = {
  ...contracts.openAsk,
  body: z.preprocess(foldAskKeys, contracts.openAsk.body.out.partial({ to_peer: true })),
} as const;

/** The sleep of a recipient, and the reason for which an ask waits. Empty if it is not known. */
interface Sleep {
  readonly wake?: Wake | undefined;
  readonly reason?: string | null;
}

interface AskRoutesDeps {
  readonly asks: Asks;
  readonly delivery: Delivery;
  readonly directory: Directory;
  readonly multiAsks: MultiAsks;
  readonly questions: Questions;
  /** Chooses the recipient of an ask without one; undefined if `routing.strategy` is `static`. */
  readonly router: Router | undefined;
  readonly wakes: {
    /**
     * Waits until an ask to an offline peer is stored, and until it is decided how it goes on.
     * Rejects only if it could not be stored.
     */
    settled(message: Pick<StoredMessage, "to_peer_id" | "delivery_id">): Promise<Sleep>;
  };
  readonly proofs: {
    /** The check of an ask's answer; undefined if nothing is checked. */
    viewOf(correlation_id: string, how: { readonly brief: boolean }): Proof | undefined;
    /** Throws `prove_from_relay` for a caller whose requests start no checks. */
    mustMayProve(via: Caller["via"]): void;
  };
}

function openRoute(deps: AskRoutesDeps, { requestContextOf }: CallerChecks): Route {
  const { asks, delivery, directory, proofs, router, wakes } = deps;
  const replay = {
    sender: senderOf(directory),
    /** A repeated request gets the first ids and the current state of the delivery. */
    again: <A extends z.output<typeof contracts.openAsk.returns>>(before: A): A => {
      const now = delivery.findMessage(before.correlation_id ?? "");
      return now ? { ...before, delivery_state: now.state, reason: now.reason } : before;
    },
  };
  if (!router) {
    return route(contracts.openAsk, ({ body, caller, headers, commit }) => {
      if (body.prove) proofs.mustMayProve(caller.via);
      const open = () => asks.open(body, requestContextOf(caller, headers));
      return body.dry_run ? toOpened(open()) : openAndSettle(open, { commit, wakes });
    }, replay);
  }
  return route(routedAsk, async ({ body, caller, headers, signal, commit }) => {
    if (body.prove) proofs.mustMayProve(caller.via);
    const requestContext = requestContextOf(caller, headers);
    // An ask with `to_peer` is never rerouted (specification 7, rule 5).
    const open = isNamed(body)
      ? () => asks.open(body, requestContext)
      : await router.find(body, requestContext, signal);
    return body.dry_run ? toOpened(open()) : openAndSettle(open, { commit, wakes });
  }, replay);
}

type Opened = ReturnType<Asks["open"]> & { readonly routing?: Routing };
type OpenedAnswer = z.output<typeof contracts.openAsk.returns>;
type OpenedResult = () => OpenedAnswer;

/** Opens an ask. The answer about an agent that is offline says whether it is being woken. */
function openAndSettle(
  open: () => Opened,
  { commit, wakes }: Pick<AskRoutesDeps, "wakes"> & {
    readonly commit: (work: () => OpenedResult) => OpenedAnswer | OpenedResult;
  },
) {
  let asleep: StoredMessage | undefined;
  let sleep: Sleep = {};
  const opened = commit(() => {
    const result = open();
    const { ticket, to } = result;
    const isAsleep = ticket?.state === "queued" && to.status === "offline" && to.daemon_id === null;
    if (isAsleep) asleep = ticket.message;
    return toOpened(result, () => sleep);
  });
  if (!asleep) return opened;
  return wakes.settled(asleep).then((found) => {
    sleep = found;
    return opened;
  });
}

/** The response to `POST /ask`, made after the commit with the delivery state of that time. */
function toOpened(
  { ticket, to, inbox, routing }: Opened,
  sleepOf: () => Sleep = () => ({}),
): OpenedResult {
  const id = ticket?.message.correlation_id ?? null;
  return () => ({
    correlation_id: id,
    trace_id: id,
    to_peer_id: to.peer_id,
    to_peer_name: to.name,
    delivery_state: ticket?.state ?? null,
    reason: ticket?.message.reason ?? null,
    ...sleepOf(),
    ...(inbox && { inbox }),
    ...(routing && { routing }),
  });
}

function isNamed(body: UnnamedAsk & { to_peer?: string | undefined }): body is contracts.OpenAsk {
  return body.to_peer !== undefined;
}

export function askRoutes(deps: AskRoutesDeps, checks: CallerChecks): Route[] {
  const { asks, proofs, questions } = deps;
  const { requestContextOf, isHumanAnswer } = checks;
  return [
    openRoute(deps, checks),
    ...recordRoutes(deps, checks),
    route(contracts.ackAsk, ({ body, caller, headers }) => {
      questions.mustBeHuman(body.correlation_id, () => isHumanAnswer(caller, headers));
      if (body.claims?.length) proofs.mustMayProve(caller.via);
      const close_reason = asks.ack(body, requestContextOf(caller, headers));
      return { ...OK, close_reason, ...(close_reason === null && { proof: "proving" as const }) };
    }),
    route(contracts.declineAsk, ({ body, caller, headers }) => {
      return { ...OK, close_reason: asks.decline(body, requestContextOf(caller, headers)) };
    }),
    route(contracts.cancelAsk, ({ params, body, caller, headers }) => {
      const { peer_id: asker, reason } = body;
      const requestContext = requestContextOf(caller, headers);
      return { ...OK, close_reason: asks.cancel(params.id, { asker, reason }, requestContext) };
    }),
    ...questionRoutes(deps, checks),
  ];
}

/** Routes that read asks, or wait for their ends. */
function recordRoutes(
  { asks, directory, proofs }: AskRoutesDeps,
  { whileConnected }: CallerChecks,
): Route[] {
  const withProof = <R extends { readonly correlation_id: string }>(found: R, brief = false) => {
    const proof = proofs.viewOf(found.correlation_id, { brief });
    return proof ? { ...found, proof } : found;
  };
  const inList = (found: readonly Ask[]) => found.map((ask) => withProof(ask, true));
  /** A peer by name, or by the id of any peer ever known, because messages outlive peers. */
  const findEverKnown = (argument: string) =>
    directory.address(argument) ?? directory.resolveAnywhere(argument);
  return [
    route(contracts.listAsks, async ({ query }) => {
      const page = await asks.page({
        state: query.state ?? null,
        peer_id: query.peer_id === undefined ? null : findEverKnown(query.peer_id).peer_id,
        before: query.cursor ?? Number.MAX_SAFE_INTEGER,
        limit: query.limit ?? PAGE_ROWS,
      });
      return { ...page, asks: inList(page.asks) };
    }),
    route(contracts.pendingAsks, ({ query }) => {
      const { pane_id, peer_id, tmux_socket, direction } = query;
      const peer = pane_id
        ? directory.findByPane(pane_id, tmux_socket)
        : directory.findSender(peer_id ?? ANONYMOUS_SENDER) ??
          { peer_id: null, name: peer_id ?? ANONYMOUS_SENDER };
      return { asks: inList(asks.pending(peer, direction)) };
    }),
    route(contracts.askHistory, async ({ query }) => {
      const { pane_id, tmux_socket, since } = query;
      const peer = pane_id
        ? directory.findByPane(pane_id, tmux_socket)
        : findEverKnown(query.peer_id ?? "");
      const { peer_id, mesh_session_id } = peer;
      return { threads: await asks.history(peer_id, since), mesh_session_id };
    }),
    route(contracts.getAsk, ({ params }) => withProof(asks.mustGet(params.id))),
    route(contracts.waitAsk, async ({ params, body, caller, signal }) => {
      const wait = { correlation_id: params.id, asker: body.peer_id };
      const ms_max = body.timeout_seconds * 1000;
      const found = await whileConnected(
        caller,
        signal,
        (signal) => asks.wait({ ...wait, ms_max, signal }),
      );
      return found.status === "resolved" ? withProof(found) : found;
    }),
  ];
}

function questionRoutes(
  { directory, multiAsks, proofs, questions }: AskRoutesDeps,
  { requestContextOf, isHumanAnswer, whileConnected }: CallerChecks,
): Route[] {
  return [
    route(answerAsk, ({ body, caller, headers }) => {
      questions.mustBeHuman(body.correlation_id, () => isHumanAnswer(caller, headers));
      return { ...OK, ...questions.answer(body, requestContextOf(caller, headers)) };
    }),
    route(
      askBlocking,
      ({ body, caller, headers, signal }) =>
        whileConnected(
          caller,
          signal,
          (signal) => questions.askBlocking(body, { ...requestContextOf(caller, headers), signal }),
        ),
    ),
    route(
      queryPeer,
      ({ body, caller, headers, signal }) =>
        whileConnected(
          caller,
          signal,
          (signal) => questions.query(body, { ...requestContextOf(caller, headers), signal }),
        ),
    ),
    route(
      askMany,
      ({ body, caller, headers, commit }) => {
        if (body.prove) proofs.mustMayProve(caller.via);
        return commit(() => multiAsks.ask(body, requestContextOf(caller, headers)));
      },
      { sender: senderOf(directory), again: (before) => before },
    ),
    route(getMany, ({ params }) => multiAsks.result(params.parent_id)),
  ];
}
