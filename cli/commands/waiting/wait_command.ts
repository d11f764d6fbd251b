/** `mesh wait`: blocks a script until a peer, a job or an ask is in a state. */

import type { WireResponse } from "kit/http/client.ts";
import { getAsk, getJob, getPeer } from "protocol/generated/endpoints.ts";
import { watchEvents } from "../../client/event_stream.ts";
import { isUnreachable } from "../../client/daemon_client.ts";
import { EXIT, unlessRejected, UsageError } from "../../client/failures.ts";
import {
  answerCommand,
  type Args,
  CIRCLE_FLAG,
  type Command,
  type CommandContext,
  interruptible,
} from "../../command/command.ts";
import { styled } from "../../output/terminal.ts";
import { TERMINAL_STATES } from "protocol/jobs/contract.ts";
import {
  activityOf,
  isOnline,
  parseCondition,
  PEER_STATES,
  STATE_FORMS,
} from "protocol/subscriptions/conditions.ts";

type Peer = WireResponse<typeof getPeer>;

/** The kinds of subjects to wait for, and their forms in a script. */
interface Condition {
  /** The peer, job or ask, by its id. */
  readonly id: string;
  /** The subject's state now. `met` is true if the wait is over. */
  check(signal: AbortSignal): Promise<{ state: string; met: boolean }>;
}

export const WAIT_COMMAND: Command = answerCommand({
  usage: "wait",
  summary: "Wait until a peer, a job or an ask is in a state",
  details:
    `The condition is one of: ${STATE_FORMS}. A condition that holds already ends the wait at ` +
    "once. A peer that reports no turns is idle when it is online and not busy; blocked means " +
    "that it waits for its user. The exit code is 0 when the condition holds, 1 when the time " +
    "is up, 130 after Ctrl-C.",
  needs: "this machine",
  flags: {
    "--for <condition>": "what to wait for, such as 'peer:api idle'",
    "--timeout <duration>": "stop waiting after this time, such as 90 (s) or 2m",
    ...CIRCLE_FLAG,
  },
  example: "mesh wait --for 'peer:api idle' --timeout 10m",
  call: wait,
  show: ({ id, state, met }, { terminal }) => {
    const text = met ? styled("green", state) : styled("yellow", `still ${state}`);
    terminal.print(text, "  ", styled("dim", id));
  },
  exitCode: ({ met, interrupted }) => {
    if (met) return EXIT.done;
    return interrupted ? EXIT.interrupted : EXIT.refused;
  },
});

/**
 * Checks the condition when the event stream is open, and again after each event that concerns it,
 * so that no change is missed between a check and the next. `met`: false if the time was up first.
 */
async function wait(context: CommandContext, args: Args) {
  const { clock, daemon } = context;
  const seconds = args.seconds("timeout");
  const expiry = new AbortController();
  const cancelTimer = seconds === undefined
    ? undefined
    : clock.setTimer(seconds * 1000, () => expiry.abort());
  try {
    return await interruptible(async (interrupt) => {
      const condition = await conditionOf(context, args);
      const signal = AbortSignal.any([interrupt, expiry.signal]);
      let last = { state: "unknown", met: false };
      for await (const { type, data } of watchEvents({ daemon, clock, signal })) {
        if (!concerns(type, data, condition.id)) continue;
        // If the daemon is gone, the stream opens again.
        const hasEnded = (error: unknown) => signal.aborted || isUnreachable(error);
        last = await unlessRejected(hasEnded, () => condition.check(signal)) ?? last;
        if (last.met) break;
      }
      const { id } = condition;
      return { for: args.get("for") ?? "", id, ...last, interrupted: interrupt.aborted };
    });
  } finally {
    cancelTimer?.();
  }
}

/** True if something may have changed. `gap` reports missed events, as does a new stream. */
function concerns(type: string, data: unknown, id: string): boolean {
  if (type === "ready" || type === "gap") return true;
  return typeof data === "object" && data !== null && Object.values(data).includes(id);
}

async function conditionOf(context: CommandContext, args: Args): Promise<Condition> {
  const { call } = context;
  const given = args.get("for");
  if (given === undefined) throw new UsageError(`Nothing to wait for: give --for; ${STATE_FORMS}`);
  const { kind, subject: name = "", expected = "" } = parseCondition(given) ?? {};
  const isPeerState = PEER_STATES[expected];
  if (kind === "peer" && isPeerState) {
    const query = { circle: args.get("circle") };
    const { peer_id: id } = await call(getPeer, { params: { id: name }, query });
    return {
      id,
      check: async (signal) => {
        const peer = await call(getPeer, { params: { id }, query: {}, signal });
        return { state: stateOf(peer), met: isPeerState(peer) };
      },
    };
  }
  if (kind === "job") return jobCondition(context, name);
  if (kind === "ask") {
    return {
      id: name,
      check: async (signal) => {
        const { state } = await call(getAsk, { params: { id: name }, signal });
        return { state, met: state === "closed" };
      },
    };
  }
  throw new UsageError(`"${given}" is no condition; allowed: ${STATE_FORMS}`);
}

function jobCondition({ call }: CommandContext, id: string): Condition {
  return {
    id,
    check: async (signal) => {
      const job = await call(getJob, { params: { id }, signal });
      if (!("job_id" in job)) throw new UsageError(`${id} is a recurring job, which does not end`);
      return { state: job.state, met: TERMINAL_STATES.includes(job.state) };
    },
  };
}

function stateOf(peer: Peer): string {
  return isOnline(peer) ? activityOf(peer) : peer.status;
}
