/** Hooks and commands as agents and people run them: in the form that npm installs. */

import { client } from "kit/http/client.ts";
import { hookScript } from "../../../daemon/features/agents/hooks/hook_script.ts";
import { definitionOf } from "../../../daemon/features/agents/registry.ts";
import { listDeliveries } from "protocol/messages/contract.ts";
import { notifyPeer } from "protocol/notifications.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { RealDaemon, temporary } from "../../support/programs/child.ts";
import { hookCommands, type HookedAgent } from "../../support/agents/hook_commands.ts";
import { planOf } from "../../support/agents/setup_plan.ts";
import { installMesh, sourcesCommand } from "../../support/programs/program.ts";
import { LoadGenerator } from "../load/generator.ts";
import { type Effort, type Figure, interleave } from "../report/figures.ts";
import { highestResidentMb, pause } from "../../support/programs/process_facts.ts";
import { meanOf, programFigure, type Run, runEmpty, runOnce } from "./programs.ts";

const PEERS = 20;
const HOOK_RATIO_MAX = 0.45;
const HOOK_CPU_RATIO_MAX = 0.2;
const HOOK_MB_MAX = 5;
const COMMAND_RATIO_MAX = 1.5;
/** A hook takes some milliseconds, and the kernel counts processor time in steps of ten. */
const HOOK_RUNS = 8;
const GUARD_RATIO_MAX = 1.2;
/** A shell takes a millisecond or two, so it is run more often than a program of ours. */
const SHELL_RUNS = 20;
const MESSAGES_PER_CALL = 5;
const MEMORY_AFTER_MS = 300;
const SESSION = { session_id: "bench", cwd: "/work", transcript_path: "/work/transcript.jsonl" };
const COPILOT_SESSION = { sessionId: "bench" };
const PROMPT = { prompt: "Which port does the service listen on?" };

/** Hooks with the payloads of their agents, a session's from its start to its end. */
const HOOKS: readonly (readonly [agent: HookedAgent, event: string, payload: object])[] = [
  ["claude-code", "SessionStart", { source: "startup" }],
  ["claude-code", "UserPromptSubmit", PROMPT],
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

/**
 * A hook's whole process, as its agent waits for it: the script, in the shell that the agent
 * starts; and `mesh hook`, which runs where bash is missing.
 */
export async function hooks({ rounds, runs }: Effort): Promise<Figure[]> {
  using state = temporary();
  await using _daemon = await RealDaemon.start(state.path);
  const env = environment(state.path);
  const { mesh } = installMesh();
  const figures: Figure[] = [];
  const all: Record<"empty" | "script" | "program", Run[]> = { empty: [], script: [], program: [] };
  for (const [agent, event, payload] of HOOKS) {
    const input = JSON.stringify({ ...SESSION, hook_event_name: event, ...payload });
    const shell = ["sh", "-c", scriptCommand(state.path, agent, event)];
    const ran = await interleave(rounds * runs * HOOK_RUNS, {
      empty: runEmpty,
      script: () => runOnce({ command: shell, env, input }),
      program: () => runOnce({ command: [mesh, "hook", agent, event], env, input }),
    });
    figures.push(hookFigure(`hook ${agent} ${event}`, ran));
    for (const name of ["empty", "script", "program"] as const) all[name].push(...ran[name]);
  }
  mustBeWithoutFailures(`${state.path}/hook.log`);
  const cpu = (ran: readonly Run[]) => [meanOf(ran.map(({ cpu_ms }) => cpu_ms))];
  const empty = { name: "empty", samples: cpu(all.empty) };
  return [...figures, {
    what: "a hook, processor time",
    unit: "ms",
    ours: cpu(all.script),
    yardstick: empty,
    budget: { of: "ratio", max: HOOK_CPU_RATIO_MAX },
    details: [{ what: "by mesh hook", unit: "ms", ours: cpu(all.program), yardstick: empty }],
  }, {
    what: "a hook, memory",
    unit: "MB",
    ours: [await scriptMb(state.path, env)],
    budget: { of: "value", max: HOOK_MB_MAX },
    note: "the most that the script had while its payload was not complete",
  }];
}

function hookFigure(
  what: string,
  ran: Readonly<Record<"empty" | "script" | "program", readonly Run[]>>,
): Figure {
  const ms = (runs: readonly Run[]) => runs.map(({ ms }) => ms);
  const empty = { name: "empty", samples: ms(ran.empty) };
  return {
    what,
    unit: "ms",
    ours: ms(ran.script),
    yardstick: empty,
    budget: { of: "ratio", max: HOOK_RATIO_MAX },
    details: [{ what: "by mesh hook", unit: "ms", ours: ms(ran.program), yardstick: empty }],
  };
}

/** Writes the script of an agent as setup does; returns the command line in its settings. */
export function scriptCommand(state: string, agent: HookedAgent, event: string): string {
  const { mesh } = installMesh();
  const definition = definitionOf(agent);
  const hook_script = `${state}/${agent}.hook`;
  if (!definition) throw new Error(`No agent ${agent}`);
  Deno.writeTextFileSync(hook_script, hookScript(definition, [mesh]));
  const command = hookCommands(agent, planOf([mesh], { hook_script })).get(event);
  if (command === undefined) throw new Error(`No hook is installed for ${event}`);
  return command;
}

/** The highest resident memory of the script, which waits for the end of its payload. */
async function scriptMb(state: string, env: Record<string, string>): Promise<number> {
  const args = ["-p", `${state}/claude-code.hook`, "Stop"];
  const options = { args, env, stdin: "piped", stdout: "null", stderr: "null" } as const;
  const process = new Deno.Command("bash", options).spawn();
  const writer = process.stdin.getWriter();
  await writer.write(new TextEncoder().encode(JSON.stringify(SESSION)));
  await pause(MEMORY_AFTER_MS);
  const mb = highestResidentMb(process.pid);
  await writer.close();
  await process.status;
  return mb;
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
  const hook = ["sh", "-c", scriptCommand(state.path, "claude-code", event)];
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
