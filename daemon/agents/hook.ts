/** `mesh hook AGENT EVENT`: hands one hook event to the daemon. Must never fail or hold an agent up. */

import { inTime, systemClock } from "kit/clock.ts";
import { type Env, readTextOrNothing, statePath } from "../places.ts";
import { isAlive } from "../processes.ts";

/** Everything together: reading, the daemon's answer. */
const TOTAL_MS_MAX = 1_500;
/** The events that the human may be asked about; the daemon's notice says how long. */
const HELD_EVENTS: readonly (string | undefined)[] = ["PermissionRequest", "permissionRequest"];
/** No event of the agent's: the hook that waits beside its session. */
const WAITING = "Wake";
/** The log is for the last faults only. */
const LOG_BYTES_MAX = 65_536;
const CHUNK_BYTES = 65_536;

/** Prints what the agent is to be answered; whatever goes wrong is silence. The exit code. */
export async function runHook(args: readonly string[], env: Env): Promise<number> {
  try {
    if (args[1] === WAITING) return await wait(args[0], env);
    const answer = await handOn(args, env);
    if (answer !== undefined) Deno.stdout.writeSync(new TextEncoder().encode(answer));
  } catch (fault) {
    note(env, `${args.join(" ")}: ${fault instanceof Error ? fault.message : String(fault)}`);
  }
  return 0;
}

/** Waits until a message is to wake the session, which is told on the standard error. */
async function wait(agent: string | undefined, env: Env): Promise<number> {
  const input = await within(TOTAL_MS_MAX, readAll(Deno.stdin));
  const { session_id }: Record<string, unknown> = JSON.parse(new TextDecoder().decode(input));
  if (typeof session_id !== "string") throw new Error("The payload names no session");
  const { waitForWaking } = await import("./claude_code/wake.ts");
  return await waitForWaking(session_id, {
    ask: async (question) => {
      const daemon = daemonNotice(env);
      const body = new TextEncoder().encode(JSON.stringify(question));
      if (daemon) return await ask(new URL(daemon.url), { agent: `${agent}/wait`, body, env });
      return undefined;
    },
    write: (text) => void Deno.stderr.writeSync(new TextEncoder().encode(text)),
  });
}

/** The daemon's answer; undefined when no daemon is up. */
async function handOn([agent, event]: readonly string[], env: Env): Promise<string | undefined> {
  // First, whatever follows: the agent is not to write into a pipe that nobody reads.
  const began = systemClock.now();
  const input = await within(TOTAL_MS_MAX, readAll(Deno.stdin));
  const body = payloadOf({ agent, event }, input);
  const daemon = daemonNotice(env);
  if (daemon === undefined) return undefined;
  const held_ms = HELD_EVENTS.includes(event ?? namedIn(body)) ? daemon.held_ms : 0;
  const left_ms = TOTAL_MS_MAX - (systemClock.now() - began);
  return await within(held_ms + left_ms, ask(new URL(daemon.url), { agent, body, env }));
}

/** The event that a payload names, where the command line names none. */
function namedIn(body: Uint8Array): string | undefined {
  const { hook_event_name } = JSON.parse(new TextDecoder().decode(body)) ?? {};
  return typeof hook_event_name === "string" ? hook_event_name : undefined;
}

/**
 * Copilot CLI does not say which event it is. Gemini CLI hands over all that was ever said before
 * a model's turn, where the model's name is enough.
 */
function payloadOf(
  { agent, event }: { agent: string | undefined; event: string | undefined },
  body: Uint8Array,
): Uint8Array {
  if (agent !== "copilot" && event !== "BeforeModel") return body;
  const { llm_request, ...payload } = JSON.parse(new TextDecoder().decode(body));
  return agent === "copilot"
    ? encoded({ ...payload, hookName: event })
    : encoded({ ...payload, llm_request: { model: llm_request?.model } });
}

function encoded(payload: Record<string, unknown>): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(payload));
}

/**
 * Copilot CLI's first hook comes with the first prompt, its MCP servers start with the session: so
 * `mesh mcp` tells of it. What nobody hears is told again by that hook.
 */
export async function announce(env: Env): Promise<void> {
  const sessionId = env["COPILOT_AGENT_SESSION_ID"];
  if (!sessionId) return;
  try {
    const daemon = daemonNotice(env);
    if (daemon === undefined) return;
    const body = encoded({ hookName: "arrived", sessionId, cwd: Deno.cwd() });
    const of = { agent: "copilot", body, env: { ...env, MESH_AGENT_PID: String(Deno.ppid) } };
    await within(TOTAL_MS_MAX, ask(new URL(daemon.url), of));
  } catch (fault) {
    note(env, `copilot arrived: ${fault instanceof Error ? fault.message : String(fault)}`);
  }
}

function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return inTime(ms, work, "The daemon has not answered in time");
}

interface Reader {
  read(into: Uint8Array): Promise<number | null>;
}

/** Reads to the end. By hand: to load the runtime's streams is a tenth of a hook's time. */
async function readAll(from: Reader): Promise<Uint8Array> {
  let all = new Uint8Array(CHUNK_BYTES);
  for (let size = 0;;) {
    const read = await from.read(all.subarray(size));
    if (read === null) return all.subarray(0, size);
    size += read;
    if (size === all.length) all = grown(all);
  }
}

function grown(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(bytes.length * 2);
  larger.set(bytes);
  return larger;
}

interface Asked {
  readonly agent: string | undefined;
  readonly body: Uint8Array;
  readonly env: Env;
}

async function ask(url: URL, { agent, body, env }: Asked): Promise<string | undefined> {
  using connection = await connect(url);
  if (!connection) return undefined;
  await writeAll(connection, requestOf({ agent, host: url.host, body, env }));
  return read(new TextDecoder().decode(await readAll(connection)));
}

/**
 * HTTP/1.0 by hand: one answer, then the end. `fetch` would obey the proxy settings of the
 * agent, and hand them the prompt.
 */
function requestOf({ agent, host, body, env }: Asked & { host: string }): Uint8Array {
  const token = readTextOrNothing(`${statePath(env)}/hook.token`)?.trim();
  const headers = {
    "Host": host,
    "Content-Type": "application/json",
    "Content-Length": String(body.length),
    ...(token && { "Authorization": `Bearer ${token}` }),
    "X-Mesh-Hook-Pid": String(Deno.pid),
    "X-Mesh-Agent-Pid": agent === "claude-code" ? env["CLAUDE_PID"] : env["MESH_AGENT_PID"],
    "X-Mesh-Pane": env["TMUX_PANE"],
    "X-Mesh-Tmux": env["TMUX"],
  };
  const lines = Object.entries(headers)
    // A header is one line of ASCII.
    .filter(([, value]) => value && !/[^\x20-\x7e]/.test(value))
    .map(([name, value]) => `${name}: ${value}\r\n`);
  const head = new TextEncoder().encode(`POST /hooks/${agent} HTTP/1.0\r\n${lines.join("")}\r\n`);
  const whole = new Uint8Array(head.length + body.length);
  whole.set(head);
  whole.set(body, head.length);
  return whole;
}

/** The answer's body; throws for any status but 200, and for a body that is no JSON. */
function read(answer: string): string {
  const [head = "", ...rest] = answer.split("\r\n\r\n");
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1];
  const body = rest.join("\r\n\r\n");
  if (status !== "200") throw new Error(`The daemon answered ${status ?? "nothing"}`);
  JSON.parse(body);
  return body;
}

async function connect({ hostname, port }: URL): Promise<Deno.TcpConn | undefined> {
  try {
    return await Deno.connect({ hostname: hostname.replace(/^\[|\]$/g, ""), port: Number(port) });
  } catch (fault) {
    if (fault instanceof Deno.errors.ConnectionRefused) return undefined;
    throw fault;
  }
}

async function writeAll(connection: Deno.TcpConn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}

/** Undefined without a daemon: what one that was killed left behind may be another's port now. */
function daemonNotice(env: Env): { url: string; held_ms: number } | undefined {
  const notice = readTextOrNothing(`${statePath(env)}/daemon.json`);
  if (notice === undefined) return undefined;
  const notes: Record<string, unknown> = JSON.parse(notice);
  const { url, pid, process_started, approval_seconds } = notes;
  if (typeof url !== "string" || typeof pid !== "number") {
    throw new Error("daemon.json names no url or no pid");
  }
  const held_ms = typeof approval_seconds === "number" ? approval_seconds * 1000 : 0;
  const started = typeof process_started === "string" ? process_started : undefined;
  return isAlive(pid, started) ? { url, held_ms } : undefined;
}

/** A log that cannot be written is the one fault that nobody is told of: no agent may see it. */
function note(env: Env, what: string): void {
  const path = `${statePath(env)}/hook.log`;
  const time = new Date(systemClock.now()).toISOString();
  try {
    const kept = readTextOrNothing(path) ?? "";
    const text = `${kept}${JSON.stringify({ time, level: "warn", what })}\n`;
    Deno.writeTextFileSync(path, text.slice(-LOG_BYTES_MAX), { mode: 0o600 });
  } catch (fault) {
    if (fault instanceof Error) return;
    throw fault;
  }
}
