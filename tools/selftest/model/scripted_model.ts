/** Shared by the scripted models: the server, the ids, and answers that can be held back. */

import type { ScriptedReply } from "../../../daemon/features/agents/selftest/fixture.ts";

export interface ScriptedModel extends AsyncDisposable {
  readonly url: string;
  /** Occurrences of a text in the agent's conversation: the maximum over all requests. */
  occurrences(text: string): number;
  /** Holds back answers until released, so that the agent stays busy. */
  hold(): HoldHandle;
}

export interface HoldHandle {
  release(): void;
}

/** A model that serves its API on a free loopback port, under `path`. */
export abstract class ModelServer implements ScriptedModel {
  protected readonly rules: readonly ScriptedReply[];
  readonly #path: string;
  readonly #closing = new AbortController();
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  #held: PromiseWithResolvers<void> | undefined;
  /** Answers in place of the script, such as a provider does at a limit. */
  refusal: ((request: Request) => Response | Promise<Response> | undefined) | undefined;
  /** Headers of the script's answers, in which a provider says how far a plan is used. */
  headers: Readonly<Record<string, string>> = {};
  #ids = 0;

  constructor(rules: readonly ScriptedReply[] = [], path = "") {
    this.rules = rules;
    this.#path = path;
    const { signal } = this.#closing;
    const options = { port: 0, hostname: "127.0.0.1", signal, onListen: () => undefined };
    this.#server = Deno.serve(options, (request) => this.#answer(request));
  }

  async #answer(request: Request): Promise<Response> {
    const refused = await this.refusal?.(request);
    if (refused) return refused;
    const answer = await this.serve(request);
    for (const [name, value] of Object.entries(this.headers)) answer.headers.set(name, value);
    return answer;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}${this.#path}`;
  }

  occurrences(text: string): number {
    return Math.max(
      0,
      ...this.transcripts().map((transcript) => countOccurrences(text, transcript)),
    );
  }

  hold(): HoldHandle {
    const held = this.#held = Promise.withResolvers<void>();
    return { release: () => held.resolve() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#held?.resolve();
    // A shutdown would wait for the answers to an agent that was stopped while it read them.
    this.#closing.abort();
    await this.#server.finished;
  }

  protected abstract serve(request: Request): Promise<Response>;

  /** The conversation as text, for each request of the agent. */
  abstract transcripts(): readonly string[];

  /** Waits while answers are held back. */
  protected async whileHeld(): Promise<void> {
    await this.#held?.promise;
  }

  protected id(prefix: string): string {
    return `${prefix}_${String(++this.#ids).padStart(20, "0")}`;
  }
}

export function eventStream(frames: readonly string[]): Response {
  return new Response(frames.join(""), { headers: { "content-type": "text/event-stream" } });
}

/** The frame of an event whose data names its type. */
export function typedFrame(type: string, fields: Record<string, unknown>): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

export function countOccurrences(text: string, content: string): number {
  return content.split(text).length - 1;
}
