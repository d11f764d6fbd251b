/**
 * A scripted model with OpenAI's Responses API, for Codex. Translates requests for `MessagesModel`.
 */

import * as z from "zod";
import type { ScriptedReply } from "../../../daemon/features/agents/selftest/fixture.ts";
import { MessagesModel } from "./messages.ts";
import { eventStream, type HoldHandle, ModelServer, typedFrame } from "./scripted_model.ts";

const Part = z.looseObject({ text: z.string().optional() });
const Text = z.union([z.string(), z.array(Part)]).optional().catch(undefined);
const Item = z.looseObject({
  type: z.string().default("message"),
  role: z.string().optional(),
  content: Text,
  output: z.union([z.looseObject({ content: Text }).transform(({ content }) => content), Text]),
});
const NamedTool = z.looseObject({ type: z.string(), name: z.string().default("") });
const Tool = NamedTool.extend({ tools: z.array(NamedTool).default([]) });
const Body = z.looseObject({
  model: z.string(),
  input: z.array(Item),
  tools: z.array(Tool).default([]),
  text: z.looseObject({ format: z.looseObject({ type: z.string() }).optional() }).optional(),
});
type Body = z.infer<typeof Body>;

const MessagesResponse = z.looseObject({
  content: z.array(z.looseObject({
    type: z.string(),
    text: z.string().optional(),
    name: z.string().optional(),
    input: z.unknown().optional(),
  })),
});
type MessagesResponse = z.infer<typeof MessagesResponse>;

/** Matches context that Codex sends as user messages, which are not prompts. */
const CONTEXT_PROMPTS =
  /^\s*(<(environment_context|user_instructions|permissions|skills|INSTRUCTIONS)|# AGENTS\.md)/;

/** Serves the Responses API on a free loopback port, backed by its own `MessagesModel`. */
export class ResponsesModel extends ModelServer {
  readonly model: MessagesModel;

  constructor(rules: readonly ScriptedReply[] = []) {
    super(rules, "/v1");
    this.model = new MessagesModel(rules);
  }

  override transcripts(): readonly string[] {
    return this.model.transcripts();
  }

  override hold(): HoldHandle {
    return this.model.hold();
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.model[Symbol.asyncDispose]();
    await super[Symbol.asyncDispose]();
  }

  protected override async serve(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (request.method !== "POST" || !pathname.endsWith("/responses")) {
      return Response.json({ object: "list", data: [], models: [] });
    }
    const body = Body.parse(await request.json());
    const messagesRequest = { method: "POST", body: JSON.stringify(toMessagesRequest(body)) };
    const answer = await fetch(`${this.model.url}/v1/messages`, messagesRequest);
    return this.#answer(body, MessagesResponse.parse(await answer.json()));
  }

  /** The answer as an event stream with at most one text and one call. */
  #answer({ model, tools }: Body, { content }: MessagesResponse): Response {
    const events: string[] = [];
    const emit = (type: string, fields: Record<string, unknown>) =>
      void events.push(typedFrame(type, fields));
    const response = { id: this.id("resp"), object: "response", model, status: "in_progress" };
    emit("response.created", { response: { ...response, output: [] } });
    const output = content.map((part) => this.#item(part, tools));
    for (const [output_index, item] of output.entries()) {
      emit("response.output_item.added", { output_index, item });
      emit("response.output_item.done", { output_index, item });
    }
    const usage = { input_tokens: 100, output_tokens: 20, total_tokens: 120 };
    emit("response.completed", { response: { ...response, status: "completed", output, usage } });
    return eventStream(events);
  }

  #item(
    { type, text, name = "", input }: MessagesResponse["content"][number],
    tools: Body["tools"],
  ) {
    if (type === "text") {
      const content = [{ type: "output_text", text, annotations: [] }];
      const head = { id: this.id("msg"), type: "message", role: "assistant" };
      return { ...head, status: "completed", content };
    }
    const namespaceTool = tools.find((tool) =>
      name.startsWith(`${tool.name}__`) && tool.tools.length > 0
    );
    return {
      id: this.id("fc"),
      type: "function_call",
      call_id: this.id("call"),
      name: namespaceTool ? name.slice(namespaceTool.name.length + 2) : name,
      ...(namespaceTool && { namespace: namespaceTool.name }),
      arguments: JSON.stringify(input),
      status: "completed",
    };
  }
}

/** Converts a request to the Messages API; a tool in a namespace is named `namespace__tool`. */
function toMessagesRequest({ model, input, tools, text }: Body) {
  const messages = input.flatMap(({ type, role, content, output }): unknown[] => {
    const givenText = toText(content);
    if (type === "message" && role === "user" && !CONTEXT_PROMPTS.test(givenText)) {
      return [{ role, content: givenText }];
    }
    // The context that a hook adds.
    if (role === "developer") return [{ role: "system", content: givenText }];
    if (!type.endsWith("_output")) return [];
    return [{ role: "user", content: [{ type: "tool_result", content: toText(output) }] }];
  });
  const names = tools.flatMap(({ name, tools }) =>
    tools.length > 0 ? tools.map((tool) => `${name}__${tool.name}`) : [name]
  );
  const wantsTitle = text?.format?.type === "json_schema";
  return {
    model,
    messages,
    tools: names.map((name) => ({ name })),
    ...(wantsTitle && { output_config: { format: {} } }),
  };
}

function toText(content: z.infer<typeof Text>): string {
  if (content === undefined || typeof content === "string") return content ?? "";
  return content.map(({ text = "" }) => text).join("\n");
}
