/** The agents that the self-test supports, with their fixtures and scripted models. */

import type { AgentDefinition } from "../../daemon/features/agents/definition.ts";
import { AGENTS } from "../../daemon/features/agents/registry.ts";
import type {
  Fixture,
  ModelApi,
  ScriptedReply,
} from "../../daemon/features/agents/selftest/fixture.ts";
import { ChatModel } from "./model/chat.ts";
import { GeminiModel } from "./model/gemini.ts";
import { MessagesModel } from "./model/messages.ts";
import { ResponsesModel } from "./model/responses.ts";
import type { ScriptedModel } from "./model/scripted_model.ts";

/** An agent under test: its definition, and the fixture that operates it. */
export interface Subject {
  readonly agent: Pick<AgentDefinition, "id" | "title" | "silent_until_prompt">;
  readonly fixture: Fixture;
}

export const TESTABLE_AGENTS: readonly AgentDefinition[] = AGENTS.filter(({ fixture }) => fixture);

const MODELS: Readonly<Record<ModelApi, new (rules: readonly ScriptedReply[]) => ScriptedModel>> = {
  messages: MessagesModel,
  responses: ResponsesModel,
  chat: ChatModel,
  "generate-content": GeminiModel,
};

/** Starts the model that answers an agent. */
export function createModel({ model_api, rules }: Fixture, forbidden: string): ScriptedModel {
  return new MODELS[model_api](rules?.(forbidden) ?? []);
}
