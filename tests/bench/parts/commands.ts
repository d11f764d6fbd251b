/** Hooks and commands as agents and people run them: in the form that npm installs. */

import { RealDaemon, temporary } from "../../support/programs/child.ts";
import { installed, sourcesCommand } from "../../support/programs/program.ts";
import { LoadGenerator } from "../load/generator.ts";
import type { Effort, Figure } from "../report/figures.ts";
import { programFigure } from "./programs.ts";

const PEERS = 20;
const HOOK_RATIO_MAX = 1.4;
const COMMAND_RATIO_MAX = 2;
const SESSION = { session_id: "bench", cwd: "/work", transcript_path: "/work/transcript.jsonl" };
const COPILOT_SESSION = { sessionId: "bench" };
const PROMPT = { prompt: "Which port does the service listen on?" };

/**
 * Hooks with the payloads of their agents, a session's from its start to its end. `PostToolUse` is
 * not installed by `mesh setup`; it shows what an event costs of which the daemon uses nothing.
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
  const { mesh } = installed();
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

/** A command's whole process, with 20 peers connected. */
export async function commands(effort: Effort): Promise<Figure[]> {
  using state = temporary();
  await using daemon = await RealDaemon.start(state.path);
  await using _peers = await LoadGenerator.crowd({ port: daemon.port, peers: PEERS });
  const env = environment(state.path);
  const { mesh } = installed();
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
