/** A scripted model with Anthropic's Messages API, and the steps that all models share. */

import * as z from "zod";
import { systemClock } from "kit/core/clock.ts";
import type { ScriptedReply, Step } from "../../../daemon/features/agents/selftest/fixture.ts";
import { eventStream, ModelServer, typedFrame } from "./scripted_model.ts";

const TEXT_CHUNK = /[^]{1,40}/g;
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
  system: Content.default([]),
  messages: z.array(z.looseObject({ role: z.string(), content: Content })).default([]),
  tools: z.array(z.looseObject({ name: z.string().default("") })).default([]),
  output_config: z.looseObject({ format: z.unknown().optional() }).optional(),
});
type Body = z.infer<typeof Body>;

interface ModelRequest {
  readonly at: number;
  /** The last prompt of the user or of another session. */
  readonly prompt: string;
  /** The system's texts, with the context that hooks have added. */
  readonly context: string;
  /** Results of tools since the last prompt. */
  readonly results: readonly string[];
  readonly tools: readonly string[];
  /** The whole request body, as JSON. */
  readonly raw: string;
}

interface Answer {
  readonly pause_ms: number;
  readonly text: string;
  readonly call?: { readonly name: string; readonly args: unknown };
}

export class MessagesModel extends ModelServer {
  readonly requests: ModelRequest[] = [];

  /** Requests whose last prompt contains this text, without requests for a conversation's title. */
  asked(text: string): ModelRequest[] {
    return this.requests.filter(({ prompt, tools }) => tools.length > 0 && prompt.includes(text));
  }

  override transcripts(): readonly string[] {
    return this.requests.filter(({ tools }) => tools.length > 0).map(({ raw }) => raw);
  }

  protected override async serve(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname.endsWith("/count_tokens")) return Response.json({ input_tokens: 100 });
    if (request.method !== "POST" || !pathname.endsWith("/messages")) return Response.json({});
    const raw = await request.text();
    const body = Body.parse(JSON.parse(raw));
    const modelRequest = { at: systemClock.now(), ...parseConversation(body), raw };
    this.requests.push(modelRequest);
    const answer = this.#answer(modelRequest, body);
    await systemClock.sleep(answer.pause_ms);
    if (modelRequest.tools.length > 0) await this.whileHeld();
    return body.stream ? this.#toEventStream(body, answer) : this.#toJson(body, answer);
  }

  #answer({ prompt, context, results, tools }: ModelRequest, { output_config }: Body): Answer {
    if (output_config?.format !== undefined) {
      return { pause_ms: 0, text: JSON.stringify({ title: "Scripted", isNewTopic: true }) };
    }
    const steps = parseSteps(prompt) ?? matchSteps(this.rules, prompt, context);
    if (!steps || tools.length === 0) return { pause_ms: 0, text: `ECHO ${prompt.length}` };
    const { pause_ms, text, next } = nextStep(steps, results);
    if (!next) return { pause_ms, text: text || `DONE ${results.length}` };
    const call = { name: resolveTool(next.tool, tools), args: next.args ?? {} };
    return { pause_ms, text, call };
  }

  #toJson({ model }: Body, { text, call }: Answer): Response {
    const content = [
      ...(text ? [{ type: "text", text }] : []),
      ...(call
        ? [{ type: "tool_use", id: this.id("toolu"), name: call.name, input: call.args }]
        : []),
    ];
    const message = { ...this.#messageFields(model), content, ...stopFields(call), usage: USAGE };
    return Response.json(message);
  }

  #toEventStream({ model }: Body, { text, call }: Answer): Response {
    const events: string[] = [];
    const emit = (type: string, fields: Record<string, unknown>) =>
      void events.push(typedFrame(type, fields));
    const block = (index: number, content_block: unknown, deltas: readonly unknown[]) => {
      emit("content_block_start", { index, content_block });
      for (const delta of deltas) emit("content_block_delta", { index, delta });
      emit("content_block_stop", { index });
    };
    emit("message_start", {
      message: { ...this.#messageFields(model), content: [], stop_reason: null, usage: USAGE },
    });
    if (text) {
      const textChunks = text.match(TEXT_CHUNK) ?? [];
      const deltas = textChunks.map((textChunk) => ({ type: "text_delta", text: textChunk }));
      block(0, { type: "text", text: "" }, deltas);
    }
    if (call) {
      const tool = { type: "tool_use", id: this.id("toolu"), name: call.name, input: {} };
      const delta = { type: "input_json_delta", partial_json: JSON.stringify(call.args) };
      block(text ? 1 : 0, tool, [delta]);
    }
    emit("message_delta", { delta: stopFields(call), usage: { output_tokens: 20 } });
    emit("message_stop", {});
    return eventStream(events);
  }

  #messageFields(model: string) {
    return { id: this.id("msg"), type: "message", role: "assistant", model, stop_sequence: null };
  }
}

function stopFields(call: Answer["call"]) {
  return { stop_reason: call ? "tool_use" : "end_turn", stop_sequence: null };
}

/** The agent's own reminders, which are no prompts. */
const REMINDER = /^\s*<system-reminder>[^]*<\/system-reminder>\s*$/;

/** The last prompt and the tool results since that prompt. */
function parseConversation(
  { system, messages, tools }: Body,
): Pick<ModelRequest, "prompt" | "context" | "results" | "tools"> {
  let prompt = "";
  let results: string[] = [];
  for (const { role, content } of messages) {
    if (role !== "user") continue;
    const toolResults = content.filter(({ type }) => type === "tool_result");
    results.push(...toolResults.map((part) => toText(part)));
    const texts = content.filter(({ type }) => type === "text").map(toText);
    const text = texts.filter((block) => !REMINDER.test(block)).join("\n");
    // Text beside tool results is a prompt only if it has directives or a message from mesh.
    if (text.trim() === "" || (toolResults.length > 0 && !/@@|\[mesh\]/.test(text))) continue;
    [prompt, results] = [text, []];
  }
  const blocks = messages.flatMap(({ role, content }) =>
    content.filter((part) => role === "system" || REMINDER.test(toText(part)))
  );
  const context = [...system, ...blocks].map(toText).join("\n");
  return { prompt, context, results, tools: tools.map(({ name }) => name) };
}

function toText(part: { text?: string | undefined; content?: unknown }): string {
  const { text, content } = part;
  if (text !== undefined) return text;
  if (typeof content === "string") return content;
  const parts = z.array(Part).safeParse(content);
  return parts.success ? parts.data.map(toText).join("\n") : "";
}

/** The steps in a prompt's own directives: `@@TOOL name {json}`, `@@SAY text`, `@@SLEEP ms`. */
function parseSteps(prompt: string): Step[] | undefined {
  const steps = prompt.split("\n").flatMap((line): Step[] => {
    const parts = /@@(TOOL|SAY|SLEEP)\s+(\S+)\s*(.*)/.exec(line) ?? [];
    const [, directive, argument = "", rest = ""] = parts;
    if (directive === "SAY") return [{ say: `${argument} ${rest}`.trimEnd() }];
    if (directive === "SLEEP") return [{ sleep_ms: Number(argument) }];
    if (directive !== "TOOL") return [];
    return [{ tool: argument, args: rest === "" ? {} : JSON.parse(rest) }];
  });
  return steps.length > 0 ? steps : undefined;
}

/** Finds a tool by its full name or its suffix, so that `ask` finds `mcp__mesh__ask`. */
function resolveTool(tool: string, tools: readonly string[]): string {
  return tools.find((name) => name === tool) ??
    tools.find((name) => name.endsWith(`__${tool}`)) ?? tool;
}

/** The steps of the first matching rule, with its captures filled in. */
export function matchSteps(
  rules: readonly ScriptedReply[],
  prompt: string,
  given = "",
): readonly Step[] | undefined {
  for (const { match, context, steps } of rules) {
    const matched = match.exec(prompt);
    const found = matched && context ? context.exec(given) : matched;
    if (found) return steps.map((step) => fillStep(step, found));
  }
  return undefined;
}

export type ToolStep = Extract<Step, { readonly tool: string }>;

/** The answer after these tool results: text, and the next tool call if there is one. */
export function nextStep(
  steps: readonly Step[],
  results: readonly string[],
): { pause_ms: number; text: string; next?: ToolStep } {
  let done = results.length;
  let pause_ms = 0;
  const texts: string[] = [];
  for (const step of steps) {
    if ("say" in step) texts.push(step.say.replaceAll("${result}", results.at(-1) ?? ""));
    else if ("sleep_ms" in step) pause_ms += step.sleep_ms;
    else if (done-- > 0) [pause_ms, texts.length] = [0, 0];
    else return { pause_ms, text: texts.join("\n"), next: step };
  }
  return { pause_ms, text: texts.join("\n") };
}

function fillStep(step: Step, captures: RegExpExecArray): Step {
  const fill = (text: string) => text.replace(/\$(\d)/g, (_, at) => captures[Number(at)] ?? "");
  if ("say" in step) return { say: fill(step.say) };
  if (!("tool" in step)) return step;
  const args = Object.entries(step.args ?? {}).map(([name, value]) => {
    return [name, typeof value === "string" ? fill(value) : value];
  });
  return { tool: step.tool, args: Object.fromEntries(args) };
}
