/** Finds settings in any file of an agent that keep our hooks or our MCP server from running. */

import { type JsonObject, refusalOf } from "./json.ts";
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
  return { cwd, json: readable(readJsonSettings), toml: readable(readTomlSettings) };
}

/** Returns undefined for an unreadable file. Setup refuses such a file if it must change it. */
function readable(read: (path: string) => JsonObject | undefined) {
  return (path: string): JsonObject | undefined => {
    try {
      return read(path);
    } catch (error) {
      if (refusalOf(error) === undefined) throw error;
      return undefined;
    }
  };
}

/** The finding in one sentence. */
export function formatSwitch({ part, file, setting }: SwitchedOff): string {
  return `does not run our ${part}: ${file} has ${setting}`;
}
