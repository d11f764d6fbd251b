/** The scripts of hooks in a state directory, and a server in place of the daemon. */

import { AGENTS } from "../../../daemon/features/agents/registry.ts";
import { hookScript } from "../../../daemon/features/agents/hooks/hook_script.ts";
import { readTextOrNothing } from "../../../daemon/host/paths.ts";
import { startTimeOf } from "../../../daemon/host/processes.ts";
import { meshArguments, meshCommand } from "../programs/program.ts";

export const encoder = new TextEncoder();
export const decoder = new TextDecoder("latin1");
export const OK = response("200 OK", '{"answered":"ümlaut \\" \\n"}');

export function response(status: string, body: string): Uint8Array {
  const bytes = encoder.encode(body);
  const head = `HTTP/1.0 ${status}\r\ncontent-length: ${bytes.length}\r\n\r\n`;
  return new Uint8Array([...encoder.encode(head), ...bytes]);
}

/** A request as the server gets it; the pid of the hook is left out, since each has its own. */
export interface Recorded {
  readonly line: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A server in place of the daemon. It reads a whole request, then sends some bytes, and closes. */
export class Server implements AsyncDisposable {
  readonly requests: Recorded[] = [];
  /** The events that the requests name in their headers; only the script does. */
  readonly events: string[] = [];
  /** Undefined to keep the connection open without an answer. */
  answer: Uint8Array | undefined = OK;
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #open = new Set<Deno.Conn>();
  readonly #ended = this.#serve();

  get url(): string {
    const { hostname, port } = this.#listener.addr as Deno.NetAddr;
    return `http://${hostname}:${port}`;
  }

  async #serve(): Promise<void> {
    const all: Promise<void>[] = [];
    for await (const connection of this.#listener) all.push(this.#handle(connection));
    await Promise.all(all);
  }

  async #handle(connection: Deno.Conn): Promise<void> {
    this.#open.add(connection);
    const request = await readRequest(connection);
    const { "x-mesh-event": event, "x-mesh-hook-pid": _, ...headers } = request?.headers ?? {};
    if (request) this.requests.push({ ...request, headers });
    if (event !== undefined) this.events.push(event);
    const { answer } = this;
    if (answer === undefined) return;
    for (let at = 0; at < answer.length;) at += await connection.write(answer.subarray(at));
    this.#close(connection);
  }

  #close(connection: Deno.Conn): void {
    if (this.#open.delete(connection)) connection.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const connection of this.#open) this.#close(connection);
    await this.#ended;
  }
}

async function readRequest(connection: Deno.Conn): Promise<Recorded | undefined> {
  let text = "";
  const chunk = new Uint8Array(65_536);
  while (true) {
    const count = await connection.read(chunk);
    if (count === null) return undefined;
    text += decoder.decode(chunk.subarray(0, count));
    const end = text.indexOf("\r\n\r\n");
    if (end < 0) continue;
    const [line = "", ...fields] = text.slice(0, end).split("\r\n");
    const headers = Object.fromEntries(fields.map((field) => {
      const [name = "", value = ""] = field.split(/: (.*)/s);
      return [name.toLowerCase(), value];
    }));
    const body = text.slice(end + 4);
    if (body.length < Number(headers["content-length"])) continue;
    return { line, headers, body };
  }
}

/** A state directory with a daemon's files, and scripts of all agents. */
export class Home implements Disposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-script-" });

  constructor(mesh: readonly string[] = meshCommand([])) {
    for (const definition of AGENTS) {
      const text = hookScript(definition, mesh);
      if (text) Deno.writeTextFileSync(`${this.dir}/${definition.id}.hook`, text);
    }
    Deno.writeTextFileSync(`${this.dir}/hook.token`, "tok-hook");
  }

  daemon(url: string, more: Readonly<Record<string, unknown>> = {}): void {
    const info = { pid: Deno.pid, process_started: startTimeOf(Deno.pid), url, started_at: "" };
    Deno.writeTextFileSync(`${this.dir}/daemon.json`, JSON.stringify({ ...info, ...more }));
  }

  takeLog(): string[] {
    const path = `${this.dir}/hook.log`;
    const lines = (readTextOrNothing(path) ?? "").split("\n").filter(Boolean);
    if (lines.length > 0) Deno.removeSync(path);
    return lines.map((line) => JSON.parse(line).what);
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.dir, { recursive: true });
  }
}

export interface Event {
  readonly agent: string;
  readonly event: string;
  readonly payload: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
}

interface HookResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Starts the script of Claude Code's event, with its pipes open. */
export function startScript(home: Home, stdin: "piped" | "null" = "piped") {
  return new Deno.Command("bash", {
    args: ["-p", `${home.dir}/claude-code.hook`, "Stop"],
    env: { MESH_STATE: home.dir },
    stdin,
    stdout: "piped",
    stderr: "null",
  }).spawn();
}

/** Runs a form of the hook, with nothing else of this process's environment. */
export async function run(
  form: "script" | "program",
  home: Home,
  { agent, event, payload, env = {} }: Event,
): Promise<HookResult> {
  const [program, args] = form === "script"
    ? ["bash", ["-p", `${home.dir}/${agent}.hook`, event]]
    : [Deno.execPath(), meshArguments(["hook", agent, event])];
  const { PATH = "", DENO_DIR = "", HOME = "" } = Deno.env.toObject();
  const child = new Deno.Command(program, {
    args,
    env: { PATH, HOME, ...(DENO_DIR && { DENO_DIR }), MESH_STATE: home.dir, ...env },
    clearEnv: true,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(typeof payload === "string" ? encoder.encode(payload) : payload);
  await writer.close();
  const { code, stdout, stderr } = await child.output();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

export const SIMPLE = { agent: "claude-code", event: "Stop", payload: '{"session_id":"s-1"}' };
