/** Title, texts and groups of the API description, which its contracts do not have. */

import { VERSION } from "kit/core/version.ts";
import type { ApiInfo } from "kit/http/openapi.ts";
import { PROBLEMS } from "protocol/problems.ts";
import { BODIES, SAMPLES } from "./samples.ts";

/** A group of routes: one for each feature. */
interface Tag {
  readonly name: string;
  readonly description: string;
  /** The first words of the route ids in this group. */
  readonly ids: readonly string[];
}

/** In the order in which the reference shows them. */
// deno-fmt-ignore
export const TAGS: readonly Tag[] = [
  { name: "Asks", ids: ["asks", "questions"], description:
    "Questions that need a reply: ask, answer, decline, wait, and structured questions." },
  { name: "Notifications", ids: ["delivery"], description:
    "Messages that need no reply, the state of every delivery, and the WebSocket for programs." },
  { name: "Messages", ids: ["messages", "digest", "ids"], description:
    "What was said: pages, full-text search, the digest, and the completion of shortened ids." },
  { name: "Inbox", ids: ["inbox"], description:
    "The messages to the human, and replies from every surface." },
  { name: "Push", ids: ["push"], description:
    "Notifications of inbox items on devices whose page is closed." },
  { name: "Peers", ids: ["peers", "panes"], description:
    "Agents, services and the human: registration, records, liveness, panes, doctor." },
  { name: "Spawning", ids: ["spawn"], description:
    "Starting agents in tmux panes, restarting them, copying them, and resuming their sessions." },
  { name: "Hand-overs", ids: ["handoffs"], description:
    "A peer's work as a file for another peer, or for another agent in its place." },
  { name: "Jobs", ids: ["jobs"], description:
    "Durable work that outlives the peer that asked for it, once or on a schedule." },
  { name: "Schedules", ids: ["schedules"], description: "Messages that are sent later, once or repeatedly." },
  { name: "Subscriptions", ids: ["subscriptions"], description:
    "Messages that are sent when a peer, a job, an ask or a file is in a state." },
  { name: "Transcripts", ids: ["transcripts"], description:
    "What agents recorded of their sessions: conversations, and how many tokens they used." },
  { name: "Limits", ids: ["limits"], description:
    "The limits of agents' accounts: until when they last, and what waits for them." },
  { name: "Budgets", ids: ["budgets"], description:
    "Limits on what asks, jobs, peers and days use, with what was used by whom." },
  { name: "Origins", ids: ["policy", "blame"], description:
    "What began the work of a message or a line, and the rules on what may come of it." },
  { name: "Changes", ids: ["changes"], description:
    "What changed in the folders of peers and jobs: git's status and diff, read only." },
  { name: "Reviews", ids: ["reviews"], description:
    "The changes of agents that are ready for a person, and what the person decides." },
  { name: "Files and leases", ids: ["files", "leases"], description:
    "Who reads and writes a file, and what one process has for itself until it ends." },
  { name: "Joint checks", ids: ["joint_checks"], description:
    "Work trees of one repository, checked apart and together, and the order of landing." },
  { name: "Attachments", ids: ["attachments"], description: "Files that messages carry by their ids." },
  { name: "Events", ids: ["events"], description: "What happens, as pages and as an event stream." },
  { name: "Sharing", ids: ["shares", "apps"], description:
    "Links by which guests watch a peer through the relay, and apps that have access through it." },
  { name: "Machines", ids: ["machines"], description:
    "The machines that exchange messages with this one, and calls to their routes." },
  { name: "Agents", ids: ["agents", "mcp"], description:
    "What the agents' own programs call: hooks, MCP, and the results of self-tests." },
  { name: "Pages", ids: ["pages", "devices"], description:
    "The dashboard, its files, its sign-in, and paired devices." },
  { name: "System", ids: ["system", "config"], description:
    "Health, figures, metrics, the settings in force, and this description." },
];

/** The group of a route, by its id. */
export function tagOf(id: string): string {
  const first = id.split(".")[0] ?? id;
  const tag = TAGS.find(({ ids }) => ids.includes(first));
  if (!tag) throw new Error(`No group for the route ${id}`);
  return tag.name;
}

export const API_INFO: ApiInfo = {
  title: "Agent Mesh daemon",
  version: VERSION,
  description:
    "The HTTP API of the local daemon through which coding agents, programs and you ask " +
    "each other. The command line, the dashboard and the MCP tools call these routes. A refusal " +
    "is JSON with a code in `error`, a sentence in `detail`, and often what to do in `hint`.",
  server: { url: "http://127.0.0.1:{port}", port: "8377" },
  tags: TAGS,
  tagOf,
  samples: SAMPLES,
  bodies: BODIES,
  problems: PROBLEMS,
};
