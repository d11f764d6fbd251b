/**
 * Runs a command line in the daemon for another process, whose launcher then starts no runtime
 * (decision 050). The command is the same code as in a process of its own.
 */

import { systemClock } from "kit/core/clock.ts";
import { plainClient, type PlainRequest } from "kit/http/client.ts";
import type { CommandLine, CommandOutput, RunCommandLine } from "protocol/api/command_lines.ts";
import { runCli } from "../../../cli.ts";
import { type DaemonClient, terminalHeader } from "../../client/daemon_client.ts";
import { unlessRejected, UsageError } from "../../client/failures.ts";
import type { Args } from "../../command/command.ts";
import { parseLine, readGlobalOptions } from "../../command/line.ts";
import { COMMANDS } from "../generated/table.ts";
import { loadCommand } from "../modules.ts";
import { describeTerminal } from "../../output/process_terminal.ts";
import { Terminal } from "../../output/terminal.ts";

export const runForProcess: RunCommandLine = async (line, { url, send }) => {
  const { args, env, columns, pid, terminals } = line;
  if (!await isReady(line)) return undefined;
  const parts: CommandOutput["parts"][number][] = [];
  const print = (to: 1 | 2) => (text: string) => {
    const last = parts.at(-1);
    if (last?.to === to) parts[parts.length - 1] = { to, text: last.text + text };
    else parts.push({ to, text });
  };
  const device = { ...describeTerminal(env, terminals), columns, out: print(1), err: print(2) };
  const terminal = new Terminal({
    ...device,
    keys: undefined,
    screen: undefined,
    read: unavailable,
  });
  const headers = device.interactive ? terminalHeader(pid) : {};
  const daemon: DaemonClient = {
    pid,
    url,
    trustedUrl: () => url,
    call: plainClient(
      url,
      ({ url, ...init }: PlainRequest) => send(new Request(url, init)),
      headers,
    ),
    get: unavailable,
  };
  const exit_code = await runCli(args, env, terminal, systemClock, daemon);
  return { exit_code, parts };
};

function unavailable(): never {
  throw new Error("A command that runs in the daemon has no standard input and no streams");
}

/**
 * True if the daemon may run the line, and has loaded what runs it. The modules of a program that
 * was replaced while it runs cannot be loaded.
 */
async function isReady({ args: given, env }: CommandLine): Promise<boolean> {
  const isExpected = (error: unknown) => error instanceof UsageError || error instanceof TypeError;
  const ready = await unlessRejected(isExpected, async () => {
    const { args, verbose, machine } = readGlobalOptions(COMMANDS, given, env);
    if (verbose || machine !== undefined) return false;
    const line = parseLine(COMMANDS, args);
    if ("help" in line || !line.command.runsInDaemon || needsProcess(line.args)) return false;
    await Promise.all([loadCommand(line.command), import("../../command/errors.ts")]);
    return true;
  });
  return ready ?? false;
}

/** True for a line whose command waits, reads a file, or reads standard input. */
function needsProcess(args: Args): boolean {
  const readsInput = ["text", "reason"].some((name) => args.get(name) === "-");
  return readsInput || args.flag("wait") || args.list("attach").length > 0;
}
