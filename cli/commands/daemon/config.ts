/** `mesh config`: shows the settings in force, sets one, and checks the configuration. */

import { messageOf } from "kit/core/text.ts";
import { mistakesOf, parseSetting, SETTINGS } from "../../../daemon/app/config.ts";
import {
  openConfig,
  saveConfig,
  setKey,
  UnreadableConfig,
} from "../../../daemon/app/config_file.ts";
import { configPath, type Env } from "../../../daemon/host/paths.ts";
import { type Args, type Command, type CommandContext, JSON_FLAG } from "../../command/command.ts";
import { CommandError, EXIT, UsageError } from "../../client/failures.ts";
import { readSettings } from "../../client/daemon_client.ts";
import { print, printError, printFields, printJson, styled } from "../../output/terminal.ts";

export const CONFIG_COMMANDS: readonly Command[] = [
  {
    usage: "config",
    summary: "Show the settings in force",
    flags: JSON_FLAG,
    example: "mesh config",
    run: getConfig,
  },
  {
    usage: "config get [key]",
    summary: "Show all settings, or one",
    flags: JSON_FLAG,
    example: "mesh config get daemon.port",
    run: getConfig,
  },
  {
    usage: "config set <key> <value>",
    summary: "Set one setting in the configuration file; `-` reads the value from stdin",
    flags: JSON_FLAG,
    example: "mesh config set human.name sam",
    run: setConfig,
  },
  {
    usage: "config path",
    summary: "Print the path of the configuration file",
    flags: JSON_FLAG,
    example: "mesh config path",
    run: ({ env, terminal }, args) => {
      const path = configPath(env);
      if (args.flag("json")) printJson(terminal, { path });
      else print(terminal, path);
      return Promise.resolve(EXIT.done);
    },
  },
  {
    usage: "config check",
    summary: "List every mistake in the configuration",
    flags: JSON_FLAG,
    example: "mesh config check",
    run: checkConfig,
  },
];

function getConfig({ env, terminal }: CommandContext, args: Args): Promise<number> {
  const all = displayedSettings(env);
  const key = args.get("key");
  if (key !== undefined) mustBeSetting(key);
  const selected = key === undefined ? all : { [key]: all[key] };
  if (args.flag("json")) printJson(terminal, selected);
  else if (key !== undefined) print(terminal, formatValue(all[key]));
  else {
    printFields(
      terminal,
      Object.fromEntries(Object.entries(all).map(([key, value]) => [key, formatValue(value)])),
    );
  }
  return Promise.resolve(EXIT.done);
}

async function setConfig(context: CommandContext, args: Args): Promise<number> {
  const { env, terminal } = context;
  const key = args.text("key");
  mustBeSetting(key);
  const input = await context.readText(args.text("value"));
  const path = writeSetting(env, key, tryParse(input));
  const variable = `MESH_${key.toUpperCase().replaceAll(".", "__")}`;
  const isOverridden = env[variable] !== undefined;
  if (args.flag("json")) printJson(terminal, { ok: true, key, path });
  else {print(
      terminal,
      styled("green", "Set"),
      ` ${key} in ${path}; a running daemon uses it after a restart`,
    );}
  if (isOverridden) {
    printError(terminal, styled("yellow", "note: "), `${variable} is set and overrides it`);
  }
  return EXIT.done;
}

/** Writes the setting if the resulting configuration is valid; returns the path of the file. */
function writeSetting(env: Env, key: string, value: unknown): string {
  try {
    const file = openConfig(env);
    setKey(file, key, value);
    const configErrors = mistakesOf(env, file.before ?? "", file.document.toString());
    if (configErrors.length > 0) throw new UsageError(configErrors.join("\n"));
    saveConfig(file);
    return file.path;
  } catch (error) {
    throw error instanceof UnreadableConfig ? new CommandError(error.message) : error;
  }
}

function tryParse(input: string): unknown {
  try {
    return parseSetting(input);
  } catch {
    return input;
  }
}

function mustBeSetting(key: string): void {
  if (Object.hasOwn(SETTINGS, key)) return;
  throw new UsageError(`Unknown setting: "${key}". Known: ${Object.keys(SETTINGS).join(", ")}`);
}

function checkConfig({ env, terminal }: CommandContext, args: Args): Promise<number> {
  try {
    readSettings(env);
  } catch (error) {
    throw new CommandError(messageOf(error));
  }
  if (args.flag("json")) printJson(terminal, { ok: true, path: configPath(env) });
  else {print(
      terminal,
      styled("green", "No mistakes"),
      ` in ${configPath(env)} and the environment`,
    );}
  return Promise.resolve(EXIT.done);
}

/** The settings as plain values. A secret is shown as `[hidden]`, an unset setting as null. */
function displayedSettings(env: Env): Record<string, unknown> {
  return JSON.parse(JSON.stringify(readSettings(env), (_, value) => value ?? null));
}

function formatValue(value: unknown): string {
  return typeof value === "string" ? value : value === null ? "-" : JSON.stringify(value);
}
