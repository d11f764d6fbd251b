/** Tools that start, copy and restart agents, for known callers only (contract 6). */

import * as z from "zod";
import { Name, Text } from "kit/core/schema.ts";
import { getPeer } from "protocol/peers/contract.ts";
import { Backend } from "protocol/agents/contract.ts";
import { spawnPeer } from "protocol/spawn/contract.ts";
import { forkSession } from "protocol/spawn/sessions.ts";
import { restartPeer } from "protocol/spawn/restarts.ts";
import { SEND_HINTS, type Tool, tool } from "../tool.ts";
import { callerId, circle, idempotency_key, idempotencyHeaders, maybe, peer } from "./fields.ts";

/** An agent that was started and has not registered yet. */
const Started = z.object({
  spawn_id: z.string(),
  display_name: z.string(),
  pane_id: z.string(),
  tmux_session: z.string(),
  registration_state: z.string(),
  seed_state: maybe,
});

const spawn = tool({
  name: "spawn_peer",
  title: "Start an agent",
  description:
    "Start another coding agent in a tmux pane, in a folder of this machine, and send it a " +
    "message once it has registered. Use it only when the user wants work done by another agent " +
    "that is not running yet. Do not use it to reach one that is (list_peers, ask), to run a " +
    "shell command, or for work that you can do yourself. Which agents and folders are allowed " +
    "is the user's configuration. It returns before the agent has registered.",
  hints: { ...SEND_HINTS, openWorldHint: true },
  trustedOnly: true,
  input: z.object({
    path: z.string().min(1).describe("The folder to start in, absolute"),
    backend: Backend.describe("Which kind of agent"),
    profile: Name.optional().describe("A profile of the configuration"),
    circle: Name.optional().describe("The agent's circle; yours by default"),
    name: Name.optional().describe("The agent's name"),
    message: Text.optional().describe("A message for the agent once it has registered"),
    idempotency_key,
  }),
  output: Started.extend({ warnings: z.array(z.string()) }),
  async run({ idempotency_key, ...fields }, { caller, call }) {
    const headers = idempotencyHeaders(idempotency_key);
    const body = { ...fields, from_peer: callerId(caller) };
    const spawned = await call(spawnPeer, { body, query: {}, headers });
    const { display_name, tmux_session, pane_id, seed_state, warnings } = spawned;
    const seed = seed_state === null ? "" : ` Its message: ${seed_state}.`;
    const lines = [
      `Started @${display_name} in tmux session ${tmux_session}, pane ${pane_id}.${seed}`,
      ...warnings,
    ];
    return { text: lines.join("\n"), data: spawned };
  },
});

const fork = tool({
  name: "fork_peer",
  title: "Copy an agent with its conversation",
  description:
    "Start a copy of a running agent in another tmux pane, in the same folder, with a copy of its " +
    "conversation until now. Use it only when the user wants a second attempt or a side task " +
    "that needs what that agent knows. Do not use it to give work to another kind of agent, or " +
    "to ask the agent something (ask). Not every kind can be copied; the refusal says " +
    "so. It returns before the copy has registered.",
  hints: { ...SEND_HINTS, openWorldHint: true },
  trustedOnly: true,
  input: z.object({
    peer,
    circle,
    name: Name.optional().describe("The copy's name"),
    message: Text.optional().describe("A message for the copy once it has registered"),
    idempotency_key,
  }),
  output: Started.extend({
    source_peer_id: z.string(),
    session_id: z.string(),
    source_turn_state: maybe,
  }),
  async run({ peer, idempotency_key, ...fields }, { caller, call }) {
    const headers = idempotencyHeaders(idempotency_key);
    const body = { ...fields, from_peer: callerId(caller) };
    const forked = await call(forkSession, { params: { id: peer }, body, headers });
    const { display_name, tmux_session, pane_id, source_turn_state } = forked;
    const until = source_turn_state === "working"
      ? " The agent is in a turn: the copy has what it had written until now."
      : "";
    return {
      text: `Started @${display_name} in tmux session ${tmux_session}, pane ${pane_id}.${until}`,
      data: forked,
    };
  },
});

const restart = tool({
  name: "restart_peer",
  title: "Restart an agent",
  description:
    "Stop another agent once its turn has ended, and start it again in its pane with its " +
    "session. Use it when the user asked for it, as after a change of its configuration; with " +
    "dry_run to see first what would happen. Do not use it because a peer is slow or does not " +
    "answer. Your own restart begins when your turn ends. fresh drops the conversation.",
  hints: { ...SEND_HINTS, destructiveHint: true },
  trustedOnly: true,
  input: z.object({
    peer,
    circle,
    fresh: z.boolean().optional().describe("Begin a new session instead of resuming"),
    dry_run: z.boolean().optional().describe("Only show what would be done"),
    message: Text.optional().describe("A message for the agent once it is back"),
  }),
  output: z.object({
    restart_id: z.string(),
    outcome: z.string(),
    resume_mode: z.string(),
    would_run: z.array(z.string()).nullable(),
    reason: maybe,
  }),
  async run({ peer, circle, ...fields }, toolContext) {
    const { caller, call } = toolContext;
    const from_peer = callerId(caller);
    const query = { circle, from_peer };
    const { peer_id } = await call(getPeer, { params: { id: peer }, query });
    // A caller that restarts itself must not wait, because its turn could not end while it waits.
    const body = { ...fields, from_peer, wait: peer_id !== caller.peer_id };
    const result = await call(restartPeer, { params: { id: peer_id }, body });
    const { outcome, failed, would_run } = result;
    const why = failed ? ` at ${failed.stage}: ${failed.reason}. ${failed.detail}` : "";
    const command = would_run ? ` Command: ${would_run.join(" ")}` : "";
    return {
      text: `${outcome}${why}.${command}`,
      data: { ...result, reason: failed?.reason ?? null },
    };
  },
});

export const SPAWN_TOOLS: readonly Tool[] = [spawn, fork, restart];
