/** `mesh mcp`: forwards an agent's MCP messages from stdin to the daemon, and the answers back. */

import { systemClock } from "kit/core/clock.ts";
import { messageOf, tryJson } from "kit/core/text.ts";
import { timeout } from "kit/core/timeout.ts";
import { type Env, readTextOrNothing } from "../../daemon/host/paths.ts";
import { runningDaemon } from "../../daemon/host/runtime_file.ts";
import { ANSWER_MS_MAX, type LocalResponse, sendLocally } from "../client/local_http.ts";

/** The largest number of requests in flight. A working agent stays far below it. */
const IN_FLIGHT_MAX = 256;
/**
 * The longest line that is forwarded. Longer lines are dropped without buffering them. The daemon
 * accepts 1 MiB.
 */
const LINE_CHARS_MAX = 4_194_304;
/** Maximum number of bytes per read of the input. */
const CHUNK_BYTES = 16_384;
/** Time limit for requests in flight after stdin has ended. */
const FINISH_MS_MAX = 1000;

/** JSON-RPC 2.0 error codes: invalid JSON, and the first code for servers' own use. */
const PARSE_ERROR = -32_700;
const SERVER_ERROR = -32_000;

const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";
/** The request parameter that the header `Mcp-Name` repeats, by method (MCP 2026-07-28). */
const NAME_PARAMETER = new Map([["tools/call", "name"], ["prompts/get", "name"], [
  "resources/read",
  "uri",
]]);

type JsonObject = Record<string, unknown>;
type Id = string | number;

/** Runs until stdin ends. */
export async function runProxy(env: Env): Promise<void> {
  const output = new LineWriter();
  const proxy = new StdioProxy(env, (line) => output.write(line));
  for await (const line of linesOfInput()) proxy.handleLine(line);
  await proxy.finish();
}

/** Writes whole lines, one after the other. Without the runtime's streams, as `linesOfInput`. */
class LineWriter {
  #written: Promise<void> = Promise.resolve();

  write(line: string): Promise<void> {
    const bytes = new TextEncoder().encode(`${line}\n`);
    return this.#written = this.#written.then(async () => {
      for (let at = 0; at < bytes.length;) at += await Deno.stdout.write(bytes.subarray(at));
    });
  }
}

/**
 * Yields each line of the input; undefined for a line that is too long. Reads without the runtime's
 * streams, which take 1 MB of each proxy.
 */
async function* linesOfInput() {
  const decoder = new TextDecoder();
  const chunk = new Uint8Array(CHUNK_BYTES);
  let partial = "", too_long = false;
  for (;;) {
    const read = await Deno.stdin.read(chunk);
    const text = decoder.decode(chunk.subarray(0, read ?? 0), { stream: read !== null });
    const parts = text.split("\n");
    const last = parts.pop() ?? "";
    for (const finish of parts) {
      yield too_long ? undefined : partial + finish;
      partial = "";
      too_long = false;
    }
    too_long ||= partial.length + last.length > LINE_CHARS_MAX;
    partial = too_long ? "" : partial + last;
    if (read === null) break;
  }
  if (partial) yield partial;
}

class StdioProxy {
  readonly #env: Env;
  readonly #write: (line: string) => Promise<void>;
  readonly #inFlight = new Map<Id, AbortController>();
  readonly #pending = new Set<Promise<void>>();
  /** The daemon's token; undefined until the daemon has answered 401. */
  #token: string | undefined;
  /**
   * The protocol version from `initialize`. From MCP 2026-07-28 on, each message names its own
   * version instead.
   */
  #version: string | undefined;

  constructor(env: Env, write: (line: string) => Promise<void>) {
    this.#env = env;
    this.#write = write;
  }

  /** Starts forwarding one message; answers are written as they arrive. */
  handleLine(line: string | undefined): void {
    if (line?.trim() === "") return;
    const message = line === undefined ? undefined : tryJson(line);
    const messages = [message].flat().filter(isJson);
    const cancelled = messages[0] && cancelledBy(messages[0]);
    if (cancelled !== undefined) return this.#inFlight.get(cancelled)?.abort();
    const work = line === undefined || messages.length === 0
      ? this.#write(
        refusal(null, PARSE_ERROR, "This line is not a JSON-RPC message, or it is too long"),
      )
      : this.#forward(line, messages);
    this.#pending.add(work);
    work.finally(() => this.#pending.delete(work));
  }

  /**
   * Waits briefly for requests in flight, then aborts them. An agent that reads nothing does not
   * take their answers.
   */
  async finish(): Promise<void> {
    const all = Promise.allSettled(this.#pending);
    await timeout(systemClock, FINISH_MS_MAX, all);
    this.#inFlight.forEach((controller) => controller.abort());
    await timeout(systemClock, FINISH_MS_MAX, all);
  }

  async #forward(line: string, messages: readonly JsonObject[]): Promise<void> {
    const ids = messages.flatMap(requestId);
    const controller = new AbortController();
    ids.forEach((id) => this.#inFlight.set(id, controller));
    const answers = await this.#answers(line, messages, ids, controller.signal);
    ids.forEach((id) => this.#inFlight.delete(id));
    for (const answer of answers) await this.#write(answer);
  }

  /** The lines to write: the daemon's answer, or an error for each request. */
  async #answers(
    line: string,
    messages: readonly JsonObject[],
    ids: readonly Id[],
    signal: AbortSignal,
  ): Promise<string[]> {
    const refuse = (reason: string) => ids.map((id) => refusal(id, SERVER_ERROR, reason));
    if (this.#inFlight.size > IN_FLIGHT_MAX) {
      return refuse("Too many requests are in flight; wait for some answers first");
    }
    try {
      const { status, text } = await this.#post(line, messages[0] ?? {}, signal);
      const answer = tryJson(text);
      if (isRpc(answer)) {
        this.#rememberVersion(messages[0], answer);
        return [JSON.stringify(withId(answer, ids))];
      }
      if (status >= 200 && status < 300 && ids.length === 0) return [];
      const { error = `HTTP ${status}`, detail = "no answer" } = isJson(answer) ? answer : {};
      return refuse(`The mesh daemon refused the request: ${error}: ${detail}`);
    } catch (error) {
      return signal.aborted ? [] : refuse(explainFailure(error));
    }
  }

  /**
   * Posts a message. The token is read only after a 401, because loading the configuration takes
   * longer than everything else. A later 401 means that the token has changed, so it is read again.
   */
  async #post(body: string, message: JsonObject, signal: AbortSignal): Promise<LocalResponse> {
    const response = await this.#send(body, message, signal);
    if (response.status !== 401) return response;
    const { readConfig } = await import("../../daemon/app/config.ts");
    this.#token = readConfig(this.#env, readTextOrNothing)["daemon.auth_token"]?.reveal();
    return await this.#send(body, message, signal);
  }

  async #send(body: string, message: JsonObject, signal: AbortSignal): Promise<LocalResponse> {
    const headers = {
      accept: "application/json, text/event-stream",
      "x-mesh-pid": String(Deno.pid),
      ...(this.#token && { authorization: `Bearer ${this.#token}` }),
      ...this.#protocol(message),
    };
    const deadline = { clock: systemClock, ms: ANSWER_MS_MAX };
    const request = { url: this.#address(), method: "POST", headers, body, signal, deadline };
    try {
      return await sendLocally(request);
    } catch (error) {
      throw new UnansweredError(messageOf(error), { cause: error });
    }
  }

  /** Read on each call, because a restarted daemon may use another port. */
  #address(): URL {
    const daemon = runningDaemon(this.#env);
    if (!daemon) throw new DaemonNotRunningError("The mesh daemon is not running");
    return new URL("/mcp", daemon.url);
  }

  /** The headers that repeat parts of a message. They depend on the message's protocol version. */
  #protocol(message: JsonObject): Record<string, string> {
    const { method, params } = message;
    const fields = isJson(params) ? params : {};
    const meta = fields["_meta"];
    const version = isJson(meta) ? meta[VERSION_KEY] : undefined;
    if (typeof version !== "string" || typeof method !== "string") {
      const agreedVersion = method === "initialize" ? undefined : this.#version;
      return agreedVersion === undefined ? {} : { "mcp-protocol-version": agreedVersion };
    }
    const name = fields[NAME_PARAMETER.get(method) ?? ""];
    return {
      "mcp-protocol-version": version,
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": toHeader(name) }),
    };
  }

  #rememberVersion(message: JsonObject | undefined, answer: unknown): void {
    if (message?.["method"] !== "initialize" || !isJson(answer)) return;
    const { result } = answer;
    const version = isJson(result) ? result["protocolVersion"] : undefined;
    if (typeof version === "string") this.#version = version;
  }
}

class DaemonNotRunningError extends Error {
  override readonly name = "DaemonNotRunningError";
}

/** The daemon could not be reached, or closed the connection before it answered. */
class UnansweredError extends Error {
  override readonly name = "UnansweredError";
}

/** One sentence for the model and its user: what failed and what to do. */
function explainFailure(error: unknown): string {
  const reason = messageOf(error);
  if (error instanceof DaemonNotRunningError) return `${reason}: start it with \`mesh up\``;
  if (!(error instanceof UnansweredError)) return reason;
  // Only this error proves that no connection was made. Any other error may occur after the daemon
  // received the request.
  if (error.cause instanceof Deno.errors.ConnectionRefused) {
    return "The mesh daemon does not answer: start it with `mesh up`";
  }
  if (reason.startsWith("The daemon has not answered")) {
    return `${reason}; the request may still be carried out`;
  }
  return "The mesh daemon closed the connection; the request may still have been carried out";
}

/** The request id that a `notifications/cancelled` cancels; undefined for any other message. */
function cancelledBy({ method, params }: JsonObject): Id | undefined {
  if (method !== "notifications/cancelled" || !isJson(params)) return undefined;
  return toId(params["requestId"]);
}

/** The id of a message that is a request, as a list; empty for any other message. */
function requestId({ id, method }: JsonObject): Id[] {
  const known = method === undefined ? undefined : toId(id);
  return known === undefined ? [] : [known];
}

function toId(value: unknown): Id | undefined {
  return typeof value === "string" || typeof value === "number" ? value : undefined;
}

/** Adds the id to an error about an unreadable request, when only one request was sent. */
function withId(answer: unknown, [id, ...more]: readonly Id[]): unknown {
  const lacksId = isJson(answer) && (answer["id"] ?? null) === null;
  return lacksId && id !== undefined && more.length === 0 ? { ...answer, id } : answer;
}

function refusal(id: Id | null, code: number, message: string): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } });
}

/** A header value; text that is not plain ASCII is sent as base64 (MCP 2026-07-28). */
function toHeader(name: string): string {
  const isAscii = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(name) && !name.startsWith("=?");
  return isAscii ? name : `=?base64?${new TextEncoder().encode(name).toBase64()}?=`;
}

function isRpc(value: unknown): boolean {
  return [value].flat().some((item) => isJson(item) && item["jsonrpc"] === "2.0");
}

function isJson(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
