/** `mesh config`: shows the settings in force, sets one, and checks them. `mesh token` prints secrets. */

import { variableOf } from "kit/core/settings.ts";
import { messageOf } from "kit/core/text.ts";
import { mistakesOf, parseSetting, parseYaml, SETTINGS } from "../../../daemon/app/config.ts";
import {
  type ConfigFile,
  deleteKey,
  openConfig,
  saveConfig,
  setKey,
  UnreadableConfig,
} from "../../../daemon/app/config_file.ts";
import { configPath, type Env } from "../../../daemon/host/paths.ts";
import {
  answerCommand,
  type Args,
  type Command,
  type CommandContext,
  JSON_FLAG,
} from "../../command/command.ts";
import { nearest } from "kit/core/near_words.ts";
import { CommandError, EXIT, UsageError } from "../../client/failures.ts";
import { readSettings } from "../../client/settings.ts";
import { openEditor } from "../../client/editor.ts";
import { styled } from "../../output/terminal.ts";

const RESTART = "a running daemon uses it after `mesh restart`";

const get = answerCommand({
  usage: "config get [key]",
  needs: "this machine",
  summary: "Show all settings, or one",
  example: "mesh config get daemon.port",
  call: getConfig,
  show: showConfig,
});

export const CONFIG_COMMANDS: readonly Command[] = [
  { ...get, usage: "config", summary: "Show the settings in force", example: "mesh config" },
  get,
  {
    ...get,
    usage: "config list",
    needs: "this machine",
    aliases: ["ls", "show"],
    summary: "Show all settings in force",
    example: "mesh config list",
  },
  {
    usage: "config set <key> <value>",
    needs: "this machine",
    summary: "Set one setting in the configuration file; `-` reads the value from stdin",
    flags: JSON_FLAG,
    example: "mesh config set human.name sam",
    run: setConfig,
  },
  answerCommand({
    usage: "config unset <key>",
    needs: "this machine",
    aliases: ["rm"],
    summary: "Remove one setting from the configuration file, so that its default is in force",
    example: "mesh config unset daemon.port",
    call: unsetConfig,
    show: ({ key, path, was_set }, { terminal }) => {
      if (was_set) terminal.print(styled("green", "Removed"), ` ${key} from ${path}; ${RESTART}`);
      else terminal.print(`${key} is not set in ${path}`);
    },
  }),
  answerCommand({
    usage: "config edit",
    needs: "this machine",
    summary: "Open the configuration file in $EDITOR, then check it",
    example: "mesh config edit",
    call: editConfig,
    show: ({ path }, { terminal }) =>
      terminal.print(styled("green", "No mistakes"), ` in ${path}; ${RESTART}`),
  }),
  answerCommand({
    usage: "config path",
    needs: "this machine",
    summary: "Print the path of the configuration file",
    example: "mesh config path",
    call: ({ env }) => ({ path: configPath(env) }),
    show: ({ path }, { terminal }) => terminal.print(path),
  }),
  answerCommand({
    usage: "config check",
    needs: "this machine",
    summary: "List every mistake in the configuration",
    example: "mesh config check",
    call: checkConfig,
    show: ({ path }, { terminal }) =>
      terminal.print(styled("green", "No mistakes"), ` in ${path} and the environment`),
  }),
  answerCommand({
    usage: "token",
    needs: "this machine",
    summary: "Print the token that programs send to the daemon",
    details:
      'Use it as: curl -H "Authorization: Bearer $(mesh token)" http://127.0.0.1:8377/peers. ' +
      "Anyone with the token can do everything that you can do here: do not paste it anywhere.",
    flags: { "--relay": "print the secret with which you sign in to the relay instead" },
    example: "mesh token",
    call: readSecret,
    show: ({ token }, { terminal }) => terminal.print(token),
  }),
];

/** The settings as plain values. A secret is shown as `[hidden]`, an unset setting as null. */
function getConfig({ env }: CommandContext, args: Args): Record<string, unknown> {
  const all = JSON.parse(JSON.stringify(readSettings(env), (_, value) => value ?? null));
  const key = args.get("key");
  if (key === undefined) return all;
  mustBeSetting(key);
  return { [key]: all[key] };
}

function showConfig(selected: Record<string, unknown>, { terminal }: CommandContext, args: Args) {
  const shown = Object.entries(selected).map(([key, value]) => [key, formatValue(value)] as const);
  if (args.get("key") === undefined) terminal.printFields(Object.fromEntries(shown));
  else for (const [, text] of shown) terminal.print(text);
}

async function setConfig(context: CommandContext, args: Args): Promise<number> {
  const { env, terminal } = context;
  const key = args.text("key");
  mustBeSetting(key);
  const input = await context.readText(args.text("value"));
  const path = changeConfig(env, (file) => setKey(file, key, tryParse(input)));
  const variable = variableOf(key);
  const isOverridden = env[variable] !== undefined;
  if (args.flag("json")) terminal.printJson({ ok: true, key, path });
  else terminal.print(styled("green", "Set"), ` ${key} in ${path}; ${RESTART}`);
  if (isOverridden) {
    terminal.printError(styled("yellow", "note: "), `${variable} is set and overrides it`);
  }
  return EXIT.done;
}

/** Removes the setting if the resulting configuration is valid. */
function unsetConfig({ env }: CommandContext, args: Args) {
  const key = args.text("key");
  mustBeSetting(key);
  let was_set = false;
  const path = changeConfig(env, (file) => was_set = deleteKey(file, key));
  return { ok: true, key, path, was_set };
}

/** Saves the change if the resulting configuration is valid; returns the path of the file. */
function changeConfig(env: Env, change: (file: ConfigFile) => void): string {
  try {
    const file = openConfig(env);
    change(file);
    const configErrors = mistakesOf(env, file.before ?? "", file.document.toString());
    if (configErrors.length > 0) throw new UsageError(configErrors.join("\n"), "");
    if (file.before !== file.document.toString({ lineWidth: 0 })) saveConfig(file);
    return file.path;
  } catch (error) {
    throw error instanceof UnreadableConfig ? new CommandError(error.message) : error;
  }
}

async function editConfig(context: CommandContext) {
  const { env, terminal } = context;
  const path = configPath(env);
  if (!terminal.device.interactive) {
    throw new CommandError(`This is not a terminal; edit "${path}", then: mesh config check`);
  }
  await openEditor(env, path);
  return checkConfig(context);
}

/** A map is written as a map; any other value as the environment would be read. */
function tryParse(input: string): unknown {
  try {
    return parseYamlMap(input) ?? parseSetting(input);
  } catch {
    return input;
  }
}

/** A map in one line, such as `{claude-code: [claude]}`; undefined for any other value. */
function parseYamlMap(input: string): unknown {
  if (!/^\s*\{/.test(input)) return undefined;
  const value = parseYaml(input);
  return typeof value === "object" ? value : undefined;
}

function mustBeSetting(key: string): void {
  if (Object.hasOwn(SETTINGS, key)) return;
  const meant = nearest(key, Object.keys(SETTINGS));
  const question = meant === undefined ? "" : ` Did you mean ${meant}?`;
  throw new UsageError(`Unknown setting: "${key}".${question}`, "All settings: mesh config list");
}

function checkConfig({ env }: CommandContext): { ok: true; path: string } {
  try {
    readSettings(env);
  } catch (error) {
    throw new CommandError(messageOf(error));
  }
  return { ok: true, path: configPath(env) };
}

function formatValue(value: unknown): string {
  return typeof value === "string" ? value : value === null ? "-" : JSON.stringify(value);
}

function readSecret({ env }: CommandContext, args: Args): { token: string } {
  const settings = readSettings(env);
  const isRelay = args.flag("relay");
  const secret = isRelay ? settings["relay.secret"] : settings["daemon.auth_token"];
  if (secret) return { token: secret.reveal() };
  throw new CommandError(
    isRelay
      ? "No relay is configured; connect one with `mesh setup --relay URL`"
      : "No token is set, so every program of yours may call the daemon; `mesh setup` sets one",
  );
}
