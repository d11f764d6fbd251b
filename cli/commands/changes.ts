/** `mesh changes` and `mesh jobs changes`: git's status and diff of a peer's or a job's folder. */

import { readChanges, readJobChanges } from "protocol/generated/endpoints.ts";
import {
  answerCommand,
  type Args,
  CIRCLE_FLAG,
  type Command,
  type CommandContext,
} from "../command/command.ts";
import { EXIT } from "../client/failures.ts";
import { showChanges, type ShownChanges } from "../output/changes.ts";

const FLAGS = {
  "--stat": "only the files with the numbers of their lines",
  "--file <path>": "only this file, with more of its lines",
};
const DETAILS = "Read only, with git, on the machine of the folder: what was committed since the " +
  "branch left its upstream or the default branch, what is staged, unstaged or untracked. No " +
  "program of the repository is run. Secrets are masked, as far as they look like secrets. Exit " +
  "code 1: the folder has no changes that can be read, and the output says why.";

export const CHANGES_COMMANDS: readonly Command[] = [
  answerCommand({
    usage: "changes <peer>",
    summary: "Show what changed in a peer's folder since its branch began",
    details: DETAILS,
    flags: { ...FLAGS, ...CIRCLE_FLAG },
    example: "mesh changes api --stat",
    call: async (context, args) => {
      const { params, query } = await context.peerRequest(args);
      return await allPages(
        args,
        (page) => context.call(readChanges, { params, query: { ...query, ...page } }),
      );
    },
    show: (changes, context, args) => show(changes.name, changes, context, args),
    exitCode: exitCodeOf,
  }),
  answerCommand({
    usage: "jobs changes <id>",
    summary: "Show what changed in the folder of a job, as it is now",
    details: DETAILS,
    flags: FLAGS,
    example: "mesh jobs changes work-3f9c04d1a2b7",
    call: async (context, args) => {
      const params = { id: args.text("id") };
      return await allPages(args, (query) => context.call(readJobChanges, { params, query }));
    },
    show: (changes, context, args) => show(changes.job_id, changes, context, args),
    exitCode: exitCodeOf,
  }),
];

interface PageQuery {
  readonly limit?: string;
  readonly offset?: string;
  readonly file?: string | undefined;
}

/** All pages as one answer; the first answer for one file, or for the list of files. */
async function allPages<A extends ShownChanges>(
  args: Args,
  read: (query: PageQuery) => Promise<A>,
): Promise<A> {
  const file = args.get("file");
  if (args.flag("stat")) return await read({ limit: "0", file });
  let answer = await read({ file });
  while (answer.next !== null) {
    const page = await read({ offset: String(answer.next) });
    const files = page.files.map((found, at) => found.hunks ? found : answer.files[at] ?? found);
    const left_out = [
      ...answer.left_out,
      ...page.left_out.filter(({ what }) => !answer.left_out.some((known) => known.what === what)),
    ];
    answer = { ...page, files, left_out, masked: answer.masked + page.masked };
  }
  return answer;
}

function show(
  title: string,
  changes: ShownChanges,
  { terminal }: CommandContext,
  args: Args,
): void {
  showChanges(terminal, title, changes, !args.flag("stat"));
}

function exitCodeOf({ state }: ShownChanges): number {
  return state === "ok" ? EXIT.done : EXIT.refused;
}
