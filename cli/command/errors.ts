/** Prints a command's error, as text or as JSON, with the name that was probably meant. */

import { nearest } from "kit/core/near_words.ts";
import { ApiError, type Call } from "kit/http/client.ts";
import { fileRefusal } from "kit/host/file_errors.ts";
import { InvalidPath } from "../../daemon/host/paths.ts";
import { ConfigError, DaemonUnreachable } from "../client/daemon_client.ts";
import { CommandError, EXIT, Interrupted, UsageError } from "../client/failures.ts";
import { styled, type Terminal } from "../output/terminal.ts";
import type { CommandContext, CommandSpec } from "./command.ts";
import { listPeers } from "protocol/generated/endpoints.ts";

/** An error as it is printed. With `--json` it is the object on standard output. */
interface Report {
  readonly error: string;
  readonly detail: string;
  readonly hint?: string | undefined;
  readonly exitCode: number;
}

interface ErrorContext {
  readonly json: boolean;
  /** The command that failed; undefined if none was found. */
  readonly command: CommandSpec | undefined;
}

/** Prints the error and returns its exit code; with `json`, prints it as JSON, too. */
export function reportError(error: unknown, to: Terminal, context: ErrorContext): number {
  if (error instanceof ApiError) {
    if (context.json) to.printJson(error.problem);
    return reportRefusal(error, to, context.command);
  }
  // The program that reads our output has closed the pipe, as `head` does.
  if (error instanceof Deno.errors.BrokenPipe) return EXIT.done;
  const report = reportOf(error, context.command);
  if (!report) throw error;
  const { exitCode, ...fields } = report;
  if (context.json) to.printJson(fields);
  for (const line of fields.detail.split("\n")) to.printError(styled("red", "mesh: "), line);
  for (const line of fields.hint?.split("\n") ?? []) to.printError(line);
  return exitCode;
}

/** Undefined for an unexpected error, which the caller rethrows. */
function reportOf(error: unknown, command: CommandSpec | undefined): Report | undefined {
  if (error instanceof DaemonUnreachable) {
    const hint = error.isTaken
      ? "Use another port: mesh config set daemon.port PORT, then mesh up"
      : "Start it with: mesh up";
    const code = error.isTaken ? "address_taken" : "daemon_unreachable";
    return { error: code, detail: error.message, hint, exitCode: EXIT.unreachable };
  }
  if (error instanceof UsageError) {
    // An empty hint stands for none, in place of the command's usage.
    const hint = (error.hint ?? (command && usageOfCommand(command))) || undefined;
    return { error: "usage", detail: error.message, hint, exitCode: EXIT.usageError };
  }
  if (error instanceof ConfigError) {
    return { error: "invalid_configuration", detail: error.message, exitCode: EXIT.usageError };
  }
  if (error instanceof Interrupted) {
    return { error: "interrupted", detail: error.message, exitCode: EXIT.interrupted };
  }
  if (error instanceof InvalidPath) {
    const { message: detail, hint } = error;
    return { error: "invalid_environment", detail, hint, exitCode: EXIT.usageError };
  }
  const refusal = fileRefusal(error);
  if (refusal) {
    const { message: detail, hint } = refusal;
    return { error: "failed", detail, hint, exitCode: EXIT.refused };
  }
  if (!(error instanceof CommandError)) return undefined;
  return { error: "failed", detail: error.message, exitCode: EXIT.refused };
}

function reportRefusal(
  { problem, status }: ApiError,
  to: Terminal,
  command: CommandSpec | undefined,
): number {
  const issues = recordsOf(problem["issues"], ["path", "message"]);
  const detail = typeof problem.detail === "string" ? problem.detail : `HTTP ${status}`;
  const lines = issues.map(({ path, message }) =>
    subjectOf(path, command) + asTyped(plain(message), command)
  );
  for (const line of lines.length > 0 ? lines : [detail]) {
    to.printError(styled("red", "mesh: "), line);
  }
  const hint = HINTS[problem.error] ?? problem.hint;
  if (typeof hint === "string") to.printError(styled("dim", "hint: "), asTyped(hint, command));
  const candidates = recordsOf(problem["candidates"], ["name", "peer_id", "circle"]);
  for (const { name, peer_id, circle } of candidates) {
    to.printError(`  ${name}  ${peer_id}  in ${circle}`);
  }
  for (const { id, label } of recordsOf(problem["matches"], ["id", "label"])) {
    to.printError(`  ${id}  ${label}`.trimEnd());
  }
  return EXIT.refused;
}

/**
 * The records of a refusal's field, such as the peers that an ambiguous name may mean. Empty unless
 * each has these texts. Without a schema, because loading the library takes longer than the rest.
 */
function recordsOf<K extends string>(value: unknown, keys: readonly K[]): Record<K, string>[] {
  const isRecord = (entry: unknown): entry is Record<K, string> =>
    typeof entry === "object" && entry !== null &&
    keys.every((key) => typeof Reflect.get(entry, key) === "string");
  return Array.isArray(value) && value.every(isRecord) ? value : [];
}

/** Hints for the command line, where the daemon's hint names fields of a request. */
const HINTS: Readonly<Record<string, string>> = {
  already_closed: "follow it up with: mesh ask PEER TEXT --reply-to ID",
  ambiguous_peer: "use the id of the one that you mean",
  attempt_id_required: "name the attempt with --attempt; `mesh jobs show ID` lists the attempts",
  no_target: "routing.strategy is static, which chooses no peer: name one, or choose a strategy " +
    "with `mesh config set routing.strategy least_busy`, then `mesh restart`",
  not_your_identity: "leave --from out, so that you act as yourself",
  orchestrator_present: "ask it, or end it first",
  router_unavailable: "name a peer: mesh ask PEER TEXT; or one for such cases: --fallback PEER",
  service_excluded: "name another peer with --fallback, or set routing.allow_service_targets",
  source_pane_required: "run it in a tmux pane: here a circle is a tmux window",
  unauthorized: "the daemon has another daemon.auth_token than your configuration: mesh restart",
  unknown_pane:
    "list panes with `mesh orphans`; if several tmux servers have this pane, name one with --socket",
  unknown_trace: "use the id of a message: ask-…, notif-… or qd-…",
};

/** The options and arguments under which a command takes the fields of a request. */
const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  assigned_peer: ["--to"],
  attachments: ["--attach"],
  attempt_id: ["--attempt"],
  body: ["<text>"],
  checks: ["--check"],
  correlation_id: ["<id>"],
  created_by: ["--from"],
  deadline_at: ["--deadline"],
  due_at: ["--due"],
  error: ["--error"],
  expires_at: ["--expires"],
  fire_at: ["--at"],
  from_peer: ["--from"],
  message: ["--message", "<text>", "[text]"],
  name: ["<new-name>", "--name"],
  of_peer: ["--from"],
  option_id: ["--option"],
  owner_peer: ["--owner"],
  process_scope: ["--persistent"],
  progress_note: ["--note"],
  prompt: ["<text>"],
  q: ["[query...]"],
  question: ["--option"],
  result_summary: ["--result"],
  text: ["<text>", "[text]", "--text"],
  timeout_seconds: ["--timeout"],
  tmux_socket: ["--socket"],
  to_peer: ["<peer>", "<to>", "--to"],
  to_peers: ["<peers>"],
  ttl_seconds: ["--ttl"],
};

/** Fields whose names are common words: they are translated only beside the name of another. */
const COMMON_WORDS: readonly string[] = ["backend", "cron", "kind", "path", "text", "timezone"];

/** The option or argument with which the command takes the field; undefined if it takes none. */
function optionOf(field: string, command: CommandSpec | undefined): string | undefined {
  const words = [
    ...(command?.usage.match(/[<[][^<>[\]]+[>\]]/g) ?? []),
    ...Object.keys(command?.flags ?? {}).map((flag) => flag.split(" ")[0] ?? flag),
  ];
  const names = [...(OPTIONS[field] ?? []), `--${field}`, `<${field}>`, `[${field}]`];
  return names.find((name) => words.includes(name));
}

/** The beginning of a line on an invalid field. */
function subjectOf(path: string, command: CommandSpec | undefined): string {
  const field = path.split(".")[0] ?? "";
  const name = optionOf(field, command) ?? path;
  // A field that the person did not type; the message says enough.
  return name === "" || name.includes("_") ? "" : `${name}: `;
}

/** A sentence of the daemon with the options of the command for the fields of the request. */
function asTyped(sentence: string, command: CommandSpec | undefined): string {
  const isField = (word: string) => word.includes("_") && Object.hasOwn(OPTIONS, word);
  const words = sentence.match(/\b[a-z]+(?:_[a-z]+)*\b/g) ?? [];
  if (!words.some(isField)) return sentence;
  return sentence.replace(/(?<![\w.<[-])[a-z]+(?:_[a-z]+)*\b(?!\.\w)/g, (word) => {
    const isName = isField(word) || COMMON_WORDS.includes(word);
    return isName ? optionOf(word, command) ?? word.replaceAll("_", " ") : word;
  });
}

/** The message of a schema without its jargon. */
function plain(message: string): string {
  const [, bound, count, unit] =
    /^Too (small|big): expected \w+ to have [<>]=(\d+) (\w+)$/.exec(message) ?? [];
  const [, side, limit] = /^Too (small|big): expected \w+ to be [<>]=(-?[\d.]+)$/.exec(message) ??
    [];
  if (side !== undefined) return `is ${side === "big" ? "more" : "less"} than ${limit}`;
  if (bound === "big" && unit === "items") return `more than ${count} are given`;
  if (bound === "big") return `is longer than ${count} characters`;
  return bound === "small" && count === "1" ? "is empty" : message;
}

/** The usage of a command, for an error that the command itself finds. */
function usageOfCommand({ usage }: CommandSpec): string {
  const path = `mesh ${usage.replace(/ [<[].*$/s, "")}`;
  return `Usage: mesh ${usage} [options]\nMore: ${path} --help`;
}

/** The fields of refusals that hold the caller's text. */
const TYPED_FIELDS: Readonly<Record<string, string>> = { unknown_peer: "peer" };

/**
 * Returns the error. For an unknown peer, adds a hint with the name that was probably meant, if the
 * daemon answers the request for the names.
 */
export async function withNearMisses(error: unknown, context: CommandContext): Promise<unknown> {
  if (!(error instanceof ApiError)) return error;
  const typed = error.problem[TYPED_FIELDS[error.problem.error] ?? ""];
  if (typeof typed !== "string") return error;
  const names = await currentNames(context.call).catch(() => []);
  const meant = nearest(typed, names);
  if (meant === undefined || meant === typed) return error;
  const { hint } = error.problem;
  const question = `did you mean "${meant}"?`;
  const withQuestion = hint === undefined || hint === "" ? question : `${question} Or ${hint}`;
  return new ApiError(error.status, { ...error.problem, hint: withQuestion, did_you_mean: meant });
}

/** The names of the peers that are not retired. */
export async function currentNames(call: Call): Promise<string[]> {
  const { peers } = await call(listPeers, { query: { subagents: "false" } });
  return peers.flatMap(({ status, name }) => status === "retired" ? [] : [name]);
}
