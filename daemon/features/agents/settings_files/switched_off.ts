/** Settings of an agent that keep our hooks or our MCP server from running, wherever they stand. */

import { type JsonObject, refusalOf } from "./json.ts";
import { unlessMissing } from "../../../host/paths.ts";
import { readJsonSettings, readTomlSettings } from "../install.ts";

export interface SwitchedOff {
  readonly part: "hooks" | "MCP server";
  /** The file that has the setting, or the environment. */
  readonly file: string;
  /** The setting with its value, such as `disableAllHooks: true`. */
  readonly setting: string;
  /** What to do about it. */
  readonly fix: string;
}

/** Reads the settings of the machine, of the user and of the project in one way. */
export interface ScopeReader {
  /** The folder whose project settings count. */
  readonly cwd: string;
  /** Undefined if there is no such file, or if it cannot be read. */
  json(path: string): JsonObject | undefined;
  toml(path: string): JsonObject | undefined;
}

/** The settings of the project are those of the present folder. */
export function scopeReader(): ScopeReader {
  // The folder may have been removed.
  const cwd = unlessMissing(() => Deno.cwd()) ?? "/";
  return { cwd, json: readable(readJsonSettings), toml: readable(readTomlSettings) };
}

/** A file that cannot be read says nothing here; setup refuses the files that it changes. */
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
