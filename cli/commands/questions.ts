/** Commands for structured questions, and for asks to many. */

import type { Wire } from "kit/http/client.ts";
import { askMany, getMany } from "../../daemon/features/asks/many/contract.ts";
import { answerAsk } from "../../daemon/features/asks/questions/contract.ts";
import { waitInPieces } from "./asking.ts";
import {
  type Command,
  interruptible,
  JSON_FLAG,
  type Session,
  verb,
  type Words,
} from "../command/command.ts";
import { EXIT, Misused } from "../client/failures.ts";
import { complain, ink, print, printJson, printText, type Terminal } from "../output/print.ts";

type Opened = Wire<typeof askMany>;
type Result = Wire<typeof getMany>;

/** What a refusal of a question may be called; an answer needs no name. */
const REFUSALS = ["denied", "declined", "cancelled"] as const;

export const QUESTION_COMMANDS: readonly Command[] = [
  verb({
    words: "answer <id> [text]",
    summary: "Answer a structured question: by an option, a text, or a refusal",
    flags: {
      "--option <id>": "choose this option",
      "--message <text>": "say this beside the answer",
      "--refuse <outcome>": `give no answer: one of ${REFUSALS.join(", ")}`,
    },
    example: "mesh answer ask-3f9c04d1a2b7 --option allow",
    speaks: true,
    call: answer,
    show: ({ close_reason, outcome }, { terminal }) =>
      print(terminal, ink("green", "closed"), `: ${close_reason}, ${outcome}`),
  }),
  {
    words: "ask-many <peers> <text>",
    summary: "Ask several peers the same, their names between commas",
    flags: {
      "--wait": "wait for all answers and print them",
      "--timeout <seconds>": "close what nobody has answered after so long",
      "--circle <name>": "look for the names in this circle",
      "--from <peer>": "who speaks",
      ...JSON_FLAG,
    },
    example: 'mesh ask-many api,web "Which port do you listen on?" --wait',
    run: ask,
  },
];

async function answer(session: Session, words: Words) {
  const { peer, known } = await session.sender(words);
  const refuse = words.maybe("refuse");
  const outcome = REFUSALS.find((known) => known === refuse);
  if (refuse !== undefined && outcome === undefined) {
    throw new Misused(`--refuse: one of ${REFUSALS.join(", ")}`);
  }
  const text = words.maybe("text");
  const body = {
    correlation_id: words.text("id"),
    option_id: words.maybe("option"),
    message: words.maybe("message"),
    text: text === undefined ? undefined : await session.said(text),
    outcome,
    // Nobody in particular may answer as well: the first valid answer wins.
    from_peer: known === "nobody" ? undefined : peer,
  };
  return await session.call(answerAsk, { body });
}

async function ask(session: Session, words: Words): Promise<number> {
  const { call, terminal } = session;
  const timeout_seconds = words.number("timeout");
  const text = await session.said(words.text("text"));
  const from_peer = (await session.sender(words)).peer;
  const to_peers = words.text("peers").split(",").map((peer) => peer.trim()).filter(Boolean);
  if (to_peers.length === 0) throw new Misused("Name the peers, between commas");
  const wait = words.flag("wait");
  const opened = await call(askMany, {
    body: {
      from_peer,
      to_peers,
      text,
      timeout_seconds,
      circle: words.maybe("circle"),
      reply_delivery: wait ? "pull" : "push",
    },
  });
  if (wait) return await waitForAll(session, words, { opened, peer_id: from_peer });
  if (words.flag("json")) printJson(terminal, opened);
  else showOpened(terminal, opened);
  return EXIT.done;
}

/** Waits for one child after the other: they work side by side, so that this takes no longer. */
async function waitForAll(
  session: Session,
  words: Words,
  { opened, peer_id }: { opened: Opened; peer_id: string },
): Promise<number> {
  return await interruptible(async (signal) => {
    for (const child of opened.children) {
      if (signal.aborted || !("correlation_id" in child)) continue;
      const { correlation_id } = child;
      await waitInPieces(session, { correlation_id, peer_id }, { seconds: undefined, signal });
    }
    const { state } = await showMany(session, words, opened.parent_id);
    if (state === "complete") return EXIT.done;
    complain(session.terminal, ink("yellow", "Some are still open."), " Look again with:");
    complain(session.terminal, "  ", ink("bold", `mesh show ${opened.parent_id}`));
    return signal.aborted ? EXIT.interrupted : EXIT.refused;
  });
}

/** Shows what has become of an ask to many. */
export async function showMany(
  { call, terminal }: Session,
  words: Words,
  parent_id: string,
): Promise<Result> {
  const result = await call(getMany, { params: { parent_id } });
  if (words.flag("json")) printJson(terminal, result);
  else showResult(terminal, result);
  return result;
}

function showOpened(to: Terminal, { parent_id, children }: Opened): void {
  print(to, ink("cyan", parent_id));
  for (const child of children) {
    if ("error" in child) print(to, `  ${child.peer}  `, ink("red", child.error));
    else print(to, `  ${child.peer}  `, ink("dim", child.correlation_id));
  }
}

function showResult(to: Terminal, { parent_id, state, children }: Result): void {
  print(to, ink("cyan", parent_id), `  ${state}`);
  for (const { peer, outcome, error, reply, correlation_id } of children) {
    const good = outcome === "answered" || outcome === "acknowledged";
    const how = ink(good ? "green" : "yellow", error ?? outcome ?? "open");
    print(to, ink("bold", `${peer}: `), how, "  ", ink("dim", correlation_id ?? ""));
    if (reply !== null) printText(to, reply, "  ");
  }
}
