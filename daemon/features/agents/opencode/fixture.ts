/** opencode's self-test fixture: a home, a local model provider, and a dialog per command. */

import { join } from "kit/core/path.ts";
import type { Fixture } from "../selftest/fixture.ts";

/** The settings of a user with one model, which is at this address. */
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

export const opencodeFixture: Fixture = {
  model_api: "chat",
  rules(forbidden) {
    const args = { command: `touch ${forbidden}`, description: "Touches" };
    return [{ match: /^Touch it/, steps: [{ tool: "bash", args }] }];
  },
  files({ home, version }, model_url) {
    const folder = join(home, ".config", "opencode");
    const settings = { [join(folder, "opencode.json")]: opencodeSettings(model_url) };
    return { ...settings, ...opencodePackage(folder, version) };
  },
  env: () => OPENCODE_ENVIRONMENT,
  command: ["opencode"],
  resume: ["--continue"],
  isReady: (screen) => screen.includes("ctrl+p"),
  dialog: {
    prompt: (_, mark) => `${TOUCH}, ${mark}`,
    isOpen: (screen) => screen.includes("Allow once"),
    refusal: ["Right", "Right", "Enter"],
  },
  untested: {
    native: "its plugin connects over the websocket instead",
    pane: "used only while the plugin is not connected",
  },
};

/**
 * The package that opencode installs at its first start for every user with a plugin. Our plugin
 * does not use the package, so an empty one is put in its place to keep opencode from downloading
 * it.
 */
export function opencodePackage(folder: string, version: string): Record<string, unknown> {
  const name = "@opencode-ai/plugin";
  const dependencies = { [name]: version };
  // A package that the lock file names counts as installed.
  const packages = { "": { dependencies }, [`node_modules/${name}`]: { version } };
  const installed = join(folder, "node_modules", name);
  return {
    [join(folder, "package.json")]: { dependencies },
    [join(folder, "package-lock.json")]: { lockfileVersion: 3, requires: true, packages },
    [join(installed, "package.json")]: { name, version, type: "module", main: "index.js" },
    [join(installed, "index.js")]: "export {};\n",
  };
}
