/** Sentences for people on the waits of peers and started agents: with what to do, and where. */

import type { Peer } from "protocol/wire.ts";
import { cleanLine } from "kit/core/text.ts";
import { limitWords, timeOfDay } from "protocol/derived/limits.ts";

type Waiter = Pick<Peer, "status" | "turn_state"> & Partial<Pick<Peer, "waits_for">>;
export type WaitingPeer =
  & Waiter
  & Pick<Peer, "name" | "display_name" | "machine" | "transport" | "pane_id" | "path">;

type Wait = NonNullable<Peer["waits_for"]>;

/** A dialog, as a daemon reports it that does not name what its peers wait for. */
const DIALOG: Wait = { kind: "dialog", since: "", source: "", detail: null, resets_at: null };

/** The wait of a peer; undefined for none. */
export function waitOf({ status, turn_state, waits_for }: Waiter): Wait | undefined {
  const isAtDialog = turn_state === "awaiting_input" && status !== "offline";
  return waits_for ?? (isAtDialog ? DIALOG : undefined);
}

/** The detail of a question of trust that is about the agent's hooks, and not about its folder. */
export const HOOKS = "hooks";

/** Maximum characters of a folder or a tool in a sentence. */
const DETAIL_CHARS_MAX = 200;

/** The sentence on what a peer waits for; undefined if it waits for nothing. */
export function waitSentence(peer: WaitingPeer): string | undefined {
  const { display_name: name } = peer;
  const wait = waitOf(peer);
  if (!wait) return undefined;
  switch (wait.kind) {
    case "limit":
      return `${name} ${limitText(wait)}`;
    case "login":
      return `${name} wants its user to log in${wayTo(peer)}`;
    case "trust":
      return `${name} ${trustQuestion(peer.path, wait)}${wayTo(peer)}`;
    default:
      return `${name} ${placeOf(peer, wait)}${needOf(wait)}`;
  }
}

/**
 * The state of a peer that waits, for a list: a few words, or the turn state of dialogs, also if no
 * turn is reported. Undefined if the peer does not wait.
 */
export function waitState({ waits_for }: Waiter): string | undefined {
  if (waits_for?.kind === "limit") return "at its limit";
  if (waits_for?.kind === "login") return "wants a login";
  return waits_for ? "awaiting_input" : undefined;
}

/** The limit that a peer waits for, as what follows its name; undefined for any other wait. */
export function limitText(wait: Wait | null | undefined): string | undefined {
  if (wait?.kind !== "limit") return undefined;
  const { detail, since, resets_at } = wait;
  const until = resets_at === null
    ? undefined
    : timeOfDay(Date.parse(resets_at), Date.parse(since));
  return limitWords(detail, until);
}

function trustQuestion(path: string | null, { detail }: Pick<Wait, "detail">): string {
  if (detail === HOOKS) return "asks if it may run its hooks";
  return path === null
    ? "asks if it may trust its folder"
    : `asks if it may trust the folder ${shown(path)}`;
}

/** A started agent that waits for its user before it can go on. */
export interface WaitingSpawn {
  readonly name: string;
  readonly backend: string;
  readonly path: string;
  readonly pane_id: string;
  readonly wait: Pick<Wait, "kind" | "detail">;
  /** The peer or the pane that `mesh attach` shows. */
  readonly attach: string;
}

/** The sentences on a started agent that waits for its user. */
export function spawnSentence(
  { name, backend, path, pane_id, wait, attach }: WaitingSpawn,
): string {
  // deno-fmt-ignore
  const needs: Readonly<Record<Wait["kind"], string>> = {
    trust:      `it ${trustQuestion(path, wait)}`,
    login:      "it wants its user to log in",
    limit:      "it has reached its usage limit",
    permission: "it asks for a permission",
    question:   "it asks a question",
    dialog:     "it asks what only a person can answer",
  };
  const agent = `${name} (${backend} in ${shown(path)})`;
  return `${agent} waits at a dialog in pane ${pane_id}: ${needs[wait.kind]}. ` +
    `It goes on once a person has acted there: mesh attach ${attach}`;
}

function needOf({ kind, detail }: Wait): string {
  if (kind === "question") return " (it asks a question)";
  const isNamed = kind === "permission" && detail !== null;
  return isNamed ? ` (it asks for permission to use ${shown(detail)})` : "";
}

function placeOf(peer: WaitingPeer, { source }: Wait): string {
  const isAtDialog = peer.turn_state === "awaiting_input" && peer.pane_id !== null;
  if (source === "inbox" && !isAtDialog) return "waits for its user in the inbox: mesh inbox";
  const inInbox = source === "inbox" ? ", or in the inbox: mesh inbox" : "";
  return `waits for its user in its terminal${wayTo(peer)}${inInbox}`;
}

/** The command that shows the peer's terminal, and the machine to run it on. */
function wayTo({ name, machine, transport, pane_id }: WaitingPeer): string {
  // A list of several machines' peers may show the name with its machine.
  const ownName = name.replace(`@${machine}`, "");
  if (transport === "bus") return `: on ${machine}, mesh attach ${ownName}`;
  return pane_id === null ? "" : `: mesh attach ${name}`;
}

function shown(text: string): string {
  const line = cleanLine(text);
  return line.length > DETAIL_CHARS_MAX ? `${line.slice(0, DETAIL_CHARS_MAX)}…` : line;
}
