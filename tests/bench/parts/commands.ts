/** Hooks and commands as agents and people run them: in the form that npm installs. */

import * as z from "zod";
import { client } from "kit/http/client.ts";
import { hooks as meshHooks } from "../../../daemon/features/agents/claude_code/setup.ts";
import { listDeliveries } from "protocol/messages/contract.ts";
import { notifyPeer } from "protocol/notifications.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { RealDaemon, temporary } from "../../support/programs/child.ts";
import { planOf } from "../../support/agents/setup_plan.ts";
import { installMesh, sourcesCommand } from "../../support/programs/program.ts";
import { LoadGenerator } from "../load/generator.ts";
import { type Effort, type Figure, interleave } from "../report/figures.ts";
import { programFigure, runOnce } from "./programs.ts";

const PEERS = 20;
const HOOK_RATIO_MAX = 1.4;
const COMMAND_RATIO_MAX = 2;
const GUARD_RATIO_MAX = 1.2;
/** A shell takes a millisecond or two, so it is run more often than a program of ours. */
const SHELL_RUNS = 20;
const MESSAGES_PER_CALL = 5;
const SESSION = { session_id: "bench", cwd: "/work", transcript_path: "/work/transcript.jsonl" };
const COPILOT_SESSION = { sessionId: "bench" };
const PROMPT = { prompt: "Which port does the service listen on?" };

/**
 * Hooks with the payloads of their agents, a session's from its start to its end. Claude Code's
 * `PostToolUse` is not installed by `mesh setup`; it shows what an event costs of which the daemon
 * uses nothing.
 */
const HOOKS: readonly (readonly [agent: string, event: string, payload: object])[] = [
  ["claude-code", "SessionStart", { source: "startup" }],
  ["claude-code", "UserPromptSubmit", PROMPT],
  ["claude-code", "PostToolUse", { tool_name: "Bash", tool_input: { command: "ls" } }],
  ["claude-code", "Notification", { notification_type: "idle_prompt" }],
  ["claude-code", "Stop", { stop_hook_active: false, last_assistant_message: "On port 8080." }],
  ["claude-code", "SessionEnd", { reason: "prompt_input_exit" }],
  ["codex", "UserPromptSubmit", PROMPT],
  ["codex", "Stop", { stop_hook_active: false, last_assistant_message: "On port 8080." }],
  ["gemini", "BeforeAgent", PROMPT],
  ["gemini", "AfterAgent", { ...PROMPT, prompt_response: "On port 8080." }],
  ["copilot", "userPromptSubmitted", { ...COPILOT_SESSION, ...PROMPT }],
  ["copilot", "agentStop", COPILOT_SESSION],
];

const COMMANDS: readonly (readonly string[])[] = [
  ["--version"],
  ["--help"],
  ["peers"],
  ["notify", "bench-0", "The port is 8080."],
  ["ask", "bench-0", "Which port is it?"],
];

/** A hook's whole process, as its agent waits for it. */
export async function hooks(effort: Effort): Promise<Figure[]> {
  using state = temporary();
  await using _daemon = await RealDaemon.start(state.path);
  const env = environment(state.path);
  const { mesh } = installMesh();
  const figures: Figure[] = [];
  for (const [agent, event, payload] of HOOKS) {
    const args = ["hook", agent, event];
    const input = JSON.stringify({ ...SESSION, hook_event_name: event, ...payload });
    const shipped = { command: [mesh, ...args], env, input };
    const sources = { command: sourcesCommand(args), env, input };
    const what = `hook ${agent} ${event}`;
    const forms = { what, shipped, sources, ratio_max: HOOK_RATIO_MAX };
    figures.push(await programFigure(forms, effort));
  }
  mustBeWithoutFailures(`${state.path}/hook.log`);
  return figures;
}

/**
 * The hook after a tool call, as the agent's shell runs it: nothing waits, so the shell starts no
 * process; and an urgent message waits.
 */
export async function toolCalls(effort: Effort): Promise<Figure[]> {
  using state = temporary();
  await using daemon = await RealDaemon.start(state.path);
  const env = environment(state.path);
  const { mesh } = installMesh();
  const event = "PostToolBatch";
  const hook = ["sh", "-c", commandOf(event, mesh)];
  const input = JSON.stringify({ ...SESSION, hook_event_name: event, tool_calls: [] });
  const prompt = { ...SESSION, ...PROMPT, hook_event_name: "UserPromptSubmit" };
  await runOnce({
    command: [mesh, "hook", "claude-code", prompt.hook_event_name],
    env,
    input: JSON.stringify(prompt),
  });
  const idle = await interleave(effort.rounds * effort.runs * SHELL_RUNS, {
    shell: () => runOnce({ command: ["sh", "-c", ":"], env, input }),
    guard: () => runOnce({ command: hook, env, input }),
  });
  const nothing: Figure = {
    what: "tool call's hook, nothing waits",
    unit: "ms",
    ours: idle.guard.map(({ ms }) => ms),
    yardstick: { name: "sh -c :", samples: idle.shell.map(({ ms }) => ms) },
    budget: { of: "ratio", max: GUARD_RATIO_MAX },
  };
  const count = 2 * MESSAGES_PER_CALL * (effort.rounds * effort.runs + 1);
  await sendUrgent(daemon, count);
  const sources = `MESH_AGENT_PID=$PPID ${
    sourcesCommand(["hook", "claude-code", event]).join(" ")
  }`;
  const waiting = await programFigure({
    what: "tool call's hook, 5 messages",
    shipped: { command: hook, env, input },
    sources: { command: ["sh", "-c", sources], env, input },
    ratio_max: HOOK_RATIO_MAX,
  }, effort);
  mustBeWithoutFailures(`${state.path}/hook.log`);
  await mustHaveHandedOver(daemon, count);
  return [nothing, waiting];
}

/** The command of our hook in Claude Code's settings. */
function commandOf(event: string, mesh: string): string {
  const Settings = z.object({
    hooks: z.record(
      z.string(),
      z.array(z.object({ hooks: z.array(z.object({ command: z.string() })) })),
    ),
  });
  const { hooks } = Settings.parse(meshHooks.install({}, planOf([mesh])));
  const command = hooks[event]?.[0]?.hooks[0]?.command;
  if (command === undefined) throw new Error(`No hook is installed for ${event}`);
  return command;
}

/** Each sender sends one message, so that no limit of a pair of peers applies. */
async function sendUrgent({ base }: RealDaemon, count: number): Promise<void> {
  const call = client(base, fetch);
  const { peers } = await call(listPeers, { query: {} });
  const to_peer = peers.find(({ backend }) => backend === "claude-code")?.peer_id ?? "";
  const text = "Stop: the port is taken.";
  for (let n = 0; n < count; n++) {
    const body = { from_peer: `bench-${n}`, to_peer, text, urgent: true, bypass_circle: true };
    await call(notifyPeer, { body });
  }
}

async function mustHaveHandedOver({ base }: RealDaemon, count: number): Promise<void> {
  const { counts } = await client(base, fetch)(listDeliveries, { query: {} });
  const { sent = 0, seen = 0 } = counts;
  if (sent + seen !== count) throw new Error(`Not ${count} handed over: ${JSON.stringify(counts)}`);
}

/** A command's whole process, with 20 peers connected. */
export async function commands(effort: Effort): Promise<Figure[]> {
  using state = temporary();
  await using daemon = await RealDaemon.start(state.path);
  await using _peers = await LoadGenerator.crowd({ port: daemon.port, peers: PEERS });
  const env = environment(state.path);
  const { mesh } = installMesh();
  const figures: Figure[] = [];
  for (const args of COMMANDS) {
    const shipped = { command: [mesh, ...args], env };
    const sources = { command: sourcesCommand(args), env };
    const what = `mesh ${args[0]}`;
    const forms = { what, shipped, sources, ratio_max: COMMAND_RATIO_MAX };
    figures.push(await programFigure(forms, effort));
  }
  return figures;
}

/** The programs find this daemon, and no pane. */
function environment(state: string): Record<string, string> {
  return { MESH_STATE: state, MESH_CONFIG: "/none", TMUX: "", TMUX_PANE: "" };
}

/** A hook that fails is silent and ends with success. */
function mustBeWithoutFailures(log: string): void {
  try {
    throw new Error(`Hooks failed: ${Deno.readTextFileSync(log)}`);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
