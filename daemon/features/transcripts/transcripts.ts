/** Reads the recorded session of a peer's agent for permitted readers. Secrets are masked. */

import type { Context } from "../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import { cleanText } from "kit/core/text.ts";
import { maskSecrets } from "../agents/sessions/secrets.ts";
import type { SessionEntry, SessionFiles } from "../agents/sessions/session_files.ts";
import { isOnMachine, mustBeOnMachine, mustGetPeer } from "../peers/directory.ts";
import * as rows from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import type {
  Readers,
  Transcript,
  TranscriptEntry,
  TranscriptQuery,
} from "protocol/transcripts.ts";

/** The reader: the human, a proved peer, or nobody who is proved. */
export interface Reader {
  readonly isHuman: boolean;
  /** True if the request comes through a relay or from another machine. */
  readonly isElsewhere: boolean;
  readonly peer_id: string | undefined;
}

interface TranscriptsDeps {
  /** The name of this machine. */
  readonly machine: string;
  readonly readers: Readers;
  /** The secrets of the configuration. */
  readonly secrets: readonly string[];
  /** The session files of a kind of agent; undefined if it keeps none. */
  sessionFilesOf(backend: string): Promise<SessionFiles | undefined>;
}

/** Maximum characters shown of a text, by its kind. */
const SHOWN_CHARS = { prompt: 4_000, text: 4_000, tool_call: 1_000, tool_result: 600 } as const;
/** Maximum characters of a text that is shown in full. */
export const FULL_CHARS_MAX = 20_000;

export class Transcripts {
  readonly #ctx: Context;
  readonly #deps: TranscriptsDeps;

  constructor(ctx: Context, deps: TranscriptsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  async read(peer_id: string, query: TranscriptQuery, reader: Reader): Promise<Transcript> {
    const peer = this.mustBeHere(peer_id);
    const refusal = this.refusalOf(peer, reader);
    if (refusal) throw refusal;
    const found = await this.sessionOf(peer);
    if (typeof found === "string") throw missingTranscript(peer, found);
    const { files, session_id } = found;
    const { before, after, last: entries_max } = query;
    const masks = new Map<number, number>();
    const page = await files.read(session_id, {
      before,
      after,
      entries_max,
      select: (entry) => {
        const { text, masked } = maskSecrets(cleanText(entry.text), this.#deps.secrets);
        masks.set(entry.position, masked);
        if (!includes(text, entry.tool, query.grep)) return undefined;
        // The length of the masked text, so that only a shortened text has more characters.
        return { ...entry, text, chars: entry.chars - entry.text.length + text.length };
      },
    });
    if (!page) throw missingTranscript(peer, NO_FILE);
    const entries = page.entries.map((entry) =>
      toShown(entry, masks.get(entry.position) ?? 0, query.full === true)
    );
    const { name, backend } = peer;
    const { before: earlier, isCut: cut } = page;
    return { peer_id, name, backend: backend ?? "", session_id, entries, before: earlier, cut };
  }

  /** The session of a peer and its files, or the reason why there are none. */
  async sessionOf(
    { backend, runtime_session_id: session_id }: StoredPeer,
  ): Promise<{ files: SessionFiles; session_id: string; file: string } | string> {
    if (this.#deps.readers === "off") return new Problem("transcripts_off", {}).toBody().detail;
    const files = await this.#deps.sessionFilesOf(backend ?? "");
    if (!files) return "mesh knows no session files of this kind of program";
    if (session_id === null) return "its agent has not reported which session it is in";
    const file = files.locate(session_id);
    return file === undefined ? NO_FILE : { files, session_id, file };
  }

  /** A peer of this machine, in any status. */
  mustBeHere(peer_id: string): StoredPeer {
    const peer = mustGetPeer(this.#ctx.db, peer_id);
    mustBeOnMachine(peer, this.#deps.machine);
    return peer;
  }

  isHere(peer: StoredPeer): boolean {
    return isOnMachine(peer, this.#deps.machine);
  }

  /**
   * The refusal for a reader. The human may read unless transcripts are off. An agent may read only
   * transcripts of its own circle, if the configuration allows it.
   */
  refusalOf(peer: StoredPeer, reader: Reader): Problem | undefined {
    const { readers } = this.#deps;
    if (readers === "off") return new Problem("transcripts_off", {});
    const refused = (reason: string) =>
      new Problem("not_your_transcript", { peer: peer.name, reason });
    if (reader.isElsewhere) return refused("it is read on its own machine only");
    if (reader.isHuman) return undefined;
    if (readers === "human") return new Problem("human_not_proven", {});
    const { peer_id } = reader;
    const found = peer_id === undefined ? undefined : rows.get(this.#ctx.db, peer_id);
    if (!found) return refused("it is not proven which peer asks");
    if (found.circle !== peer.circle) return refused(`it is in the circle ${peer.circle}`);
    const isForeign = isClaimed(peer) &&
      (found.peer_id === peer.peer_id || this.#isElsewhere(peer));
    return isForeign ? unprovedSession(peer) : undefined;
  }

  /** True if a peer of another circle has the session that a peer names. */
  #isElsewhere({ peer_id, runtime_session_id, circle }: StoredPeer): boolean {
    const holders = rows.bySession(this.#ctx.db, runtime_session_id ?? "");
    return holders.some((holder) => holder.peer_id !== peer_id && holder.circle !== circle);
  }

  /**
   * The refusal for a copy of a peer. A copy knows everything that the peer has read. The human may
   * always have a copy, and a peer may have one of its own session.
   */
  refusalOfCopy(peer: StoredPeer, reader: Reader): Problem | undefined {
    if (reader.isHuman) return undefined;
    if (reader.peer_id !== peer.peer_id) return this.refusalOf(peer, reader);
    return isClaimed(peer) ? unprovedSession(peer) : undefined;
  }

  /** The refusal for resuming a session with another agent. `earlier` had the session last. */
  refusalOfSession(earlier: StoredPeer | undefined, reader: Reader): Problem | undefined {
    if (reader.isHuman) return undefined;
    return earlier ? this.refusalOfCopy(earlier, reader) : new Problem("human_not_proven", {});
  }
}

/**
 * True if only the peer's registration names its session, and its agent has not reported it. Any
 * caller may name any session.
 */
function isClaimed({ runtime_session_id, session_proved }: StoredPeer): boolean {
  return runtime_session_id !== null && !session_proved;
}

function unprovedSession({ name }: StoredPeer): Problem {
  const reason = "its agent has not reported that it has this session";
  return new Problem("not_your_transcript", { peer: name, reason });
}

/** The refusal of a peer without a session that can be read. */
export function missingTranscript({ name }: StoredPeer, reason: string): Problem {
  return new Problem("no_transcript", { peer: name, reason });
}

const NO_FILE = "its agent's files have no such session yet";

function includes(text: string, tool: string | null, grep: string | undefined): boolean {
  if (grep === undefined) return true;
  const wanted = grep.toLowerCase();
  return text.toLowerCase().includes(wanted) || tool?.toLowerCase().includes(wanted) === true;
}

function toShown(entry: SessionEntry, masked: number, isFull: boolean): TranscriptEntry {
  const { position, at, kind, tool, chars, call, outcome } = entry;
  const shown = isFull ? FULL_CHARS_MAX : SHOWN_CHARS[kind];
  const text = entry.text.slice(0, shown).toWellFormed();
  return { position, at, kind, tool, call, outcome, text, chars, masked };
}
