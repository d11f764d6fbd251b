/** Tools about peers' lives: ending one, and who leads a circle. */

import * as z from "zod";
import { Name } from "kit/core/schema.ts";
import { Problem } from "kit/core/problem.ts";
import { getPeer, listPeers } from "../../../features/peers/contract.ts";
import { assumeRole, killPeer } from "../../../features/lifecycle/contract.ts";
import { READ_HINTS, type Tool, tool, type ToolContext, UPDATE_HINTS } from "../tool.ts";
import { mustBeTrusted } from "./fields.ts";

const maybe = z.string().nullable();

const Leader = z.object({
  peer_id: z.string(),
  name: z.string(),
  circle: z.string(),
  status: z.string(),
  turn_state: maybe,
  last_seen: maybe,
});

const kill = tool({
  name: "kill_peer",
  title: "End a peer",
  description:
    "End another agent's process, and retire it: its open asks are closed, and what waits for it " +
    "is dropped. Use it only when the user asked for that, or for a peer that you started and " +
    "that has done its work. Do not use it because a peer is slow, busy or declined: ask it, or " +
    "tell the user. It is refused where the process is not proved to be the peer's.",
  hints: { ...UPDATE_HINTS, destructiveHint: true },
  input: z.object({
    peer: z.string().describe("A name or a peer_id, as list_peers shows them"),
    circle: Name.optional().describe("Where to look for the name"),
  }),
  output: z.object({ peer_id: z.string(), agent_pid: z.number(), signal: z.string() }),
  async run({ peer, circle }, toolContext) {
    mustBeTrusted(toolContext);
    const params = { id: peer };
    const query = { circle: circle ?? await ownCircle(toolContext) };
    const { peer_id, agent_pid, signal } = await toolContext.call(killPeer, {
      params,
      query,
      body: {},
      signal: toolContext.signal,
    });
    return {
      text: `${peer_id} is retired; its process ${agent_pid} went by ${signal}.`,
      data: { peer_id, agent_pid, signal },
    };
  },
});

const claim = tool({
  name: "claim_orchestrator_role",
  title: "Lead your circle",
  description:
    "Become the orchestrator of your circle: the peer that is found by name from every circle, " +
    "and hears of work that nobody else owns. Use it when the user made you the one who hands " +
    "out work. Do not use it to be heard better. While another one is live it is refused, unless " +
    "you say force; do so only when the user said so.",
  hints: UPDATE_HINTS,
  input: z.object({
    force: z.boolean().optional().describe("Displace the orchestrator that is live"),
  }),
  output: z.object({ orchestrator: Leader }),
  async run({ force }, { caller, call, signal }) {
    if (caller.peer_id === null) throw new Problem("unknown_caller", {});
    const body = { role: "orchestrator" as const, ...(force && { force }) };
    const params = { id: caller.peer_id };
    const leader = await call(assumeRole, { params, query: {}, body, signal });
    return {
      text: `You are @${leader.name}, the orchestrator of circle ${leader.circle}.`,
      data: { orchestrator: leader },
    };
  },
});

const status = tool({
  name: "orchestrator_status",
  title: "Who leads",
  description:
    "Tell which peer is the orchestrator of a circle, yours by default, and whether it is here. " +
    "Use it before claim_orchestrator_role, or to know whom to tell about work as a whole. Do not " +
    "use it to find a peer for a question (list_peers).",
  hints: READ_HINTS,
  input: z.object({ circle: Name.optional().describe("The circle; yours by default") }),
  output: z.object({
    circle: maybe,
    orchestrators: z.array(Leader),
    live: z.boolean(),
  }),
  async run({ circle: given }, toolContext) {
    const circle = given ?? await ownCircle(toolContext);
    const { peers } = await toolContext.call(listPeers, {
      query: { circle },
      signal: toolContext.signal,
    });
    const orchestrators = peers.filter(({ role, status }) =>
      role === "orchestrator" && status !== "retired"
    );
    const live = orchestrators.some(({ status }) => status !== "offline");
    const lines = orchestrators.map(({ name, circle, status }) =>
      `@${name} leads circle ${circle} (${status})`
    );
    return {
      text: lines.join("\n") || "Nobody leads here.",
      data: { circle: circle ?? null, orchestrators, live },
    };
  },
});

export const LIFECYCLE_TOOLS: readonly Tool[] = [kill, claim, status];

/** The circle of a caller that is known. */
async function ownCircle({ caller, call, signal }: ToolContext): Promise<string | undefined> {
  if (caller.peer_id === null) return undefined;
  const { circle } = await call(getPeer, { params: { id: caller.peer_id }, query: {}, signal });
  return circle;
}
