/** Finds settings in any file of an agent that keep our hooks or our MCP server from running. */

import { type JsonObject, unlessRefused } from "./json.ts";
import { readJsonSettings, readTomlSettings } from "../install.ts";
import { unlessMissing } from "kit/host/file_errors.ts";

export interface SwitchedOff {
  readonly part: "hooks" | "MCP server";
  /** The file that has the setting, or the environment. */
  readonly file: string;
  /** The setting with its value, such as `disableAllHooks: true`. */
  readonly setting: string;
  /** The action that fixes it. */
  readonly fix: string;
}

/** Reads settings files of every scope: machine, user and project. */
export interface ScopeReader {
  /** The folder of the project. */
  readonly cwd: string;
  /** Undefined if there is no such file, or if it cannot be read. */
  json(path: string): JsonObject | undefined;
  toml(path: string): JsonObject | undefined;
}

/** Reads settings with the present folder as the project. */
export function scopeReader(): ScopeReader {
  // The folder may have been removed.
  const cwd = unlessMissing(() => Deno.cwd()) ?? "/";
  // Setup refuses an unreadable file if it must change it.
  return {
    cwd,
    json: (path) => unlessRefused(() => readJsonSettings(path)),
    toml: (path) => unlessRefused(() => readTomlSettings(path)),
  };
}

/** A setting of a file, if it keeps a part of ours from running. */
export type Switch = readonly [
  isOff: boolean,
  part: SwitchedOff["part"],
  setting: string,
  fix: string,
];

/** The settings of a file that keep a part of ours from running. */
export function switchesIn(file: string, switches: readonly Switch[]): SwitchedOff[] {
  return switches.filter(([isOff]) => isOff)
    .map(([, part, setting, fix]) => ({ part, file, setting, fix }));
}

/** The fix of a setting in a file that an administrator manages. */
export const ASK_ADMINISTRATOR = "ask who manages the settings of this machine";

/** The finding in one sentence. */
export function formatSwitch({ part, file, setting }: SwitchedOff): string {
  return `does not run our ${part}: ${file} has ${setting}`;
}
