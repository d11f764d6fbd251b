/** Records for tests of the live view. */

import {
  type Ask,
  type Item,
  type Message,
  NO_RECORDS,
  type Peer,
  type Records,
} from "../../../cli/live/records.ts";
import { askOf, messageOf, peerOf } from "../dashboard/records.ts";

/** When the tests draw. */
export const NOW = "2030-01-01T00:10:00.000Z";

const SENT = { voice: "peer", circle: "shop" } as const;

export function peer(name: string, more: Partial<Peer> = {}): Peer {
  return {
    ...peerOf({ name }),
    peer_id: `peer-${name}`,
    path: `/work/${name}`,
    machine: "here",
    backend: "codex",
    circle: "shop",
    turn_state: "idle",
    last_seen: NOW,
    agent_pid: 7,
    source: "hook",
    transport: "pane",
    ws_connected: false,
    registered_at: NOW,
    ...more,
  };
}

/** An open ask; `at` is its minute. */
export function ask(from: string, to: string, at: number, more: Partial<Ask> = {}): Ask {
  return {
    ...askOf(from, to),
    ...SENT,
    correlation_id: `ask-${from}-${to}`,
    from_peer_id: `peer-${from}`,
    to_peer_id: `peer-${to}`,
    text: `${from} asks ${to}`,
    created_at: minute(at),
    ...more,
  };
}

/** The inbox item of an ask, or of a notification. */
export function item(from: string, at: number, more: Partial<Item> = {}): Item {
  return {
    item_id: `inb-${from}`,
    kind: "ask",
    from,
    from_peer_id: `peer-${from}`,
    voice: "peer",
    correlation_id: `ask-${from}-sam`,
    text: `${from} asks sam`,
    attachments: [],
    question: null,
    read: false,
    read_at: null,
    read_by: null,
    replied: false,
    replied_at: null,
    snoozed_until: null,
    created_at: minute(at),
    state: "open",
    close_reason: null,
    outcome: null,
    option_id: null,
    responder: null,
    closed_at: null,
    expires_at: null,
    pushes: [],
    ...more,
  };
}

export function message(
  from: string,
  to: string,
  at: number,
  more: Partial<Message> = {},
): Message {
  const message_id = `notif-${from}-${to}-${at}`;
  return {
    ...messageOf({ message_id, delivery_id: message_id }),
    ...SENT,
    from_peer_id: `peer-${from}`,
    from_peer_name: from,
    to_peer_id: `peer-${to}`,
    to_peer_name: to,
    text: `${from} tells ${to}`,
    state: "seen",
    created_at: minute(at),
    ...more,
  };
}

export function minute(at: number): string {
  return `2030-01-01T00:${String(at).padStart(2, "0")}:00.000Z`;
}

const QUESTION: Item["question"] = {
  kind: "choice",
  prompt: "Run migration 0042?",
  blocking: true,
  options: [{ id: "now", title: "Run it now" }, { id: "no", title: "Do not run it" }],
  scope: null,
};

/** A question, an ask that holds up another, a dialog and a note; five peers; three messages. */
export function someRecords(more: Partial<Records> = {}): Records {
  const to_sam = [
    ask("db", "sam", 8, { question: QUESTION }),
    ask("api", "sam", 9),
  ];
  return {
    ...NO_RECORDS,
    loaded: true,
    peers: [
      peer("web", { pending_ask_count: 1 }),
      peer("api", { status: "busy", turn_state: "working", description: "Mends the login test" }),
      peer("db", { turn_state: "awaiting_input" }),
      peer("infra", { circle: "ops", turn_state: "awaiting_input" }),
      peer("backup", { circle: "ops", status: "offline", transport: "none" }),
    ],
    open_asks: [...to_sam, ask("web", "api", 2), ask("api", "web", 7)],
    inbox: {
      human: "sam",
      human_peer_id: "peer-sam",
      items: [
        item("note", 5, { kind: "notify", correlation_id: null, text: "All is well" }),
        item("api", 9),
        item("db", 8, { question: QUESTION }),
      ],
      asks: to_sam,
    },
    queued: new Map([["peer-backup", 3]]),
    messages: {
      hasMore: false,
      rows: [
        message("api", "web", 9, { state: "queued" }),
        message("web", "api", 8, {
          kind: "ask",
          close_reason: "ack_with_msg",
          text: "Which port?",
        }),
        message("api", "sam", 7),
      ],
    },
    ...more,
  };
}
