/**
 * `mesh hook AGENT EVENT`: forwards a hook event to the daemon. Its failures never disturb the
 * agent.
 */

import { briefClock, stopwatch } from "kit/core/clock.ts";
import { messageOf } from "kit/core/text.ts";
import { timeout } from "kit/core/timeout.ts";
import { unlessError } from "kit/host/file_errors.ts";
import { kindOf, paneOf } from "../../daemon/host/terminal_addresses.ts";
import {
  type Env,
  hooksAreOff,
  markerPath,
  readTextOrNothing,
  removeIfPresent,
  statePath,
} from "../../daemon/host/paths.ts";
import { readRuntimeFile } from "../../daemon/host/runtime_file.ts";
import type { HookCommand } from "../../daemon/features/agents/definition.ts";
import { AGENTS, definitionOf } from "../../daemon/features/agents/registry.ts";
import { unlessRejected } from "../client/failures.ts";
import { readAll, sendLocally } from "../client/local_http.ts";

/** The limit for reading the event and receiving the daemon's answer together. */
const TOTAL_MS_MAX = 1_500;
/**
 * The event name of the hook that waits in the background to wake its session. The agent itself has
 * no such event.
 */
const WAKE_EVENT = "Wake";
/** The size limit of the log, which keeps only the last failures. */
const LOG_BYTES_MAX = 65_536;

/** Prints the daemon's answer for the agent. Failures go only to the log. Returns the exit code. */
export async function runHook(args: readonly string[], env: Env): Promise<number> {
  try {
    const hooks = definitionOf(args[0])?.hooks;
    if (args[1] === WAKE_EVENT && hooks?.wait) return await wait(args[0], hooks, env);
    const answer = await forward(args, hooks, env);
    if (answer !== undefined) Deno.stdout.writeSync(new TextEncoder().encode(answer));
  } catch (error) {
    logFailure(env, `${args.join(" ")}: ${messageOf(error)}`);
  }
  return 0;
}

/**
 * Waits until a message should wake the session. The session reads the message from our standard
 * error.
 */
async function wait(agent: string | undefined, hooks: HookCommand, env: Env): Promise<number> {
  const input = await withTimeout(TOTAL_MS_MAX, readAll(Deno.stdin));
  const { session_id }: Record<string, unknown> = JSON.parse(new TextDecoder().decode(input));
  if (typeof session_id !== "string") throw new Error("The payload has no session_id");
  const waitForWake = await hooks.wait?.();
  if (!waitForWake) return 0;
  return await waitForWake(session_id, {
    post: async (question) => {
      const daemon = findDaemon(env);
      const to = { path: `/hooks/${agent}/wait`, hooks, env };
      if (daemon) return await post(new URL(daemon.url), { ...to, body: encode(question) });
      return undefined;
    },
    write: (text) => void Deno.stderr.writeSync(new TextEncoder().encode(text)),
  });
}

/** Forwards the event and returns the daemon's answer; undefined when no daemon is running. */
async function forward(
  [agent, event]: readonly string[],
  hooks: HookCommand | undefined,
  env: Env,
): Promise<string | undefined> {
  // Standard input is read even if no daemon runs, so that the agent never writes into a pipe that
  // nobody reads.
  const elapsedMs = stopwatch(briefClock);
  const input = await withTimeout(TOTAL_MS_MAX, readAll(Deno.stdin));
  const rewrite = hooks?.rewrite?.(event);
  const body = rewrite ? encode(rewrite(JSON.parse(new TextDecoder().decode(input)))) : input;
  const daemon = findDaemon(env);
  if (daemon === undefined) {
    removeMarker(agent, env);
    return undefined;
  }
  // The hook waits for the human's decision on some events. `daemon.json` sets the time.
  const name = event ?? eventNamedIn(body);
  const isDecision = name !== undefined && hooks?.decision_events.includes(name);
  const decision_ms = isDecision ? daemon.decision_ms : 0;
  const remaining_ms = TOTAL_MS_MAX - elapsedMs();
  const request = { path: `/hooks/${agent}`, hooks, env, body };
  return await withTimeout(decision_ms + remaining_ms, post(new URL(daemon.url), request));
}

/**
 * Removes a marker that a daemon has left behind when it was killed, so that later tool calls start
 * no process.
 */
function removeMarker(agent: string | undefined, env: Env): void {
  if (agent !== undefined && definitionOf(agent) && !hooksAreOff(env)) {
    removeIfPresent(markerPath(statePath(env), agent));
  }
}

/** The event name in the payload, for agents that do not pass it on the command line. */
function eventNamedIn(body: Uint8Array): string | undefined {
  const { hook_event_name } = JSON.parse(new TextDecoder().decode(body)) ?? {};
  return typeof hook_event_name === "string" ? hook_event_name : undefined;
}

function encode(payload: Readonly<Record<string, unknown>>): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(payload));
}

/**
 * Announces the session that started `mesh mcp`, for agents whose first hook runs at the first
 * prompt. When no daemon is running, nothing is sent, and the first hook announces the session
 * later.
 */
export async function announceSession(env: Env): Promise<void> {
  for (const { id, hooks } of AGENTS) {
    const payload = hooks?.announcement?.(env);
    if (payload === undefined) continue;
    try {
      const daemon = findDaemon(env);
      if (daemon === undefined) return;
      // The parent process is the agent. The agent sets this variable only for its hooks, so it is
      // set here.
      const ownEnv = { ...env, [hooks?.pid_variable ?? ""]: String(Deno.ppid) };
      const request = { path: `/hooks/${id}`, hooks, env: ownEnv, body: encode(payload) };
      await withTimeout(TOTAL_MS_MAX, post(new URL(daemon.url), request));
    } catch (error) {
      logFailure(env, `${id} announcement: ${messageOf(error)}`);
    }
  }
}

async function withTimeout<T>(ms: number, work: Promise<T>): Promise<T> {
  const done = await timeout(briefClock, ms, work.then((result) => ({ result })));
  if (!done) throw new Error("The daemon did not answer in time");
  return done.result;
}

interface HookRequest {
  /** The route, such as `/hooks/codex`. */
  readonly path: string;
  readonly hooks: HookCommand | undefined;
  readonly body: Uint8Array;
  readonly env: Env;
}

/** Posts to the daemon; undefined if nothing listens there, throws unless the answer is JSON. */
async function post(url: URL, request: HookRequest): Promise<string | undefined> {
  const isRefused = (error: unknown) => error instanceof Deno.errors.ConnectionRefused;
  const { path, body } = request;
  const message = { url: new URL(path, url), method: "POST", headers: headersOf(request), body };
  const answer = await unlessRejected(isRefused, () => sendLocally(message));
  if (!answer) return undefined;
  if (answer.status !== 200) throw new Error(`The daemon returned ${answer.status}`);
  JSON.parse(answer.text);
  return answer.text;
}

function headersOf({ hooks, env }: HookRequest): Record<string, string | undefined> {
  const token = readTextOrNothing(`${statePath(env)}/hook.token`)?.trim();
  const pane = paneOf(env);
  const isKitty = pane !== undefined && kindOf(pane.tmux_socket) === "kitty";
  return {
    ...(token && { "Authorization": `Bearer ${token}` }),
    "X-Mesh-Hook-Pid": String(Deno.pid),
    "X-Mesh-Agent-Pid": env[hooks?.pid_variable ?? "MESH_AGENT_PID"],
    "X-Mesh-Pane": isKitty ? pane.pane_id : env["TMUX_PANE"],
    ...(isKitty ? { "X-Mesh-Kitty": pane.tmux_socket } : { "X-Mesh-Tmux": env["TMUX"] }),
  };
}

/**
 * The address of the running daemon, and how long it waits for a decision; undefined when no daemon
 * is running.
 */
function findDaemon(env: Env): { url: string; decision_ms: number } | undefined {
  if (hooksAreOff(env)) return undefined;
  const info = readRuntimeFile(env);
  if (info === "malformed") throw new Error("daemon.json is malformed: it needs a url and a pid");
  return info && { url: info.url, decision_ms: (info.approval_seconds ?? 0) * 1000 };
}

/** Logs a failure. An unwritable log is ignored, because no agent may see a hook fail. */
function logFailure(env: Env, what: string): void {
  const time = new Date(briefClock.now()).toISOString();
  unlessError((error) => error instanceof Error, () => {
    const path = `${statePath(env)}/hook.log`;
    const kept = readTextOrNothing(path) ?? "";
    const text = `${kept}${JSON.stringify({ time, level: "warn", what })}\n`;
    Deno.writeTextFileSync(path, text.slice(-LOG_BYTES_MAX), { mode: 0o600 });
  });
}
