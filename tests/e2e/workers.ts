/** The real agents as an office hires them: a home past the first start, and a scripted model. */

import { join } from "node:path";
import { codexScreen } from "../../daemon/agents/codex/screen.ts";
import { copilotScreen } from "../../daemon/agents/copilot/screen.ts";
import { geminiScreen } from "../../daemon/agents/gemini/screen.ts";
import { opencodeScreen } from "../../daemon/agents/opencode/screen.ts";
import { codexConfig } from "../../cli/selftest/agents/codex.ts";
import { COPILOT, copilotConfig, copilotEnvironment } from "../../cli/selftest/agents/copilot.ts";
import { GEMINI, GEMINI_SETTINGS, geminiEnvironment } from "../../cli/selftest/agents/gemini.ts";
import {
  OPENCODE_ENVIRONMENT,
  opencodeSettings,
  plantOpencodeKit,
} from "../../cli/selftest/agents/opencode.ts";
import { ChatModel } from "../../cli/selftest/model/chat.ts";
import { GeminiWire } from "../../cli/selftest/model/gemini.ts";
import type { Rule } from "../../cli/selftest/model/model.ts";
import { ResponsesWire } from "../../cli/selftest/model/responses.ts";
import { copilotUnpacked, OPENCODE } from "./agents.ts";
import type { Lab } from "./lab.ts";
import type { Worker } from "./office.ts";
import { denoDir, run } from "./programs.ts";

export interface Copilot extends Worker {
  readonly model: ChatModel;
}

/** Its user has trusted the folder; the program unpacks itself once for all homes. */
export function hireCopilot(lab: Lab, bin: string, rules: readonly Rule[]): Copilot {
  lab.write("home/.copilot/config.json", copilotConfig([join(lab.dir, "api")]));
  Deno.mkdirSync(join(lab.dir, "home/.cache"));
  Deno.symlinkSync(copilotUnpacked(), join(lab.dir, "home/.cache/copilot"));
  const model = new ChatModel(rules);
  const env = copilotEnvironment(model.url);
  return { backend: "copilot", bin, command: COPILOT, env, composer: copilotScreen, model };
}

export function hireGemini(lab: Lab, bin: string, rules: readonly Rule[] = []): Worker {
  lab.write("home/.gemini/settings.json", GEMINI_SETTINGS);
  const model = new GeminiWire(rules);
  const env = geminiEnvironment(model.url);
  return { backend: "gemini", bin, command: GEMINI, env, composer: geminiScreen, model };
}

export function hireOpencode(lab: Lab, bin: string, rules: readonly Rule[]): Worker {
  const model = new ChatModel(rules);
  plantOpencodeKit(join(lab.dir, "home/.config/opencode"), OPENCODE.version);
  lab.write("home/.config/opencode/opencode.json", opencodeSettings(model.url));
  const env = OPENCODE_ENVIRONMENT;
  return { backend: "opencode", bin, command: ["opencode"], env, composer: opencodeScreen, model };
}

/** Its shared server keeps its sockets in a folder that no setting moves; here it is the test's. */
export function hireCodex(lab: Lab, bin: string, rules: readonly Rule[]): Worker {
  const sockets = `/tmp/codex-daemon-${Deno.uid()}`;
  Deno.mkdirSync(sockets, { recursive: true, mode: 0o700 });
  run("mount", ["-t", "tmpfs", "-o", "mode=0700", "none", sockets]);
  const model = new ResponsesWire(rules);
  for (const name of ["home/.codex", "home/.cache"]) Deno.mkdirSync(join(lab.dir, name));
  // Codex hands its MCP servers a few variables only; DENO_DIR is not among them.
  Deno.symlinkSync(denoDir(), join(lab.dir, "home/.cache/deno"));
  const config = codexConfig(model.url, [join(lab.dir, "api")]);
  Deno.writeTextFileSync(join(lab.dir, "home/.codex/config.toml"), config);
  const env = { SCRIPTED_KEY: "none" };
  return { backend: "codex", bin, command: ["codex"], env, composer: codexScreen, model };
}
