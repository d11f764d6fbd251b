/** One daemon's connection: its greeting, then requests to it, then its end. */

import type { Clock } from "kit/core/clock.ts";
import { readUpTo } from "kit/http/body.ts";
import { invalidRequest, Problem } from "kit/core/problem.ts";
import { tryJson } from "kit/core/text.ts";
import {
  CLOSE,
  type CloseReason,
  type Greeting,
  GREETING_MS_MAX,
  HEAD_BYTES_MAX,
  Hello,
  PROTOCOL,
  REQUEST_BYTES_MAX,
  RequestHead,
} from "kit/net/tunnel/frames.ts";
import { requestHeaders, responseHeaders } from "kit/net/tunnel/headers.ts";
import type { Data, Ears, Line } from "kit/net/tunnel/connection.ts";
import { type Body, Broken, type Bytes, leave, type Stream } from "kit/net/tunnel/stream.ts";
import { Trunk } from "kit/net/tunnel/multiplexed.ts";
import type { Machine, MachineRequest } from "./contract.ts";

/** What the upgrade proved. */
export interface Dialled {
  readonly namespace: string;
  readonly daemon_id: string;
  /** From where, as the rate limits count it. */
  readonly address?: string;
}

export interface LinkNeeds {
  readonly clock: Clock;
  /** It said hello in our version. */
  greeted(link: Link): void;
  left(link: Link, why: string): void;
}

/** Answers that have no body, whatever was sent. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);
/** What a frame has beside what was asked: its type and its number. */
const FRAME_BYTES = 64;
const encoder = new TextEncoder();
const Asked = RequestHead.omit({ type: true, id: true });

export class Link implements Ears {
  readonly dialled: Dialled;
  readonly since: number;
  readonly #needs: LinkNeeds;
  /** When requests without an answer are given up. */
  readonly #due = new Map<Stream, number>();
  readonly #late = new WeakSet<Stream>();
  /** Bytes of answers that are wanted whole, and are not whole yet. */
  readonly #gathered = new Map<Stream, number>();
  #line: Line | undefined;
  #hello: Hello | undefined;
  #trunk: Trunk | undefined;

  constructor(dialled: Dialled, needs: LinkNeeds) {
    this.dialled = dialled;
    this.#needs = needs;
    this.since = needs.clock.now();
  }

  /** The line that it stands on; it is given once, at once. */
  stand(line: Line): void {
    this.#line = line;
  }

  /** Requests under way. */
  get size(): number {
    return this.#trunk?.size ?? 0;
  }

  /** Unread answers, answers that are gathered whole, and what the daemon has not taken. */
  get held_bytes(): number {
    return (this.#trunk?.held_bytes ?? 0) + this.#gathered_bytes + this.#untaken_bytes;
  }

  get #untaken_bytes(): number {
    return this.#line?.open ? this.#line.buffered : 0;
  }

  get #gathered_bytes(): number {
    return this.#gathered.values().reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Gives up some of what it holds: the line, if its daemon takes nothing, else an answer. */
  shed(): void {
    const trunk = this.#trunk;
    const gathered = this.#gathered_bytes;
    if (!trunk || this.#untaken_bytes > trunk.held_bytes + gathered) return this.end("too_slow");
    if (trunk.held_bytes > gathered) return trunk.cutOffSlowest();
    const [largest] = [...this.#gathered].sort(([, a], [, b]) => b - a);
    if (!largest) return;
    this.#gathered.delete(largest[0]);
    largest[0].cutOff("the relay holds too much");
  }

  /** The record of it; undefined before it was greeted. */
  get machine(): Machine | undefined {
    if (!this.#hello) return undefined;
    const { machine, version, capabilities } = this.#hello;
    const { daemon_id } = this.dialled;
    return { daemon_id, machine, connected_at: this.since, version, capabilities };
  }

  opened(): void {
    // The daemon speaks first.
  }

  heard(data: Data): void {
    if (this.#trunk) this.#trunk.heard(data);
    else this.#greet(data);
  }

  closed(_code: number, reason: string): void {
    this.#trunk?.gone("the tunnel broke");
    this.#needs.left(this, reason || "the line was lost");
  }

  /** Once a second: signs of life, and what takes too long. */
  beat(now: number): void {
    if (!this.#trunk) {
      if (now - this.since >= GREETING_MS_MAX) this.end("not_hello");
      return;
    }
    this.#trunk.beat(now);
    for (const [stream, due_at] of this.#due) {
      if (due_at > now) continue;
      this.#late.add(stream);
      stream.cancel("timed out");
    }
  }

  end(why: CloseReason): void {
    if (this.#trunk) this.#trunk.end(why);
    else this.#line?.close(CLOSE[why], why);
  }

  /** The daemon's answer, once its head is here. Refuses with one of `UNREACHABLE`. */
  async request(request: MachineRequest): Promise<Response> {
    const { daemon_id } = this.dialled;
    const asked = askedOf(request);
    request.signal?.throwIfAborted();
    const trunk = this.#trunk;
    const reason = trunk ? trunk.full : "it has not said hello yet";
    if (!trunk || reason !== undefined) {
      const fields = { daemon_id, reason: reason ?? "", may_have_been_delivered: false };
      throw new Problem("machine_offline", fields);
    }
    const stream = trunk.ask(asked);
    const upload = new Upload(stream, request);
    this.#due.set(stream, this.#needs.clock.now() + request.timeout_ms);
    const leave = () => stream.cancel("nobody waits for it");
    request.signal?.addEventListener("abort", leave, { once: true, signal: stream.ended });
    try {
      const { head, body } = await stream.answer.promise;
      const whole = await this.#whole(stream, { status: head.status, body }, request);
      return toResponse(head.status, head.headers, whole);
    } catch (fault) {
      request.signal?.throwIfAborted();
      if (upload.fault instanceof Problem) throw upload.fault;
      throw this.#explain(fault, stream, request);
    } finally {
      this.#due.delete(stream);
      this.#gathered.delete(stream);
    }
  }

  /** The body as it comes, or all of it, where it is wanted whole: what breaks it is told alike. */
  async #whole(
    stream: Stream,
    { status, body }: { status: number; body: Body | null },
    { whole_bytes_max }: MachineRequest,
  ) {
    if (!body || whole_bytes_max === undefined || BODILESS.has(status)) return body;
    const bytes = await readUpTo(body, whole_bytes_max, (held) => {
      this.#gathered.set(stream, held);
    });
    if (bytes) return bytes;
    throw new Problem("bad_daemon_answer", { daemon_id: this.dialled.daemon_id });
  }

  #explain(fault: unknown, stream: Stream, { timeout_ms }: MachineRequest): unknown {
    if (!(fault instanceof Broken)) return fault;
    const { daemon_id } = this.dialled;
    const may_have_been_delivered = fault.taken;
    if (this.#late.has(stream)) {
      return new Problem("timed_out", { daemon_id, timeout_ms, may_have_been_delivered });
    }
    const reason = fault.message;
    return new Problem("machine_offline", { daemon_id, reason, may_have_been_delivered });
  }

  /** The first frame. A version that we do not speak is refused by its number. */
  #greet(data: Data): void {
    const json = typeof data === "string" && data.length <= HEAD_BYTES_MAX
      ? tryJson(data)
      : undefined;
    const hello = Hello.safeParse(json);
    if (!hello.success || !this.#line) return this.#refuse(json);
    this.#hello = hello.data;
    this.#trunk = new Trunk(this.#line, { clock: this.#needs.clock });
    this.#say({ type: "welcome", protocol: PROTOCOL });
    this.#needs.greeted(this);
  }

  #refuse(json: unknown): void {
    const { type, protocol } = typeof json === "object" && json !== null
      ? json as { type?: unknown; protocol?: unknown }
      : {};
    if (type === "hello" && typeof protocol === "number" && protocol !== PROTOCOL) {
      const detail = `The daemon speaks version ${protocol} of the tunnel, the relay ${PROTOCOL}`;
      this.#say({ type: "refused", error: "unknown_protocol", detail });
      return this.end("unknown_protocol");
    }
    const detail = `The first frame is no hello of version ${PROTOCOL}`;
    this.#say({ type: "refused", error: "not_hello", detail });
    this.end("not_hello");
  }

  #say(frame: Greeting): void {
    if (this.#line?.open) this.#line.send(JSON.stringify(frame));
  }
}

/** Checked before it leaves: a head that the daemon cannot take would end the tunnel for all. */
function askedOf({ method, path, headers = {}, body, door = "program" }: MachineRequest) {
  const asked = Asked.safeParse({
    method,
    path,
    headers: requestHeaders(Object.entries(headers)),
    body: body !== undefined,
    door,
  });
  if (!asked.success) throw invalidRequest(asked.error);
  const bytes_max = HEAD_BYTES_MAX - FRAME_BYTES;
  if (encoder.encode(JSON.stringify(asked.data)).length > bytes_max) {
    throw new Problem("body_too_large", { bytes_max });
  }
  return asked.data;
}

/** The body on its way to the daemon, and what stopped it where it came from. */
class Upload {
  fault: unknown;

  constructor(stream: Stream, { body }: MachineRequest) {
    if (body === undefined) return;
    const open_ended = body instanceof ReadableStream;
    const whole = open_ended ? body.pipeThrough(bound(REQUEST_BYTES_MAX)) : new Response(body).body;
    if (whole) stream.send(whole).catch((fault) => this.fault = fault);
  }
}

function bound(bytes_max: number): TransformStream<Uint8Array<ArrayBuffer>> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes > bytes_max) throw new Problem("body_too_large", { bytes_max });
      controller.enqueue(chunk);
    },
  });
}

function toResponse(
  status: number,
  said: [string, string][],
  body: Body | Bytes | null,
): Response {
  const headers = new Headers();
  for (const [name, value] of responseHeaders(said)) headers.append(name, value);
  if (BODILESS.has(status)) {
    if (body instanceof ReadableStream) void leave(body);
    return new Response(null, { status, headers });
  }
  return new Response(body, { status, headers });
}
