/**
 * The status line of Claude Code, to which alone it reports how far a plan is used. `mesh setup`
 * adds one only on request, and only where the user has none.
 */

import { completeScript } from "../../../host/scripts/scripts.ts";
import type { Edit, SetupPlan } from "../install.ts";
import { isObject, type JsonObject, valueAt } from "../settings_files/json.ts";
import { shellQuote } from "../settings_files/shell_words.ts";
import body from "./status_line.bash" with { type: "text" };

/** The first line of the script, by which it is known. */
const FIRST_LINE = "# The status line of Agent Mesh.";
/** Our script before the user's own command, if there is one. */
const COMMAND = /^bash -p ('[^']*|\S*)\/hooks\/claude-code\.status-line'?(\s+|$)/;

/** A script that keeps the limits, and runs the user's own command. */
export function statusLineScript(): string {
  return `${FIRST_LINE}\n${completeScript(body)}`;
}

/** The change of the script's file, which stays up to date once it exists. */
export function scriptEdit({ script, wanted }: NonNullable<SetupPlan["status_line"]>): Edit {
  const isOurs = (text: string) => text.startsWith(FIRST_LINE);
  return {
    path: script,
    format: "text",
    add: (before) => wanted || isOurs(before) ? statusLineScript() : before,
    remove: (before) => isOurs(before) ? "" : before,
    isCreated: isOurs,
  };
}

/** The part of the settings. A status line of the user stays. */
export function statusLine(plan: SetupPlan["status_line"]) {
  const command = plan && `bash -p ${shellQuote(plan.script)}`;
  return {
    install(settings: JsonObject): JsonObject {
      if (command === undefined) return settings;
      const own = ownCommandIn(settings);
      if (own !== undefined) return withCommand(settings, [command, own].join(" ").trim());
      if (!plan?.wanted || settings["statusLine"] !== undefined) return settings;
      return { ...settings, statusLine: { type: "command", command } };
    },
    /** Leaves the user's own command, if ours was put before it. */
    remove(settings: JsonObject): JsonObject {
      const own = ownCommandIn(settings);
      if (own === undefined) return settings;
      if (own !== "") return withCommand(settings, own);
      const { statusLine: _, ...others } = settings;
      return others;
    },
  };
}

/** The reason why a requested status line is not added; undefined if nothing is in its way. */
export function keptStatusLine(settings: JsonObject, script: string): string | undefined {
  if (settings["statusLine"] === undefined || ownCommandIn(settings) !== undefined) {
    return undefined;
  }
  return "Claude Code has a status line of its own, which stays; to let mesh read the limits, too, " +
    `put this before its command: bash -p ${shellQuote(script)}`;
}

/** The user's command after our script; undefined if our script is not there. */
function ownCommandIn(settings: JsonObject): string | undefined {
  const command = valueAt(settings, "statusLine", "command");
  if (typeof command !== "string" || !COMMAND.test(command)) return undefined;
  return command.replace(COMMAND, "");
}

function withCommand(settings: JsonObject, command: string): JsonObject {
  const { statusLine } = settings;
  if (!isObject(statusLine) || statusLine["command"] === command) return settings;
  return { ...settings, statusLine: { ...statusLine, command } };
}
