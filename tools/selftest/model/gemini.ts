/** A scripted model with Google's Gemini API; runs `@@TOOL` lines and answers peers' asks. */

import * as z from "zod";
import { matchSteps, nextStep } from "./messages.ts";
import { eventStream, ModelServer } from "./scripted_model.ts";

const USAGE = { promptTokenCount: 100, candidatesTokenCount: 20, totalTokenCount: 120 };

/** The answer to a request without tools: a choice of the model, or the title of a session. */
const ROUTE = JSON.stringify({ reasoning: "Scripted", model_choice: "flash" });

const Part = z.looseObject({
  text: z.string().optional(),
  functionCall: z.unknown().optional(),
  functionResponse: z.unknown().optional(),
});
const Body = z.looseObject({
  contents: z.array(z.looseObject({ role: z.string().optional(), parts: z.array(Part) })),
  tools: z.array(z.looseObject({
    functionDeclarations: z.array(z.looseObject({ name: z.string() })).default([]),
  })).default([]),
});

interface Call {
  readonly name: string;
  readonly args: unknown;
}

/** One request that the agent sends to the model during a turn. */
export interface Turn {
  readonly prompt: string;
  /** Results of tools since the prompt, as JSON. */
  readonly results: readonly string[];
}

export class GeminiModel extends ModelServer {
  readonly turns: Turn[] = [];
  readonly #transcripts: string[] = [];

  /** Turns whose prompt contains this text. */
  asked(text: string): Turn[] {
    return this.turns.filter(({ prompt }) => prompt.includes(text));
  }

  override transcripts(): readonly string[] {
    return this.#transcripts;
  }

  protected override async serve(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname.endsWith(":countTokens")) return Response.json({ totalTokens: 100 });
    const streams = pathname.endsWith(":streamGenerateContent");
    if (!streams && !pathname.endsWith(":generateContent")) return Response.json({});
    const { contents, tools } = Body.parse(await request.json());
    const turn = toTurn(contents);
    const names = tools.flatMap(({ functionDeclarations }) => functionDeclarations)
      .map(({ name }) => name);
    if (names.length > 0) {
      this.turns.push(turn);
      this.#transcripts.push(JSON.stringify(contents));
      await this.whileHeld();
    }
    const { text, call } = names.length > 0 ? this.#next(turn, names) : { text: ROUTE };
    const parts = [...(text ? [{ text }] : []), ...(call ? [{ functionCall: call }] : [])];
    const candidates = [{ index: 0, content: { role: "model", parts }, finishReason: "STOP" }];
    const answer = { candidates, usageMetadata: USAGE, modelVersion: "scripted" };
    if (!streams) return Response.json(answer);
    return eventStream([`data: ${JSON.stringify(answer)}\r\n\r\n`]);
  }

  #next(turn: Turn, names: readonly string[]): { text: string; call?: Call | undefined } {
    const { prompt, results } = turn;
    const steps = matchSteps(this.rules, prompt);
    if (steps) {
      const { text, next } = nextStep(steps, results);
      if (!next) return { text };
      // `wait_on_ack` ends with `_ack`, too.
      const name = names.find((name) => name.endsWith(`_mesh_${next.tool}`)) ??
        names.find((name) => name.endsWith(`_${next.tool}`)) ?? next.tool;
      return { text, call: { name, args: next.args ?? {} } };
    }
    const call = results.length === 0 ? toCall(turn, names) : undefined;
    return { text: call ? "" : `DONE ${results.length}`, call };
  }
}

/** The last prompt of the user, and the tool results since that prompt. */
function toTurn(contents: z.infer<typeof Body>["contents"]): Turn {
  let prompt = "";
  let results: string[] = [];
  for (const { role, parts } of contents) {
    if (role === "model") continue;
    const userText = parts.flatMap(({ text }) => text ?? []).join("\n");
    const toolResults = parts.filter(({ functionResponse }) => functionResponse !== undefined);
    results.push(...toolResults.map((part) => JSON.stringify(part)));
    if (userText.trim() !== "" && toolResults.length === 0) [prompt, results] = [userText, []];
  }
  return { prompt, results };
}

/** The call of a `@@TOOL name {json}` line, or the reply to a peer's ask. */
function toCall({ prompt }: Turn, names: readonly string[]): Call | undefined {
  const [, tool, rest = ""] = /@@TOOL (\S+) (\{.*)/.exec(prompt) ?? [];
  const json = rest.slice(0, rest.lastIndexOf("}") + 1);
  if (tool && json) return { name: tool, args: JSON.parse(json) };
  const [, correlation_id] = /<peer-message type="ask" id="(ask-[0-9a-f]+)"/.exec(prompt) ?? [];
  const name = names.find((name) => name === "mcp_mesh_ack");
  return correlation_id && name
    ? { name, args: { correlation_id, message: "Port 8080" } }
    : undefined;
}
