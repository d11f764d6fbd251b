/** The entries of the palette: places to go to, and acts. */

import { firstLine } from "../components/message.tsx";
import { call, errorText } from "../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import { whyNotInterrupted } from "protocol/derived/interrupts.ts";
import { markRead } from "../state/inbox_acts.ts";
import type { JobInList, Peer } from "../state/records.ts";
import { useResource } from "../state/resource.ts";
import { link } from "../state/router.ts";
import { livePeers, notify, unreadNotes, waitingAsks } from "../state/store.ts";
import { stopWindow } from "../views/peer/interrupt.tsx";
import { VIEWS } from "./views.ts";

export interface Entry {
  readonly title: string;
  readonly hint: string;
  /** An address, or the act itself. */
  readonly to: string | (() => unknown);
}

const SHOWN_MAX = 12;
const JOBS_MAX = "200";

/** The acts on a peer, each with the name of its window on the peer's page. */
const PEER_ACTS = ["Restart", "Rename", "Hand over", "Kill"] as const;

/** The jobs, once they are loaded. */
export function useJobs(): readonly JobInList[] {
  const load = () => call(at.listJobs, { query: { view: "summary", limit: JOBS_MAX } });
  return useResource("palette jobs", ["jobs"], load, { kept: true }).value.value?.work ?? [];
}

/** The entries with all words of the text. Acts come after places, and a search comes last. */
export function findEntries(text: string, jobs: readonly JobInList[]): Entry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const isFound = ({ title, hint }: Entry) =>
    words.every((word) => `${title} ${hint}`.toLowerCase().includes(word));
  const peers = livePeers.value;
  const all = [
    ...VIEWS.map(({ name, title, key }) => ({ title, hint: `g ${key}`, to: link(name) })),
    { title: "Start an agent", hint: "n", to: link("mesh", "", { new: "agent" }) },
    ...peers.map(peerEntry),
    ...acts(),
    // Without a word, they would hide the rest.
    ...(words.length > 0 ? [...peers.flatMap(peerActs), ...jobs.map(jobEntry)] : []),
  ];
  const found = all.filter(isFound).slice(0, SHOWN_MAX);
  if (words.length === 0) return found;
  const search = { title: `Search for ${text.trim()}`, hint: "log" };
  return [...found, { ...search, to: link("log", "", { q: text.trim() }) }];
}

function peerEntry({ peer_id, name, circle, status }: Peer): Entry {
  return { title: name, hint: `${circle} · ${status}`, to: link("peers", peer_id) };
}

function peerActs(peer: Peer): Entry[] {
  const { peer_id, name, circle: hint } = peer;
  const stop = { title: `Stop ${name}`, hint, to: () => void (stopWindow.value = peer) };
  const others = PEER_ACTS.map((act) => ({
    title: `${act} ${name}`,
    hint,
    to: link("peers", peer_id, { act }),
  }));
  return whyNotInterrupted(peer) === undefined ? [stop, ...others] : others;
}

function jobEntry({ job_id, title, state }: JobInList): Entry {
  return { title: `Job: ${title}`, hint: state, to: link("jobs", job_id) };
}

const report = (error: unknown) => notify(errorText(error));

function acts(): Entry[] {
  const notes = unreadNotes.value;
  const answers = waitingAsks.value.map(({ ask }) => ({
    title: `Answer ${ask.from_peer_name}`,
    hint: ask.question?.act?.title ?? firstLine(ask.text),
    to: link("attention", "", { at: ask.correlation_id }),
  }));
  const read = { title: "Mark all notifications as read", hint: String(notes.length) };
  return [
    ...answers,
    ...(notes.length > 0 ? [{ ...read, to: () => markRead(notes).catch(report) }] : []),
  ];
}
