/** The settings of the daemon: keys, schemas and defaults (contract 8). */

import * as z from "zod";
import {
  keyOfVariable,
  originsOf,
  readSettings,
  Secret,
  type SettingOrigin,
  type SettingsSources,
  type SettingsValues,
} from "kit/core/settings.ts";
import { nearest } from "kit/core/near_words.ts";
import { Name } from "kit/core/schema.ts";
import { messageOf } from "kit/core/text.ts";
import { fileRefusal } from "kit/host/file_errors.ts";
import { STRATEGIES } from "protocol/asks/routing.ts";
import { Checks } from "protocol/jobs/contract.ts";
import { CircleBoundary, isReservedForHuman, WakePolicy } from "protocol/peers/record.ts";
import { Commands, EnvironmentVariables, Profiles } from "protocol/spawn/contract.ts";
import { QuietHours, RESUME_MODES } from "protocol/limits/settings.ts";
import { READERS } from "protocol/transcripts.ts";
import { OVERLAPS } from "protocol/holdings/files.ts";
import { AMOUNT_FORM, parseAmount } from "protocol/budgets/amount.ts";
import { BudgetText, LOOP_ACTIONS, PeerBudgets } from "protocol/budgets/contract.ts";
import { Policy, POLICY_FORM, policyMistakes } from "protocol/origins/policy.ts";
import { Prices, PRICES_FORM } from "protocol/usage.ts";
import { configPath, type Env, isLoopback } from "../host/paths.ts";
import { DEFAULT_HOST, DEFAULT_PORT } from "../host/runtime_file.ts";
import { CORE_SCHEMA, loadAll } from "js-yaml";
import { busMistakes, BusUrl, MachineName } from "./membership/settings.ts";
import { RelaySecret, RelayUrl } from "./relay_settings.ts";

const int = (smallest: number, largest: number, description: string) =>
  z.number().int().min(smallest).max(largest).describe(`${description}, ${smallest} to ${largest}`);
/** A number of bytes; the environment passes a number with many digits as text. */
const bytes = (smallest: number, largest: number) =>
  z.preprocess(
    (raw) => typeof raw === "string" && /^\d{1,15}$/.test(raw) ? Number(raw) : raw,
    z.number().int().min(smallest).max(largest),
  ).describe(`bytes, ${smallest} to ${largest}`);
const HOST_NAME = /^[A-Za-z0-9](?:[\w.-]*\w)?$/;
/** With at least two colons, perhaps in brackets or with the name of its network interface. */
const IP_6 = /^\[?(?=.*:.*:)[\da-fA-F.:]+(?:%\w+)?\]?$/;
const host = z.string().refine((text) => HOST_NAME.test(text) || IP_6.test(text))
  .describe("an address to listen on: an IP address or a host name, without a port");
const flag = z.boolean().describe("true or false");
const secret = (form: RegExp, description: string) =>
  z.string().regex(form).transform((text) => new Secret(text)).describe(description);
const token = secret(
  /^[!-~]([ -~]*[!-~])?$/,
  "a text of ASCII characters; in quotes, if it is all digits",
);
/** A number, 0 to 1; the environment passes `0.50` as text, for its last zero. */
const fraction = z.union([z.number(), z.string().regex(/^(?:\d+|\d*\.\d+)$/).transform(Number)])
  .pipe(z.number().min(0).max(1)).describe("a number, 0 to 1");
const chat_id = z.union([z.int(), z.string().regex(/^(-?\d{1,20}|@\w{1,64})$/)]).transform(String)
  .describe("the number of a chat, or the @name of a public group");
const bot_token = secret(/^[\w:-]{8,}$/, "a bot's token, as BotFather gives it");
const slack_app_token = z.string().regex(/^xapp-[\w-]{8,}$/).transform((text) => new Secret(text))
  .describe("the app's token for connections, which begins with xapp-");
const slack_bot_token = z.string().regex(/^xoxb-[\w-]{8,}$/).transform((text) => new Secret(text))
  .describe("the app's token as a bot, which begins with xoxb-");
const slack_user = z.string().regex(/^[UW][A-Z0-9]{2,20}$/)
  .describe("a member id of Slack, such as U0123ABCD");
const slack_channel = z.string().regex(/^[CDG][A-Z0-9]{2,20}$/)
  .describe("a channel id of Slack, such as C0123ABCD");
/** Apple's push service takes no push without an address. Nobody reads this one (RFC 2606). */
const PUSH_CONTACT = "mailto:mesh@example.com";
const push_contact = z.string().max(255).regex(
  /^(?:mailto:[^\s@]+@[^\s@]+|https:\/\/\S+)$/,
)
  .describe("an address by which operators of push services can reach you: mailto:… or https:…");
const human_name = Name.refine((name) => !isReservedForHuman(name))
  .describe("a name: letters, digits, dots, underscores, hyphens; not dashboard, telegram, mcp-…");
/** An address without anything that may be a secret, because the address is shown. */
const collector = z.url({ protocol: /^https?$/ })
  .refine((url) => !/[?#]|\/\/[^/]*@/.test(url)).nullish().transform((url) => url ?? undefined)
  .describe("an http or https address without user, query and fragment, or null");
/** Headers as OpenTelemetry's environment variables have them. */
const header_list = secret(/^[\w-]+=[!-~][ -~]*$/, "name=value, further ones after commas");
/** The ports to lease, below those that systems give to outgoing connections. */
const LEASED_PORTS = { first: 24_000, last: 24_999 };
const port_range = z.string().regex(/^\d{1,5}-\d{1,5}$/).transform((text) => {
  const [first = 0, last = 0] = text.split("-").map(Number);
  return { first, last };
}).refine(({ first, last }) => first >= 1 && first <= last && last <= 65_535)
  .describe("the first and the last port, such as 24000-24999");
const file_path = z.string().regex(/^[/~]/).describe("the path of a file, from / or ~");
const machine_name = Name.describe("the name of a machine, or its daemon id");
/** A list of words; the environment may pass it as `a, b`. */
const wordList = z.preprocess(
  (raw) => typeof raw === "string" ? raw.split(",").map((word) => word.trim()) : raw,
  z.array(z.string().min(1)),
).describe("a list of words");
/** The parsed value. A text that is not YAML stays text, which no shape of a map accepts. */
function tryYaml(text: string): unknown {
  try {
    return parseYaml(text);
  } catch {
    return text;
  }
}

/** A map; the environment passes it as YAML in one line. */
const map = <S extends z.ZodType>(shape: S, description: string) =>
  z.preprocess(
    (raw) => (typeof raw === "string" ? tryYaml(raw) : raw) ?? {},
    shape.describe(description),
  ).describe(description);

/** Rules; the environment passes them as YAML in one line. */
const policy = z.preprocess(
  (raw) => typeof raw === "string" ? tryYaml(raw) : raw,
  z.unknown().superRefine((raw, context) => {
    for (const message of policyMistakes(raw)) context.addIssue({ code: "custom", message });
  }).pipe(Policy),
)
  .describe(POLICY_FORM);

// deno-fmt-ignore
export const SETTINGS = {
  // key                              shape                                                 default
  "daemon.host":                      host  .default(DEFAULT_HOST),
  "daemon.port":                      int(0, 65535, "a port (0 picks one)")                  .default(DEFAULT_PORT),
  "daemon.auth_token":                token                                                  .optional(),
  "daemon.allowed_hosts":             wordList                                                  .default([]),
  "daemon.description_ttl_seconds":   int(1, 86_400, "seconds")                              .default(900),
  "daemon.ask_ttl_hours":             int(1, 8_760, "hours")                                 .default(24),
  "daemon.history_days":              int(1, 3_650, "days")                                  .default(30),
  "daemon.history_messages":          int(1, 999_999_999, "messages")                        .default(5_000_000),
  "daemon.queue.ttl_seconds":         int(1, 31_536_000, "seconds")                          .default(86_400),
  "daemon.queue.max_per_peer":        int(1, 1_000_000, "messages")                          .default(1000),
  "daemon.limits.hops":               int(0, 100, "follow-ups (0 is any number)")          .default(16),
  "daemon.limits.pair_per_minute":    int(0, 1_000_000, "messages (0 is any number)")        .default(600),
  "daemon.attachments.file_bytes_max":  bytes(1, 1_073_741_824)                              .default(26_214_400),
  "daemon.attachments.total_bytes_max": bytes(1, 1_099_511_627_776)                          .default(1_073_741_824),
  "daemon.attachments.ttl_days":      int(1, 3_650, "days")                                  .default(7),
  "daemon.circle_boundary":           CircleBoundary.describe("session, window or machine") .default("session"),
  "daemon.wake":                      WakePolicy.describe("never, ask or always")            .default("ask"),
  "daemon.wake_idle_minutes":         int(0, 100_000, "minutes")                             .default(15),
  "daemon.mcp.enabled":               flag                                                   .default(true),
  "daemon.mcp.allow_admin_tools":     flag                                                   .default(false),
  "human.name":                       human_name.optional(),
  "routing.strategy":                 z.enum(["static", ...STRATEGIES]).describe(`static, ${STRATEGIES.join(", ")}`) .default("static"),
  "routing.min_confidence":           fraction                                                   .default(0),
  "routing.allow_service_targets":    flag                                                   .default(false),
  "routing.webhook":                  z.url({ protocol: /^https?$/ }).describe("an http or https address").optional(),
  "spawn.commands":                   map(Commands, "a map from a backend to its command, a list of words") .optional(),
  "spawn.profiles":                   map(Profiles, "a map from a name to {backend?, args, env}") .default({}),
  "spawn.allowed_paths":              wordList                                                  .optional(),
  "spawn.env":                        map(EnvironmentVariables, "a map from a variable to its value")   .default({}),
  "files.overlaps":                   z.enum(OVERLAPS).describe(OVERLAPS.join(", "))         .default("tell"),
  "leases.ports":                     port_range                                             .default(LEASED_PORTS),
  "limits.resume":                    z.enum(RESUME_MODES).describe(RESUME_MODES.join(", ")) .default("always"),
  "limits.quiet_hours":               QuietHours                                             .optional(),
  "panes.allow_typing":               flag                                                   .default(false),
  "transcripts":                      z.enum(READERS).describe(READERS.join(", "))           .default("human"),
  "usage.prices":                     map(Prices, PRICES_FORM)                               .optional(),
  "budgets.day":                      BudgetText.describe(`a budget: ${AMOUNT_FORM}`)         .optional(),
  "budgets.peers":                    map(PeerBudgets, "a map from a peer's name, with * for any text, to its budget for a day") .default({}),
  "policy":                           policy                                                 .default([]),
  "breakers.loops":                   z.enum(LOOP_ACTIONS).describe(LOOP_ACTIONS.join(", ")) .default("report"),
  "jobs.checks":                      map(Checks, "a map from a name to {argv, timeout_seconds, files}") .default({}),
  "jobs.check_memory_bytes_max":      bytes(67_108_864, 1_099_511_627_776)                       .optional(),
  "jobs.check_written_bytes_max":     bytes(1_048_576, 17_592_186_044_416)                       .default(34_359_738_368),
  "joint_checks.check":               Name.describe("the name of a check of jobs.checks")        .optional(),
  "joint_checks.disk_bytes_max":      bytes(1_048_576, 1_099_511_627_776)                        .default(4_294_967_296),
  "push.contact":                     push_contact                                           .default(PUSH_CONTACT),
  "push.allow_local":                 flag                                                   .default(false),
  "asks.reminders":                   flag                                                   .default(true),
  "asks.briefings":                   flag                                                   .default(true),
  "asks.recall_off":                  wordList                                               .default([]),
  "approvals.gated_tools":           wordList                                                  .default([]),
  "approvals.timeout_seconds":        int(1, 3600, "seconds")                                .default(300),
  "relay.enabled":                    flag                                                   .default(false),
  "relay.url":                        RelayUrl                                               .optional(),
  "relay.secret":                     RelaySecret                                            .optional(),
  "relay.allow_admin":                flag                                                   .default(false),
  "mesh.bus.url":                     BusUrl                                                 .optional(),
  "mesh.bus.creds":                   file_path                                              .optional(),
  "mesh.bus.ca":                      file_path                                              .optional(),
  "mesh.bus.name":                    MachineName                                            .optional(),
  "mesh.bus.allow":                   wordList                                                  .default([]),
  "mesh.bus.allow_admin":             wordList                                                  .default([]),
  "mesh.bus.allow_prove":             wordList                                                  .default([]),
  "mesh.bus.human_home":              machine_name                                           .optional(),
  "surfaces.telegram.token":          bot_token                                              .optional(),
  "surfaces.telegram.chat_id":        chat_id                                                .optional(),
  "surfaces.slack.app_token":         slack_app_token                                        .optional(),
  "surfaces.slack.bot_token":         slack_bot_token                                        .optional(),
  "surfaces.slack.user":              slack_user                                             .optional(),
  "surfaces.slack.channel":           slack_channel                                          .optional(),
  "telemetry.otlp":                   collector,
  "telemetry.headers":                header_list                                            .optional(),
  "telemetry.sample":                 fraction                                                   .default(1),
} as const;

export type Config = SettingsValues<typeof SETTINGS>;

/** The settings, and where they come from. */
export interface ConfigInForce {
  readonly config: Config;
  /** Of the file, whether it exists or not. */
  readonly path: string;
  /** Of each setting that is given; the others have their defaults. */
  readonly origins: ReadonlyMap<string, SettingOrigin>;
}

type ReadFile = (path: string) => string | undefined;

/** Reads the settings of file and environment. Throws one error that names every mistake. */
export function readConfig(env: Env, readFile: ReadFile): Config {
  return readConfigInForce(env, readFile).config;
}

/** Mistakes in combinations of settings that are valid alone. */
type CrossCheck = (config: Partial<Config>) => string[];
const CROSS_CHECKS: readonly CrossCheck[] = [
  missingToken,
  missingWebhook,
  missingRelay,
  missingPrices,
  missingCheck,
  busMistakes,
];

/** As `readConfig`, with the origin of each setting. */
export function readConfigInForce(
  env: Env,
  readFile: ReadFile,
  checks: readonly CrossCheck[] = CROSS_CHECKS,
): ConfigInForce {
  const path = configPath(env);
  const file = parseFile(path, readOrThrow(path, readFile) ?? "");
  const raw: SettingsSources = { file, file_name: path, env, parse: parseSetting };
  const config = readSettings(SETTINGS, raw, (read) => checks.flatMap((check) => check(read)));
  return { config, path, origins: originsOf(SETTINGS, raw) };
}

/**
 * The mistakes that a new text of the file would add to the present mistakes; empty if it may be
 * written. Ignores settings of the environment, as they are not in the file.
 */
export function mistakesOf(env: Env, before: string, text: string): string[] {
  const fileOnlyEnv = Object.fromEntries(
    Object.entries(env).filter(([name]) => keyOfVariable(SETTINGS, name) === undefined),
  );
  const problemsIn = (file: string) => {
    try {
      readConfigInForce(fileOnlyEnv, () => file, [...CROSS_CHECKS, shortToken]);
      return [];
    } catch (error) {
      return error instanceof Error ? error.message.split("\n").slice(1) : [String(error)];
    }
  };
  const problemsBefore = problemsIn(before);
  return problemsIn(text).filter((line) => !problemsBefore.includes(line)).map((line) =>
    line.trim()
  );
}

/** A daemon that other machines can reach needs a token. */
function missingToken(config: Partial<Config>): string[] {
  const host = config["daemon.host"];
  if (host === undefined || isLoopback(host) || config["daemon.auth_token"]) return [];
  return [
    `daemon.host: found "${host}" without daemon.auth_token; ` +
    "allowed: a loopback address, or any address with a token",
  ];
}

/** Minimum characters of a token that a command writes; a daemon with a shorter one starts. */
const TOKEN_CHARS_MIN = 16;

function shortToken({ "daemon.auth_token": token }: Partial<Config>): string[] {
  const chars = token?.reveal().length ?? TOKEN_CHARS_MIN;
  if (chars >= TOKEN_CHARS_MIN) return [];
  return [
    `daemon.auth_token: found a text of ${chars} characters, which can be guessed; ` +
    `allowed: ${TOKEN_CHARS_MIN} characters or more, such as those of \`openssl rand -hex 24\``,
  ];
}

/** The webhook strategy needs an endpoint. */
function missingWebhook(config: Partial<Config>): string[] {
  if (config["routing.strategy"] !== "webhook" || config["routing.webhook"]) return [];
  return [
    'routing.webhook: found nothing with routing.strategy "webhook"; ' +
    "allowed: an http or https address",
  ];
}

/** Joint checks run a check that the configuration has. */
function missingCheck(config: Partial<Config>): string[] {
  const name = config["joint_checks.check"];
  const names = Object.keys(config["jobs.checks"] ?? {});
  if (name === undefined || names.includes(name)) return [];
  const allowed = names.length === 0 ? "a check has to be in jobs.checks" : names.join(", ");
  const meant = nearest(name, names);
  const question = meant === undefined ? "" : `. Did you mean ${meant}?`;
  return [`joint_checks.check: found "${name}", which is no check; allowed: ${allowed}${question}`];
}

/** A relay needs an address and a secret. */
function missingRelay(config: Partial<Config>): string[] {
  if (!config["relay.enabled"]) return [];
  return (["relay.url", "relay.secret"] as const).filter((key) => config[key] === undefined)
    .map((key) =>
      `${key}: found nothing with relay.enabled; ` +
      "allowed: the value that `mesh setup --relay URL` writes, or relay.enabled: false"
    );
}

/** Budgets of money need prices in their currency, and those of tokens need transcripts. */
function missingPrices(config: Partial<Config>): string[] {
  const { "budgets.day": day, "budgets.peers": peers = {}, transcripts } = config;
  const currency = config["usage.prices"]?.currency;
  const given = [
    ["budgets.day", day],
    ...Object.entries(peers).map(([name, text]) => {
      return [`budgets.peers.${name}`, text];
    }),
  ];
  return given.flatMap(([key, text]) => {
    const amount = text === undefined ? undefined : parseAmount(text);
    if (!amount || typeof amount === "string") return [];
    if (amount.currency !== null && amount.currency !== currency) {
      const allowed = `allowed: a budget in the currency of usage.prices (${currency ?? "none"})`;
      return [`${key}: found "${text}"; ${allowed}`];
    }
    const isCounted = amount.tokens === null && amount.cost === null || transcripts !== "off";
    return isCounted
      ? []
      : [`${key}: found "${text}" with transcripts: off; allowed: turns, a time`];
  });
}

/** The largest number that a setting can be. A longer run of digits is a token or a name. */
const NUMBER_MAX = 999_999_999;

/** Parses a value as YAML. A map, or a number that YAML would change, stays text. */
export function parseSetting(text: string): unknown {
  const value: unknown = parseYaml(text);
  const isText = typeof value === "object" && !Array.isArray(value) ||
    typeof value === "number" && (value > NUMBER_MAX || String(value) !== text);
  return isText ? text : value;
}

function readOrThrow(path: string, readFile: ReadFile) {
  try {
    return readFile(path);
  } catch (error) {
    const refusal = fileRefusal(error);
    const why = refusal ? `${refusal.reason}; ${refusal.hint}` : messageOf(error);
    throw new Error(`Cannot read the configuration:\n  ${path}: ${why}`);
  }
}

function parseFile(path: string, text: string): unknown {
  try {
    return parseYaml(text) ?? {};
  } catch (error) {
    const why = messageOf(error);
    throw new Error(`Cannot read the configuration:\n  ${path}: not YAML: ${why}`);
  }
}

/**
 * Parses one YAML 1.2 document; null if it is empty. Throws on a syntax error. The choice of the
 * library is in docs/decisions/003-two-yaml-libraries.md.
 */
export function parseYaml(text: string): unknown {
  const [value = null, ...more] = loadAll(text, { schema: CORE_SCHEMA });
  if (more.length > 0) throw new Error(`found ${more.length + 1} documents; allowed: one`);
  return value;
}
