/** Gemini CLI: reached through its pane; its hooks and its screen report its turns. */

import { type Env, homePath } from "../../../host/paths.ts";
import type { AgentDefinition, AgentSetup } from "../definition.ts";

const home = (env: Env) => `${env["GEMINI_CLI_HOME"] || homePath(env)}/.gemini`;
const settingsFile = (env: Env) => `${home(env)}/settings.json`;

const setup: AgentSetup = {
  home,
  permission: '"trust"',
  async edits(env, plan) {
    return (await import("./setup.ts")).edits(settingsFile(env), plan);
  },
  async switchedOff(env, files) {
    return (await import("./setup.ts")).switchedOff(home(env), env, files);
  },
};

export const gemini: AgentDefinition = {
  id: "gemini",
  title: "Gemini CLI",
  programs: ["gemini", "gemini-cli"],
  tested_version: "0.61.0",
  transports: ["pane"],
  permission_modes: ["auto_edit", "yolo"],
  setup,
  hooks: {
    decision_events: [],
    pid_variable: "MESH_AGENT_PID",
    rewrite: (event) => event === "BeforeModel" ? withoutConversation : undefined,
  },
  async open(host) {
    const { geminiAdapter } = await import("./gemini.ts");
    const { geminiReader } = await import("./hooks.ts");
    const config_dir = home(host.env);
    return { adapter: geminiAdapter({ ...host, config_dir }), hooks: geminiReader(config_dir) };
  },
  async sessionFiles(env) {
    return (await import("./session_files.ts")).geminiSessionFiles(home(env));
  },
  fixture: async () => (await import("./fixture.ts")).geminiFixture,
};

/** Removes the conversation from a payload, and keeps only the model's name. */
function withoutConversation({ llm_request, ...payload }: Readonly<Record<string, unknown>>) {
  const model = typeof llm_request === "object" && llm_request !== null && "model" in llm_request
    ? llm_request.model
    : undefined;
  return { ...payload, llm_request: { model } };
}
