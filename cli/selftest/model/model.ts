/** A scripted model behind Anthropic's Messages interface: real agents take real turns on it. */

import * as z from "zod";
import { systemClock } from "kit/core/clock.ts";
import type { Rule, Step } from "../../../daemon/features/agents/selftest/fixture.ts";
import { countOf, Gate, type Held, onLoopback, type Scripted } from "./scripted.ts";

const PIECE = /[^]{1,40}/g;
const USAGE = { input_tokens: 100, output_tokens: 20 };

const Part = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  content: z.unknown().optional(),
});
const Content = z.union([z.string().transform((text) => [{ type: "text", text }]), z.array(Part)]);
const Body = z.looseObject({
  model: z.string().default("scripted"),
  stream: z.boolean().default(false),
  messages: z.array(z.looseObject({ role: z.string(), content: Content })).default([]),
  tools: z.array(z.looseObject({ name: z.string().default("") })).default([]),
  output_config: z.looseObject({ format: z.unknown().optional() }).optional(),
});
type Body = z.infer<typeof Body>;

/** One request, as far as anyone asks about it. */
export interface Seen {
  readonly at: number;
  /** What the user, or another session, said last. */
  readonly prompt: string;
  /** Results of the tools that were called since. */
  readonly results: readonly string[];
  readonly tools: readonly string[];
  /** All that was sent, as JSON. */
  readonly raw: string;
}

interface Answer {
  readonly pause_ms: number;
  readonly text: string;
  readonly call?: { readonly name: string; readonly args: unknown };
}

export class Model implements Scripted {
  readonly requests: Seen[] = [];
  readonly #gate = new Gate();
  readonly #rules: readonly Rule[];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  #ids = 0;

  constructor(rules: readonly Rule[] = []) {
    this.#rules = rules;
    this.#server = onLoopback((request) => this.#serve(request));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Requests of turns (not of titles and the like) whose last prompt holds this text. */
  asked(text: string): Seen[] {
    return this.requests.filter(({ prompt, tools }) => tools.length > 0 && prompt.includes(text));
  }

  times(text: string): number {
    const turns = this.requests.filter(({ tools }) => tools.length > 0);
    return Math.max(0, ...turns.map(({ raw }) => countOf(text, raw)));
  }

  hold(): Held {
    return this.#gate.hold();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#gate.open();
    await this.#server.shutdown();
  }

  async #serve(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname.endsWith("/count_tokens")) return Response.json({ input_tokens: 100 });
    if (request.method !== "POST" || !pathname.endsWith("/messages")) return Response.json({});
    const raw = await request.text();
    const body = Body.parse(JSON.parse(raw));
    const seen = { at: systemClock.now(), ...viewOf(body), raw };
    this.requests.push(seen);
    const answer = this.#answer(seen, body);
    await systemClock.sleep(answer.pause_ms);
    if (seen.tools.length > 0) await this.#gate.pass();
    return body.stream ? this.#streamed(body, answer) : this.#whole(body, answer);
  }

  #answer({ prompt, results, tools }: Seen, { output_config }: Body): Answer {
    if (output_config?.format !== undefined) {
      return { pause_ms: 0, text: JSON.stringify({ title: "Scripted", isNewTopic: true }) };
    }
    const steps = stepsIn(prompt) ?? stepsFor(this.#rules, prompt);
    if (!steps || tools.length === 0) return { pause_ms: 0, text: `ECHO ${prompt.length}` };
    const { pause_ms, text, next } = nextOf(steps, results);
    if (next) {
      return { pause_ms, text, call: { name: named(next.tool, tools), args: next.args ?? {} } };
    }
    return { pause_ms, text: text || `DONE ${results.length}` };
  }

  #whole({ model }: Body, { text, call }: Answer): Response {
    const content = [
      ...(text ? [{ type: "text", text }] : []),
      ...(call
        ? [{ type: "tool_use", id: this.#id("toolu"), name: call.name, input: call.args }]
        : []),
    ];
    return Response.json({ ...this.#head(model), content, ...endOf(call), usage: USAGE });
  }

  #streamed({ model }: Body, { text, call }: Answer): Response {
    const events: string[] = [];
    const tell = (type: string, fields: Record<string, unknown>) =>
      void events.push(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
    const block = (index: number, content_block: unknown, deltas: readonly unknown[]) => {
      tell("content_block_start", { index, content_block });
      for (const delta of deltas) tell("content_block_delta", { index, delta });
      tell("content_block_stop", { index });
    };
    tell("message_start", {
      message: { ...this.#head(model), content: [], stop_reason: null, usage: USAGE },
    });
    if (text) {
      const pieces = text.match(PIECE) ?? [];
      const deltas = pieces.map((piece) => ({ type: "text_delta", text: piece }));
      block(0, { type: "text", text: "" }, deltas);
    }
    if (call) {
      const tool = { type: "tool_use", id: this.#id("toolu"), name: call.name, input: {} };
      const delta = { type: "input_json_delta", partial_json: JSON.stringify(call.args) };
      block(text ? 1 : 0, tool, [delta]);
    }
    tell("message_delta", { delta: endOf(call), usage: { output_tokens: 20 } });
    tell("message_stop", {});
    return new Response(events.join(""), { headers: { "content-type": "text/event-stream" } });
  }

  #head(model: string) {
    return { id: this.#id("msg"), type: "message", role: "assistant", model, stop_sequence: null };
  }

  #id(prefix: string): string {
    return `${prefix}_${String(++this.#ids).padStart(20, "0")}`;
  }
}

function endOf(call: Answer["call"]) {
  return { stop_reason: call ? "tool_use" : "end_turn", stop_sequence: null };
}

/** The last prompt and what has happened since; what the agent adds as a reminder is no prompt. */
function viewOf({ messages, tools }: Body): Pick<Seen, "prompt" | "results" | "tools"> {
  let prompt = "";
  let results: string[] = [];
  for (const { role, content } of messages) {
    if (role !== "user") continue;
    const returned = content.filter(({ type }) => type === "tool_result");
    results.push(...returned.map((part) => textOf(part)));
    const text = content.filter(({ type }) => type === "text").map(textOf)
      .filter((said) => !/^\s*<system-reminder>[^]*<\/system-reminder>\s*$/.test(said)).join("\n");
    // Beside results stands what came in while a tool ran: a prompt only if it says something.
    if (text.trim() === "" || (returned.length > 0 && !/@@|\[mesh\]/.test(text))) continue;
    [prompt, results] = [text, []];
  }
  return { prompt, results, tools: tools.map(({ name }) => name) };
}

function textOf(part: { text?: string | undefined; content?: unknown }): string {
  const { text, content } = part;
  if (text !== undefined) return text;
  if (typeof content === "string") return content;
  const parts = z.array(Part).safeParse(content);
  return parts.success ? parts.data.map(textOf).join("\n") : "";
}

/** `@@TOOL name {json}`, `@@SAY text`, `@@SLEEP ms`: a prompt that brings its own script. */
function stepsIn(prompt: string): Step[] | undefined {
  const steps = prompt.split("\n").flatMap((line): Step[] => {
    const [, verb = "", word = "", rest = ""] = /@@(TOOL|SAY|SLEEP)\s+(\S+)\s*(.*)/.exec(line) ??
      [];
    if (verb === "SAY") return [{ say: `${word} ${rest}`.trimEnd() }];
    if (verb === "SLEEP") return [{ sleep_ms: Number(word) }];
    if (verb !== "TOOL") return [];
    return [{ tool: word, args: rest === "" ? {} : JSON.parse(rest) }];
  });
  return steps.length > 0 ? steps : undefined;
}

/** A tool by its full name, or by its end: `ask` is `mcp__mesh__ask`. */
function named(tool: string, tools: readonly string[]): string {
  return tools.find((name) => name === tool) ??
    tools.find((name) => name.endsWith(`__${tool}`)) ?? tool;
}

/** What the first rule that matches says, with its captures put in. */
export function stepsFor(rules: readonly Rule[], prompt: string): readonly Step[] | undefined {
  for (const { match, steps } of rules) {
    const found = match.exec(prompt);
    if (found) return steps.map((step) => filled(step, found));
  }
  return undefined;
}

export type ToolStep = Extract<Step, { readonly tool: string }>;

/** What follows these results: a text, and a call behind it where there is one yet. */
export function nextOf(
  steps: readonly Step[],
  results: readonly string[],
): { pause_ms: number; text: string; next?: ToolStep } {
  let done = results.length;
  let pause_ms = 0;
  const said: string[] = [];
  for (const step of steps) {
    if ("say" in step) said.push(step.say.replaceAll("${result}", results.at(-1) ?? ""));
    else if ("sleep_ms" in step) pause_ms += step.sleep_ms;
    else if (done-- > 0) [pause_ms, said.length] = [0, 0];
    else return { pause_ms, text: said.join("\n"), next: step };
  }
  return { pause_ms, text: said.join("\n") };
}

function filled(step: Step, captures: RegExpExecArray): Step {
  const fill = (text: string) => text.replace(/\$(\d)/g, (_, at) => captures[Number(at)] ?? "");
  if ("say" in step) return { say: fill(step.say) };
  if (!("tool" in step)) return step;
  const args = Object.entries(step.args ?? {}).map(([name, value]) => {
    return [name, typeof value === "string" ? fill(value) : value];
  });
  return { tool: step.tool, args: Object.fromEntries(args) };
}
