/** Tools that list peers, and show or change the caller's own record. */

import * as z from "zod";
import type { WireResponse } from "kit/http/client.ts";
import { Name } from "kit/core/schema.ts";
import { quotedLine } from "protocol/messages/frame_markers.ts";
import { Wait, Wake } from "protocol/peers/record.ts";
import { statusWithSleep } from "protocol/derived/wakes.ts";
import { limitText } from "protocol/derived/waits.ts";
import { describePeer, getPeer, listPeers, renamePeer } from "protocol/peers/contract.ts";
import { READ_HINTS, type Tool, tool, UPDATE_HINTS } from "../tool.ts";
import { circle, maybe, mustBePeer } from "./fields.ts";

/** The facts about a peer that another agent needs. */
const PeerCard = z.object({
  peer_id: z.string(),
  name: z.string(),
  circle: z.string(),
  role: z.string(),
  backend: maybe,
  status: z.string(),
  turn_state: maybe,
  waits_for: Wait.nullable().describe("A dialog, or a limit of its account with its reset"),
  wake: Wake.nullable().describe("Whether an agent that is offline sleeps, or cannot be woken"),
  inbound_status: z.string(),
  description: maybe,
  tags: z.array(z.string()).describe("Each addresses all peers that have it, as @tag in ask_many"),
  path: maybe,
  pending_ask_count: z.number(),
});

const list = tool({
  name: "list_peers",
  title: "List the peers",
  description:
    "List the agents and the human who can be asked or notified, with what each works on. " +
    "Use it before the first ask, or when a name is unknown. It also names the limits of their " +
    "plans, at which messages wait. Do not poll it to wait for a reply.",
  hints: READ_HINTS,
  input: z.object({ circle: circle.describe("Only this circle; all of them by default") }),
  output: z.object({ peers: z.array(PeerCard) }),
  async run({ circle }, { caller, call }) {
    const found = await call(listPeers, { query: { listed: "true", circle } });
    const peers = found.peers.filter(({ status }) => status !== "retired")
      // By this name other tools find a peer on another machine, too.
      .map((peer) => peer.transport === "bus" ? { ...peer, name: peer.display_name } : peer);
    const lines = peers.map((peer) => {
      const selfMark = peer.peer_id === caller.peer_id ? " (you)" : "";
      return `- ${describe(peer)}${selfMark}`;
    });
    return { text: lines.join("\n") || "No peers are listed.", data: { peers } };
  },
});

const whoami = tool({
  name: "whoami",
  title: "Who am I",
  description:
    "Show which peer you are: your name, circle and peer_id. Use it when you must name yourself " +
    "to another peer, or when ack is refused as not_the_recipient. Not needed before other tools.",
  hints: READ_HINTS,
  input: z.object({}),
  output: z.object({
    known: z.boolean(),
    name: z.string(),
    proof: z.string().describe("What identified you"),
    peer: PeerCard.nullable(),
  }),
  async run(_, { caller, call }) {
    const { peer_id, name, proof } = caller;
    if (peer_id === null) {
      return {
        text: `You are not a registered peer; others see you as "${name}". You can ask and ` +
          "notify, and get replies with wait_on_ack; nothing can be sent to you.",
        data: { known: false, name, proof, peer: null },
      };
    }
    const peer = await call(getPeer, { params: { id: peer_id }, query: {} });
    return {
      text: `You are ${describe(peer)}; ${peer.peer_id}.`,
      data: { known: true, name: peer.name, proof, peer },
    };
  },
});

const setDescription = tool({
  name: "set_description",
  title: "Set your description",
  description:
    "Describe in one sentence what you are working on, so that others know whom to ask. Use it " +
    "when you begin something new. It expires after a quarter of an hour. Do not put messages, " +
    "secrets or progress reports here.",
  hints: UPDATE_HINTS,
  input: z.object({ description: z.string().max(2000) }),
  output: z.object({ peer: PeerCard }),
  async run({ description }, { caller, call }) {
    const params = { id: mustBePeer(caller, "you are not in the list of peers") };
    const peer = await call(describePeer, { params, query: {}, body: { description } });
    return { text: `You are now ${describe(peer)}.`, data: { peer } };
  },
});

const setName = tool({
  name: "set_name",
  title: "Change your name",
  description:
    "Change your display name, by which others ask you from now on. Use it when your user tells " +
    "you to, or when your name misleads. A name that a live peer of your circle holds gets a " +
    "number. Do not use it to say what you work on (set_description), to pose as another peer, " +
    "or to rename another peer.",
  hints: UPDATE_HINTS,
  input: z.object({ name: Name.describe("1 to 64 letters, digits, dots, underscores, hyphens") }),
  output: z.object({ peer: PeerCard }),
  async run({ name }, { caller, call }) {
    const params = { id: mustBePeer(caller, "you have no name to change") };
    const peer = await call(renamePeer, { params, query: {}, body: { name } });
    const takenNote = peer.name === name ? "" : ` "${name}" belongs to another peer.`;
    return { text: `You are now ${describe(peer)}.${takenNote}`, data: { peer } };
  },
});

export const PEER_TOOLS: readonly Tool[] = [list, whoami, setDescription, setName];

type PeerInfo = WireResponse<typeof describePeer>;

/** One line about a peer, whose own description is in quotation marks. */
function describe(peer: PeerInfo): string {
  const { name, circle, role, backend, status, wake, turn_state, description, tags } = peer;
  const shown = statusWithSleep({ status, wake });
  const state = turn_state ? `${shown}, ${turn_state}` : shown;
  const tagText = tags.length > 0 ? `, tags ${tags.join(" ")}` : "";
  const limit = limitText(peer.waits_for);
  const waitText = limit === undefined ? "" : `, ${quotedLine(limit)}`;
  const descriptionText = description ? `: ${JSON.stringify(quotedLine(description))}` : "";
  const facts = `${backend ?? role}, circle ${circle}, ${state}${waitText}${tagText}`;
  return `@${name} (${facts})${descriptionText}`;
}
