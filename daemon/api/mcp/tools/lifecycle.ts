/** Tools that end a peer, and that claim or show the orchestrator role of a circle. */

import * as z from "zod";
import { Name } from "kit/core/schema.ts";
import { Problem } from "protocol/problems.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { Interrupted, interruptPeer } from "protocol/interrupts.ts";
import { assumeRole, killPeer } from "protocol/lifecycle.ts";
import { READ_HINTS, type Tool, tool, UPDATE_HINTS } from "../tool.ts";
import { callerId, circle, maybe, ownCircle, peer } from "./fields.ts";

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
    "End another agent's process, and retire it: its open asks are closed, and its queued " +
    "messages are dropped. Use it only when the user asked for that, or for a peer that you " +
    "started and that has done its work. Do not use it because a peer is slow, busy or declined: " +
    "ask it, or tell the user. It is refused if the process is not proved to be the peer's.",
  hints: { ...UPDATE_HINTS, destructiveHint: true },
  trustedOnly: true,
  input: z.object({ peer, circle }),
  output: z.object({ peer_id: z.string(), agent_pid: z.number(), signal: z.string() }),
  async run({ peer, circle }, toolContext) {
    const query = { circle, from_peer: callerId(toolContext.caller) };
    const request = { params: { id: peer }, query, body: {} };
    const { peer_id, agent_pid, signal: ended_by } = await toolContext.call(killPeer, request);
    return {
      text: `${peer_id} is retired; its process ${agent_pid} ended by ${ended_by}.`,
      data: { peer_id, agent_pid, signal: ended_by },
    };
  },
});

const interrupt = tool({
  name: "interrupt_peer",
  title: "Interrupt a peer's turn",
  description:
    "Stop what another agent of your circle does now, as its user would; it goes on running. Only " +
    "the orchestrator of the circle may. Use it when the work must not go on, such as after the " +
    "user changed the task. Do not use it because a peer is slow, or to reach it sooner: send an " +
    "urgent notification. The answer says what is proved; without a proof, tell the user.",
  hints: { ...UPDATE_HINTS, destructiveHint: true },
  trustedOnly: true,
  input: z.object({ peer, circle }),
  output: Interrupted,
  async run({ peer, circle }, toolContext) {
    const query = { circle, from_peer: callerId(toolContext.caller) };
    const request = { params: { id: peer }, query, body: {} };
    const done = await toolContext.call(interruptPeer, request);
    return { text: done.detail, data: done };
  },
});

const claim = tool({
  name: "claim_orchestrator_role",
  title: "Become the orchestrator",
  description:
    "Become the orchestrator of your circle: the peer that is found by name from every circle, " +
    "and is notified of jobs without an owner. Use it when the user asked you to hand out work. " +
    "Do not use it for more attention. It is refused while another one is live, unless you set " +
    "force; do so only when the user said so.",
  hints: UPDATE_HINTS,
  input: z.object({
    force: z.boolean().optional().describe("Replace an orchestrator that is live"),
  }),
  output: z.object({ orchestrator: Leader }),
  async run({ force }, { caller, call }) {
    if (caller.peer_id === null) throw new Problem("unknown_caller", {});
    const body = { role: "orchestrator" as const, ...(force && { force }) };
    const params = { id: caller.peer_id };
    const leader = await call(assumeRole, { params, query: {}, body });
    return {
      text: `You are @${leader.name}, the orchestrator of circle ${leader.circle}.`,
      data: { orchestrator: leader },
    };
  },
});

const status = tool({
  name: "orchestrator_status",
  title: "Show the orchestrator",
  description:
    "Show which peer is the orchestrator of a circle, yours by default, and whether it is live. " +
    "Use it before claim_orchestrator_role, or to know whom to notify about the work as a whole. " +
    "Do not use it to find a peer for a question (list_peers).",
  hints: READ_HINTS,
  input: z.object({ circle: Name.optional().describe("The circle; yours by default") }),
  output: z.object({
    circle: maybe,
    orchestrators: z.array(Leader),
    live: z.boolean(),
  }),
  async run({ circle: given }, toolContext) {
    const circle = given ?? await ownCircle(toolContext);
    const { peers } = await toolContext.call(listPeers, { query: { circle } });
    const orchestrators = peers.filter(({ role, status }) =>
      role === "orchestrator" && status !== "retired"
    );
    const live = orchestrators.some(({ status }) => status !== "offline");
    const lines = orchestrators.map(({ name, circle, status }) =>
      `@${name} leads circle ${circle} (${status})`
    );
    return {
      text: lines.join("\n") || "This circle has no orchestrator.",
      data: { circle: circle ?? null, orchestrators, live },
    };
  },
});

export const LIFECYCLE_TOOLS: readonly Tool[] = [kill, interrupt, claim, status];
