/** A trace in plain English: what became of a message, and why. Pure; prints nothing. */

import type { Wire } from "kit/http/client.ts";
import type { getMessage } from "../../daemon/features/messages/log/contract.ts";
import type { getTrace } from "../../daemon/features/messages/contract.ts";
import { sentenceOf } from "kit/core/reasons.ts";

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
    const plain = sentenceOf(code);
    return rung && RUNGS[rung] ? `${RUNGS[rung]}: ${plain}` : plain;
  }).join("; ");
}

function quoted(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  const chars = Array.from(line);
  return `“${chars.length > QUOTE_CHARS ? `${chars.slice(0, QUOTE_CHARS).join("")}…` : line}”`;
}
