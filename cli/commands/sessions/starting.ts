/** `mesh fork` and `mesh resume`: start an agent with a copy of a session, or with an earlier one. */

import type { WireResponse } from "kit/http/client.ts";
import { Backend } from "protocol/agents/contract.ts";
import { forkSession, listSessions, resumeSession } from "protocol/generated/endpoints.ts";
import { EXIT } from "../../client/failures.ts";
import {
  answerCommand,
  type Args,
  CIRCLE_FLAG,
  type Command,
  type CommandContext,
} from "../../command/command.ts";
import { styled } from "../../output/terminal.ts";
import { formatAge } from "../../output/time.ts";
import { ownPane, PROFILE_FLAG, showStarted, START_WAIT_FLAG, startFields } from "../spawn.ts";

type SessionList = WireResponse<typeof listSessions>;
type ResumeResult = WireResponse<typeof resumeSession>;

export const STARTING_COMMANDS: readonly Command[] = [
  answerCommand({
    usage: "fork <peer>",
    summary: "Start a copy of an agent, with a copy of its conversation",
    details: "The agent itself goes on undisturbed. The copy is a peer of its own, in the same " +
      "folder and circle. Agents that cannot copy a conversation are refused: hand the work over " +
      "with `mesh handoff`, or start a sibling without it with `mesh peer fork`.",
    flags: {
      ...CIRCLE_FLAG,
      ...PROFILE_FLAG,
      "--name <name>": "the copy's name",
      "--message <text>": "send this once the copy has started",
      ...START_WAIT_FLAG,
    },
    example: 'mesh fork api --name api-retries --message "Try it with retries instead"',
    hasSender: true,
    call: fork,
    show: async (forked, context, args) => {
      await showStarted(forked, context, args);
      if (forked.source_turn_state !== "working") return;
      const text = "The agent is in a turn: the copy has what was written";
      context.terminal.print(styled("yellow", text));
    },
  }),
  answerCommand({
    usage: "resume [query...]",
    summary: "Start an agent with a session that has ended, also one from outside of the mesh",
    details: "The query is how the id of a session begins, or a part of its title or folder. The " +
      "sessions are those in the agents' own files. If exactly one matches, its agent starts in a " +
      "tmux pane, in the folder of the session; otherwise those that match are listed. A session " +
      "that a live peer has is refused. Without a query, the sessions are listed. Titles are for a " +
      "person; with transcripts: peers for agents as well; with transcripts: off, only a whole " +
      "id is found.",
    flags: {
      "--backend <backend>": "only sessions of this kind of agent",
      "--path <folder>": "only sessions of this folder",
      "--list": "list the sessions, and start nothing",
      ...PROFILE_FLAG,
      "--name <name>": "the peer's name; by default that of the peer that had the session",
      "--circle <name>": "the circle it joins",
      "--message <text>": "send this once the agent has started",
      ...START_WAIT_FLAG,
    },
    example: 'mesh resume "flaky tests" --path ~/work/api',
    hasSender: true,
    call: resume,
    show: (answer, context, args) =>
      "sessions" in answer ? showSessions(context, answer) : showStarted(answer, context, args),
    exitCode: (answer, args) => "sessions" in answer && !isList(args) ? EXIT.refused : EXIT.done,
  }),
];

async function fork(context: CommandContext, args: Args) {
  const params = { id: args.text("peer") };
  return await context.call(forkSession, { params, body: await startFields(context, args) });
}

function isList(args: Args): boolean {
  return args.flag("list") || !args.get("query");
}

/** Starts the session that matches. If several match, returns them. */
async function resume(context: CommandContext, args: Args): Promise<SessionList | ResumeResult> {
  const path = args.get("path");
  const found = await context.call(listSessions, {
    query: {
      query: args.get("query") || undefined,
      backend: args.choice("backend", Backend.options),
      path: path && context.absolutePath(path),
    },
  });
  const [session, ...more] = found.sessions;
  if (isList(args) || !session || more.length > 0) return found;
  const { backend, session_id } = session;
  const start = await startFields(context, args);
  const { query, source_pane } = ownPane(context);
  const body = { ...start, backend, session_id, source_pane };
  return await context.call(resumeSession, { query, body });
}

function showSessions(
  { terminal, clock }: CommandContext,
  { sessions, complete, titles_hidden }: SessionList,
): void {
  const ids = sessions.map(({ session_id }) => session_id);
  terminal.printTable(sessions, {
    ID: ({ session_id }) => styled("cyan", beginningOf(session_id, ids)),
    BACKEND: ({ backend }) => backend,
    AGE: ({ updated_at }) => formatAge(updated_at, clock),
    PEER: ({ peer }) => peer === null ? "" : peer.live ? `${peer.name} (live)` : peer.name,
    FOLDER: ({ folder }) => folder ?? "",
    TITLE: ({ title }) => title ?? "",
  }, { whole: ["ID"], empty: "No session matches. Only agents in spawn.commands are searched." });
  if (titles_hidden) {
    const text = "Titles are hidden, and not searched: see the setting transcripts";
    terminal.print(styled("dim", text));
  }
  if (complete) return;
  terminal.print(styled("yellow", "There may be more: give --path, --backend or an id"));
}

/** Minimum number of characters of an id that are shown. */
const ID_CHARS_MIN = 8;

/** The shortest beginning of the id that no other id has. */
function beginningOf(id: string, ids: readonly string[]): string {
  const others = ids.filter((candidate) => candidate !== id);
  let length = ID_CHARS_MIN;
  while (others.some((candidate) => candidate.startsWith(id.slice(0, length)))) length++;
  return id.slice(0, length);
}
