/** A scripted model with OpenAI's Chat Completions API, for opencode and Copilot CLI. */

import * as z from "zod";
import type { ScriptedReply } from "../../../daemon/features/agents/selftest/fixture.ts";
import { matchSteps, nextStep, type ToolStep } from "./messages.ts";
import { eventStream, ModelServer } from "./scripted_model.ts";

const TEXT_CHUNK = /[^]{1,40}/g;
const USAGE = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };

const Part = z.looseObject({ text: z.string().default("") });
const Content = z.union([z.string(), z.array(Part)]).nullish();
const Body = z.looseObject({
  model: z.string().default("scripted"),
  messages: z.array(z.looseObject({ role: z.string(), content: Content })).default([]),
  tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }) })).default([]),
});
type Body = z.infer<typeof Body>;

/** One request that the agent sends to the model during a turn. */
export interface Turn {
  /** The prompts of the user and of peers, in order. */
  readonly prompts: readonly string[];
  /** Results of tools since the last prompt. */
  readonly results: readonly string[];
  readonly tools: readonly string[];
}

type Call = { readonly name: string; readonly args: unknown };

export class ChatModel extends ModelServer {
  readonly turns: Turn[] = [];
  #answers = 0;

  constructor(rules: readonly ScriptedReply[]) {
    super(rules, "/v1");
  }

  override transcripts(): readonly string[] {
    return this.turns.map(({ prompts, results }) => [...prompts, ...results].join("\n"));
  }

  /** The number of prompts in the newest request that contain this text. */
  promptOccurrences(text: string): number {
    return this.turns.at(-1)?.prompts.filter((prompt) => prompt.includes(text)).length ?? 0;
  }

  protected override async serve(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (!pathname.endsWith("/chat/completions")) return Response.json({ data: [] });
    const body = Body.parse(await request.json());
    if (body.tools.length === 0) return this.#answer(body, "A title");
    const turn = toTurn(body);
    this.turns.push(turn);
    await this.whileHeld();
    const { text, call } = this.#next(turn);
    return this.#answer(body, text, call);
  }

  #next({ prompts, results, tools }: Turn): { text: string; call?: Call } {
    const prompt = prompts.at(-1) ?? "";
    const { text, next } = nextStep(matchSteps(this.rules, prompt) ?? [], results);
    if (next) return { text, call: toCall(next, tools) };
    return { text: text || `ECHO ${prompt.length}` };
  }

  #answer({ model }: Body, text: string, call?: Call): Response {
    const id = `chatcmpl-${++this.#answers}`;
    const chunk = (delta: unknown, finish_reason: string | null = null, more = {}) => {
      const choices = [{ index: 0, delta, finish_reason }];
      const json = { id, object: "chat.completion.chunk", created: 1, model, choices, ...more };
      return `data: ${JSON.stringify(json)}\n\n`;
    };
    const textChunks = text.match(TEXT_CHUNK) ?? [];
    const tool = call && {
      index: 0,
      id: `call_${this.#answers}`,
      type: "function",
      function: { name: call.name, arguments: JSON.stringify(call.args) },
    };
    const events = [
      chunk({ role: "assistant", content: "" }),
      ...textChunks.map((content) => chunk({ content })),
      ...(tool ? [chunk({ tool_calls: [tool] })] : []),
      chunk({}, tool ? "tool_calls" : "stop", { usage: USAGE }),
      "data: [DONE]\n\n",
    ];
    return eventStream(events);
  }
}

function toTurn({ messages, tools }: Body): Turn {
  const prompts: string[] = [];
  let results: string[] = [];
  for (const { role, content } of messages) {
    const text = typeof content === "string"
      ? content
      : (content ?? []).map((part) => part.text).join("\n");
    if (role === "tool") results.push(text);
    if (role !== "user") continue;
    prompts.push(text);
    results = [];
  }
  return { prompts, results, tools: tools.map((tool) => tool.function.name) };
}

/** Finds a tool by its full name or its suffix, so that `ack` finds `mesh_ack` and `mesh-ack`. */
function toCall({ tool, args = {} }: ToolStep, tools: readonly string[]): Call {
  const name = tools.find((candidate) => candidate === tool) ??
    tools.find((candidate) => candidate.endsWith(`_${tool}`) || candidate.endsWith(`-${tool}`));
  return { name: name ?? tool, args };
}
