/** `mesh config`: the settings in force, and one key of the file at a time. */

import { messageOf } from "kit/core/text.ts";
import { mistakesOf, parseWord, SETTINGS } from "../../../daemon/app/config.ts";
import {
  openConfig,
  putInto,
  saveConfig,
  UnreadableConfig,
} from "../../../daemon/app/config_file.ts";
import { configPath, type Env } from "../../../daemon/host/paths.ts";
import { type Command, JSON_FLAG, type Session, type Words } from "../../command/command.ts";
import { EXIT, Failed, Misused } from "../../client/failures.ts";
import { readSettings } from "../../client/daemon_client.ts";
import { complain, ink, print, printFields, printJson } from "../../output/print.ts";

export const CONFIG_COMMANDS: readonly Command[] = [
  {
    words: "config",
    summary: "Show the settings in force",
    flags: JSON_FLAG,
    example: "mesh config",
    run: getConfig,
  },
  {
    words: "config get [key]",
    summary: "Show all settings, or one",
    flags: JSON_FLAG,
    example: "mesh config get daemon.port",
    run: getConfig,
  },
  {
    words: "config set <key> <value>",
    summary: "Write one setting into the configuration; `-` reads the value",
    flags: JSON_FLAG,
    example: "mesh config set human.name sam",
    run: setConfig,
  },
  {
    words: "config path",
    summary: "Say where the configuration is read from",
    flags: JSON_FLAG,
    example: "mesh config path",
    run: ({ env, terminal }, words) => {
      const path = configPath(env);
      if (words.flag("json")) printJson(terminal, { path });
      else print(terminal, path);
      return Promise.resolve(EXIT.done);
    },
  },
  {
    words: "config check",
    summary: "Name every mistake of the configuration",
    flags: JSON_FLAG,
    example: "mesh config check",
    run: checkConfig,
  },
];

function getConfig({ env, terminal }: Session, words: Words): Promise<number> {
  const all = shownSettings(env);
  const key = words.maybe("key");
  if (key !== undefined) mustKnow(key);
  const chosen = key === undefined ? all : { [key]: all[key] };
  if (words.flag("json")) printJson(terminal, chosen);
  else if (key !== undefined) print(terminal, valueOf(all[key]));
  else {
    printFields(
      terminal,
      Object.fromEntries(Object.entries(all).map(([key, value]) => [key, valueOf(value)])),
    );
  }
  return Promise.resolve(EXIT.done);
}

async function setConfig(session: Session, words: Words): Promise<number> {
  const { env, terminal } = session;
  const key = words.text("key");
  mustKnow(key);
  const said = await session.said(words.text("value"));
  const path = write(env, key, tryParse(said));
  const variable = `MESH_${key.toUpperCase().replaceAll(".", "__")}`;
  const hidden = env[variable] !== undefined;
  if (words.flag("json")) printJson(terminal, { ok: true, key, path });
  else print(terminal, ink("green", "Set"), ` ${key} in ${path}; a daemon reads it at its start`);
  if (hidden) complain(terminal, ink("yellow", "note: "), `${variable} is set, and goes before it`);
  return EXIT.done;
}

/** Writes what the daemon would take; the path of the file. */
function write(env: Env, key: string, value: unknown): string {
  try {
    const file = openConfig(env);
    putInto(file, key, value);
    const mistakes = mistakesOf(env, file.before ?? "", file.document.toString());
    if (mistakes.length > 0) throw new Misused(mistakes.join("\n"));
    saveConfig(file);
    return file.path;
  } catch (fault) {
    throw fault instanceof UnreadableConfig ? new Failed(fault.message) : fault;
  }
}

function tryParse(said: string): unknown {
  try {
    return parseWord(said);
  } catch {
    return said;
  }
}

function mustKnow(key: string): void {
  if (Object.hasOwn(SETTINGS, key)) return;
  throw new Misused(`No such setting: "${key}". They are: ${Object.keys(SETTINGS).join(", ")}`);
}

function checkConfig({ env, terminal }: Session, words: Words): Promise<number> {
  try {
    readSettings(env);
  } catch (fault) {
    throw new Failed(messageOf(fault));
  }
  if (words.flag("json")) printJson(terminal, { ok: true, path: configPath(env) });
  else print(terminal, ink("green", "No mistakes"), ` in ${configPath(env)} and the environment`);
  return Promise.resolve(EXIT.done);
}

/** As JSON shows them: a secret is `[hidden]`, an absent value null. */
function shownSettings(env: Env): Record<string, unknown> {
  return JSON.parse(JSON.stringify(readSettings(env), (_, value) => value ?? null));
}

function valueOf(value: unknown): string {
  return typeof value === "string" ? value : value === null ? "-" : JSON.stringify(value);
}
