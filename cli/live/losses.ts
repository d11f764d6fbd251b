/** The losses of killing a peer, as lines. */

import type { Call, WireResponse } from "kit/http/client.ts";
import { getPeer, listJobs, listMessages, pendingAsks } from "protocol/generated/endpoints.ts";
import type { CommandContext } from "../command/command.ts";
import { styled } from "../output/terminal.ts";
import { formatAge } from "../output/time.ts";
import { firstLine, type Line } from "../screen/lines.ts";
import { EXECUTING, isExecutedBy } from "protocol/derived/peers.ts";

const PAGE_MAX = "500";
const JOBS_MAX = "200";
const SHOWN_MAX = 3;

export async function lossesOf(
  peer_id: string,
  { call, clock }: Pick<CommandContext, "call" | "clock">,
): Promise<readonly Line[]> {
  const [peer, { asks }, { messages }, jobs] = await Promise.all([
    call(getPeer, { params: { id: peer_id }, query: {} }),
    call(pendingAsks, { query: { peer_id, direction: "both" } }),
    call(listMessages, { query: { peer: peer_id, state: "queued", limit: PAGE_MAX } }),
    jobsOf(peer_id, call),
  ]);
  const asked = asks.filter(({ to_peer_id }) => to_peer_id === peer_id);
  const own = asks.filter(({ to_peer_id }) => to_peer_id !== peer_id);
  // An ask in the queue is one of the open asks.
  const queued = messages.filter(({ kind, to_peer_id }) =>
    to_peer_id === peer_id && kind !== "ask"
  );
  const ageOf = (instant: string) => `${formatAge(instant, clock)} ago`;
  return [
    processLine(peer),
    ...lossLines(
      asked,
      "open ask to it is closed unanswered",
      "open asks to it are closed unanswered",
      (ask) => `${ask.from_peer_name}, ${ageOf(ask.created_at)}: ${firstLine(ask.text)}`,
    ),
    ...lossLines(
      own,
      "ask of its own loses its reader",
      "asks of its own lose their reader",
      (ask) => `to ${ask.to_peer_name}, ${ageOf(ask.created_at)}: ${firstLine(ask.text)}`,
    ),
    ...lossLines(
      queued,
      "queued message is dropped",
      "queued messages are dropped",
      (message) =>
        `${message.from_peer_name}, ${ageOf(message.created_at)}: ${firstLine(message.text)}`,
    ),
    ...lossLines(
      jobs,
      "job loses the peer that runs it",
      "jobs lose the peer that runs them",
      ({ title }) => title,
    ),
  ];
}

function processLine({ agent_pid, turn_state }: WireResponse<typeof getPeer>): Line {
  const ended = agent_pid === null
    ? "No process of it is known, so the daemon may refuse."
    : `Process ${agent_pid} is ended, and the peer is retired.`;
  const working = turn_state === "working" ? " It is at work now." : "";
  return [`${ended}${working} What it has not written to disk is lost.`];
}

async function jobsOf(peer_id: string, call: Call) {
  const lists = await Promise.all(
    EXECUTING.map((state) => call(listJobs, { query: { state, limit: JOBS_MAX } })),
  );
  return lists.flatMap(({ work }) => work).filter((job) => isExecutedBy(peer_id, job));
}

function lossLines<A>(
  records: readonly A[],
  singular: string,
  plural: string,
  textOf: (record: A) => string,
): Line[] {
  if (records.length === 0) return [];
  const more = records.length - SHOWN_MAX;
  return [
    [styled("yellow", `${records.length} ${records.length === 1 ? singular : plural}`)],
    ...records.slice(0, SHOWN_MAX).map((record): Line => ["  ", textOf(record)]),
    ...(more > 0 ? [[styled("dim", `  and ${more} more`)]] : []),
  ];
}
