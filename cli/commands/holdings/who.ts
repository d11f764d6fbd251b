/** `mesh who`: who read and wrote a file, or who uses a port. */

import type { WireResponse } from "kit/http/client.ts";
import { whoUsesFile, whoUsesPort } from "protocol/generated/endpoints.ts";
import { portSentences } from "protocol/holdings/lease_words.ts";
import { PORT } from "protocol/holdings/leases.ts";
import { answerCommand, type Args, type CommandContext } from "../../command/command.ts";
import { EXIT, UsageError } from "../../client/failures.ts";
import { formatAge } from "../../output/time.ts";

type FileAnswer = WireResponse<typeof whoUsesFile>;
type PortAnswer = WireResponse<typeof whoUsesPort>;

export const WHO = answerCommand({
  usage: "who <what> [port]",
  summary: "Show which agents read and wrote a file, or who uses a port",
  details: "A file counts in all work trees of its repository. Agents record their tool calls in " +
    "their session files, and mesh reads them: a file that a shell command changes is not there. " +
    "An agent asks about files in the repository of its own folder. For a file named port, give " +
    "./port. Exit code 1: nobody.",
  example: "mesh who src/api.ts\n  mesh who port 5432",
  call: async (context, args): Promise<FileAnswer | PortAnswer> => {
    const port = args.get("port");
    if (args.text("what") === PORT && port !== undefined) {
      return await context.call(whoUsesPort, { params: { port: String(portNumber(port)) } });
    }
    if (port !== undefined) {
      throw new UsageError(
        `"${args.text("what")}" and "${port}": give one file, or port and a number`,
      );
    }
    const { from_peer } = await context.lookup(args);
    const path = context.absolutePath(args.text("what"));
    return await context.call(whoUsesFile, { query: { path, from_peer } });
  },
  show: (answer, context) =>
    "uses" in answer ? showFile(answer, context) : showPort(answer, context),
  exitCode: (answer: FileAnswer | PortAnswer, _args: Args) => {
    const isUsed = "uses" in answer ? answer.uses.length > 0 : isPortUsed(answer);
    return isUsed ? EXIT.done : EXIT.refused;
  },
});

function showFile({ file, root, uses }: FileAnswer, { clock, terminal }: CommandContext): void {
  if (uses.length === 0) return terminal.print(`No agent is known to have read or written ${file}`);
  const isElsewhere = uses.some((use) => use.root !== root);
  terminal.printTable(uses, {
    peer: ({ name }) => name,
    did: ({ wrote, times }) => `${wrote ? "wrote" : "read"}${times > 1 ? ` ${times} times` : ""}`,
    last: ({ last_at }) => formatAge(last_at, clock),
    status: ({ status }) => status,
    ...(isElsewhere && { "work tree": (use: FileAnswer["uses"][number]) => use.root ?? "" }),
    task: ({ task }) => task ?? "",
  }, { essential: ["peer", "did"] });
}

function showPort(answer: PortAnswer, { terminal }: CommandContext): void {
  for (const sentence of portSentences(answer)) terminal.print(sentence);
}

function isPortUsed({ lease, listeners, others }: PortAnswer): boolean {
  return lease !== null || listeners.length > 0 || others > 0;
}

function portNumber(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : NaN;
  if (port >= 1 && port <= 65_535) return port;
  throw new UsageError(`"${text}" is not a port: give a number from 1 to 65535`);
}
