/** `mesh blame`: the work that lines of a file came from. */

import { resolve } from "kit/core/path.ts";
import type { WireResponse } from "kit/http/client.ts";
import { stepParts } from "protocol/origins/steps.ts";
import { blameLines } from "protocol/generated/endpoints.ts";
import { answerCommand } from "../../command/command.ts";
import { EXIT, UsageError } from "../../client/failures.ts";
import { styled, type Terminal } from "../../output/terminal.ts";
import { formatInstant } from "../../output/time.ts";

type Answer = WireResponse<typeof blameLines>;

export const BLAME = answerCommand({
  usage: "blame <file:line>",
  summary: "Show what a line came from: commit, agent, messages, and who began the work",
  details:
    "Each step says how it is known: git, reported by the agent's hook, recorded by the daemon, " +
    "inferred from times, or claimed by a text in the repository. What is not known is said. " +
    "Several lines: src/a.ts:40-60. Exit code 1: nothing could be read.",
  example: "mesh blame src/a.ts:42",
  hasSender: true,
  call: async (context, args) => {
    const { path, first, last } = readPlace(args.text("file:line"));
    const { peer, identifiedBy } = await context.sender(args);
    const from_peer = identifiedBy === "anonymous" ? undefined : peer;
    return await context.call(blameLines, { query: { path, first, last, from_peer } });
  },
  show: (answer, { terminal }) => showBlame(terminal, answer),
  exitCode: ({ state }) => state === "ok" ? EXIT.done : EXIT.refused,
});

/** The file and the lines of `src/a.ts:40-60`. */
function readPlace(text: string): { path: string; first: string; last: string | undefined } {
  const [, file = "", first, last] = /^(.+):(\d{1,9})(?:-(\d{1,9}))?$/s.exec(text) ?? [];
  if (first === undefined) {
    throw new UsageError(`"${text}" names no line; write it as src/a.ts:42 or src/a.ts:40-60`);
  }
  return { path: resolve(Deno.cwd(), file), first, last };
}

function showBlame(to: Terminal, { file, lines, detail }: Answer): void {
  if (detail !== null) return to.print(styled("yellow", `${detail}.`));
  for (const { first, last, links } of lines) {
    const range = first === last ? String(first) : `${first}-${last}`;
    to.print(styled("bold", `${file}:${range}`));
    for (const step of links) {
      const { kind, how, at } = step;
      const words = stepParts(step).join("  ");
      const time = at === null ? "" : `  ${formatInstant(at)}`;
      const head = kind === "gap" ? styled("yellow", "?") : styled("cyan", kind);
      to.print("  ", head, `  ${words}${time}  `, styled("dim", `[${how}]`));
    }
  }
}
