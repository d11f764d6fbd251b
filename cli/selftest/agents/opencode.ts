/** opencode in a home of its own: with a provider on loopback, and asking before a command. */

import { join } from "node:path";
import { ChatModel } from "../model/chat.ts";
import { writeJson, writeText } from "../writing.ts";
import type { Specimen } from "../specimen.ts";

/** The settings of a user whose only model is behind that address. */
export function opencodeSettings(model_url: string) {
  const provider = {
    npm: "@ai-sdk/openai-compatible",
    name: "scripted",
    options: { baseURL: model_url, apiKey: "dummy" },
    models: { one: { name: "one" } },
  };
  return {
    autoupdate: false,
    share: "disabled",
    model: "scripted/one",
    small_model: "scripted/one",
    provider: { scripted: provider },
    permission: { bash: "ask" },
  };
}

export const OPENCODE_ENVIRONMENT = { OPENCODE_DISABLE_MODELS_FETCH: "1" } as const;

const TOUCH = "Touch it";

export const opencode: Specimen = {
  agent: "opencode",
  title: "opencode",
  program: "opencode",
  model(forbidden) {
    const args = { command: `touch ${forbidden}`, description: "Touches" };
    return new ChatModel([{ match: /^Touch it/, steps: [{ tool: "bash", args }] }]);
  },
  furnish({ home, version }, { url }) {
    const folder = join(home, ".config", "opencode");
    writeJson(join(folder, "opencode.json"), opencodeSettings(url));
    plantOpencodeKit(folder, version);
    return OPENCODE_ENVIRONMENT;
  },
  command: ["opencode"],
  resume: ["--continue"],
  isReady: (screen) => screen.includes("ctrl+p"),
  dialog: {
    prompt: (_, mark) => `${TOUCH}, ${mark}`,
    isOpen: (screen) => screen.includes("Allow once"),
    refusal: ["Right", "Right", "Enter"],
  },
  untested: {
    native: "its plugin is its way in, over the websocket",
    pane: "it is used only while the plugin is away",
  },
};

/**
 * opencode fetches this package for whoever has a plugin, at its first start. Ours needs nothing
 * of it, and nothing is to be fetched.
 */
export function plantOpencodeKit(folder: string, version: string): void {
  const name = "@opencode-ai/plugin";
  const dependencies = { [name]: version };
  writeJson(join(folder, "package.json"), { dependencies });
  // What the lock names counts as installed.
  const packages = { "": { dependencies }, [`node_modules/${name}`]: { version } };
  writeJson(join(folder, "package-lock.json"), { lockfileVersion: 3, requires: true, packages });
  const kit = join(folder, "node_modules", name);
  writeJson(join(kit, "package.json"), { name, version, type: "module", main: "index.js" });
  writeText(join(kit, "index.js"), "export {};\n");
}
