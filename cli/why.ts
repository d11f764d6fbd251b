/** A trace in plain English: what became of a message, and why. Pure; prints nothing. */

import type { Wire } from "kit/client.ts";
import type { getMessage } from "../daemon/delivery/messages/contract.ts";
import type { getTrace } from "../daemon/delivery/contract.ts";

type Message = Wire<typeof getMessage>;
type Trace = Wire<typeof getTrace>;
type Stage = Trace["stages"][number];

/** One sentence, and when it happened; null for what holds now. */
export interface Line {
  readonly at: string | null;
  readonly text: string;
  readonly good: boolean;
}

const QUOTE_CHARS = 80;

// deno-fmt-ignore
const RUNGS: Readonly<Record<string, string>> = {
  native:    "its agent's own inbox",
  websocket: "its open socket",
  pane:      "its terminal",
  hook:      "its hook, or whoever drains its queue",
};

/** Why a rung did not take a message, as the adapters name it. */
// deno-fmt-ignore
const REASONS: Readonly<Record<string, string>> = {
  no_transport:       "nothing leads there now: no socket, no terminal, no hook",
  dialog_open:        "a dialog is open there, and Enter would answer it",
  draft_present:      "somebody's draft stands in the box",
  copy_mode:          "the pane is in copy mode",
  shell_prompt:       "a shell is there, no agent, and what a peer says must not be a command",
  starting:           "the agent has only just come",
  screen_unknown:     "what the screen shows is not understood",
  not_foreground:     "the agent is not in front",
  agent_elsewhere:    "the agent runs in another pane",
  agent_gone:         "the agent's process has ended",
  pane_dead:          "the pane is dead",
  pane_missing:       "the pane is gone",
  tmux_unreachable:   "tmux does not answer",
  no_pane:            "no pane is known",
  no_process:         "no process is known",
  no_session:         "no session of it is known",
  no_socket:          "it has no inbox of its own",
  foreign_socket:     "other users could replace its inbox",
  connection_refused: "its inbox refused the connection",
  connect_timeout:    "its inbox did not answer",
  socket_closed:      "the socket closed before",
  not_settled:        "it was handed out, and no receipt came in 60 s",
  daemon_restart:     "the daemon was restarted",
  ttl:                "nobody took it in time",
  peer_retired:       "the recipient retired",
  peer_not_addressable: "the recipient takes no messages any more",
};

/** What became of it, in order; the last line is how it stands. */
export function why(message: Message, { stages }: Trace): Line[] {
  const told = stages.flatMap((stage) => {
    const text = sentence(message, stage);
    return text === undefined ? [] : [{ at: stage.ts, text, good: stage.status === "ok" }];
  });
  return [...told, standing(message, stages.some(({ stage }) => stage === "unproved"))];
}

/** Undefined for a stage that says nothing beside the others. */
function sentence(message: Message, { stage, detail }: Stage): string | undefined {
  const { to_peer_name: to, close_reason } = message;
  switch (stage) {
    case "created":
      return opening(message);
    case "resolved":
    case "acked":
    case "queued":
      return undefined;
    case "attempting":
      return `The daemon tried ${(detail && RUNGS[detail]) ?? "to carry it"}.`;
    case "sent":
      return detail ? `It went out; ${reasonOf(detail)}.` : "It went out.";
    case "accepted":
      return `${to}'s end said that it has it.`;
    case "seen":
      return `${to} has seen it: its id stood in the agent's own prompt.`;
    case "unproved":
      return "Nothing proved that it arrived. It may have, so that it is not sent again.";
    case "expired":
    case "dropped":
      if (detail !== null && detail === close_reason) return undefined; // Its end says it all.
      return `It was given up: ${reasonOf(detail)}.`;
    case "failed":
      return `${to}'s end refused it: ${reasonOf(detail)}.`;
    case "closed":
      return ending(message);
    default:
      return `${stage.replaceAll("_", " ")}${detail ? `: ${reasonOf(detail)}` : ""}.`;
  }
}

function opening({ kind, from_peer_name: from, to_peer_name: to, text }: Message): string {
  // deno-fmt-ignore
  const verbs = {
    ask: "asked", notify: "told", broadcast: "told everybody, and so",
    ack: "closed an ask of", inbox_item: "wrote to",
  };
  return `${from} ${verbs[kind]} ${to}${text ? `: ${quoted(text)}` : ", without a text."}`;
}

function ending({ close_reason, reply, responder, from_peer_name, to_peer_name }: Message): string {
  const by = responder ?? to_peer_name;
  const said = reply ? `: ${quoted(reply)}` : ".";
  switch (close_reason) {
    case "ack":
      return `${by} acknowledged it, without a text.`;
    case "ack_with_msg":
    case "answered":
      return `${by} answered${said}`;
    case "declined":
      return `${by} declined${said}`;
    case "cancelled":
      return `${from_peer_name} took it back${said}`;
    case "reply_to":
      return `${by} asked back, which took its place.`;
    case "evicted":
      return "Nobody answered in time, and it was closed.";
    default:
      return `It was closed: ${reasonOf(close_reason)}.`;
  }
}

/** How it stands now. */
function standing({ kind, state, reason, close_reason, ...message }: Message, unproved: boolean) {
  const { to_peer_name: to } = message;
  const line = (text: string, good = true): Line => ({ at: null, text, good });
  if (kind === "ask" && close_reason) return line("So: the ask is closed.");
  const asked = kind === "ask" ? ` ${to} has not answered.` : "";
  switch (state) {
    case "queued":
      return line(`So: it waits on the disk for ${to}: ${reasonOf(reason)}.${asked}`, false);
    case "attempting":
      return line(`So: it is on its way.${asked}`);
    case "sent":
      return unproved
        ? line(`So: whether it arrived is not known.${asked}`, false)
        : line(`So: it went out, and a proof may still come.${asked}`);
    case "accepted":
      return line(`So: it arrived; whether it was read is not known.${asked}`);
    case "seen":
      return line(`So: it was read.${asked}`);
    default:
      return line("So: it did not arrive.", false);
  }
}

/** A reason, or several of a ladder: `native: no_session; pane: dialog_open`. */
export function reasonOf(reason: string | null): string {
  if (reason === null) return "nothing says why";
  return reason.split("; ").map((one) => {
    const [, rung, code = one] = /^(\w+): (.+)$/.exec(one) ?? [];
    const plain = REASONS[code] ?? code.replaceAll("_", " ");
    return rung && RUNGS[rung] ? `${RUNGS[rung]}: ${plain}` : plain;
  }).join("; ");
}

function quoted(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  const chars = Array.from(line);
  return `“${chars.length > QUOTE_CHARS ? `${chars.slice(0, QUOTE_CHARS).join("")}…` : line}”`;
}
