/** Reads what a peer's agent recorded of its session, for those who may; secrets are masked. */

import type { Context } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import { cleanText } from "kit/core/text.ts";
import { maskSecrets } from "../agents/sessions/secrets.ts";
import type { SessionEntry, SessionFiles } from "../agents/sessions/session_files.ts";
import * as rows from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { Readers, Transcript, TranscriptEntry, TranscriptQuery } from "./contract.ts";

/** Who reads: the human, a proved peer, or nobody who is proved. */
export interface Reader {
  readonly isHuman: boolean;
  readonly peer_id: string | undefined;
}

export interface TranscriptsDeps {
  /** The name of this machine. */
  readonly machine: string;
  readonly readers: Readers;
  /** The secrets of the configuration. */
  readonly secrets: readonly string[];
  /** The session files of a kind of agent; undefined if it keeps none. */
  sessionFilesOf(backend: string): Promise<SessionFiles | undefined>;
}

/** How much of a text is shown, by its kind. */
const SHOWN_CHARS = { prompt: 4_000, text: 4_000, tool_call: 1_000, tool_result: 600 } as const;
/** How much is shown of any text that is to be shown in full. */
export const FULL_CHARS_MAX = 20_000;

export class Transcripts {
  readonly #ctx: Context;
  readonly #deps: TranscriptsDeps;

  constructor(ctx: Context, deps: TranscriptsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  async read(peer_id: string, query: TranscriptQuery, reader: Reader): Promise<Transcript> {
    this.mustBeOn();
    const peer = this.mustBeHere(peer_id);
    this.#mustBeReadable(peer, reader);
    const missing = (reason: string) => new Problem("no_transcript", { peer: peer.name, reason });
    const found = await this.sessionOf(peer);
    if (typeof found === "string") throw missing(found);
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
        return includes(text, entry.tool, query.grep) ? { ...entry, text } : undefined;
      },
    });
    if (!page) throw missing(NO_FILE);
    const entries = page.entries.map((entry) =>
      toShown(entry, masks.get(entry.position) ?? 0, query.full === true)
    );
    const { name, backend } = peer;
    return { peer_id, name, backend: backend ?? "", session_id, entries, before: page.before };
  }

  /** The session of a peer and the files that hold it; or why there are none. */
  async sessionOf(
    { backend, runtime_session_id: session_id }: StoredPeer,
  ): Promise<{ files: SessionFiles; session_id: string } | string> {
    const files = await this.#deps.sessionFilesOf(backend ?? "");
    if (!files) return "mesh knows no session files of this kind of program";
    if (session_id === null) return "its agent has not reported which session it is in";
    return { files, session_id };
  }

  /** With transcripts off, no session file is opened, not even for its tokens. */
  mustBeOn(): void {
    if (this.#deps.readers === "off") throw new Problem("transcripts_off", {});
  }

  /** A peer of this machine, in any status. */
  mustBeHere(peer_id: string): StoredPeer {
    const peer = rows.get(this.#ctx.db, peer_id);
    if (!peer) throw new Problem("unknown_peer", { peer: peer_id });
    const { machine } = peer;
    if (machine !== null && !this.isHere(peer)) {
      throw new Problem("other_host", { peer_id, machine });
    }
    return peer;
  }

  isHere({ machine }: Pick<StoredPeer, "machine">): boolean {
    return machine === null || machine === this.#deps.machine;
  }

  /** The human may read unless it is off; an agent only its own circle, and only if set so. */
  #mustBeReadable(peer: StoredPeer, { isHuman, peer_id }: Reader): void {
    const { readers } = this.#deps;
    if (isHuman) return;
    if (readers === "human") throw new Problem("human_not_proven", {});
    const reader = peer_id === undefined ? undefined : rows.get(this.#ctx.db, peer_id);
    const refused = (reason: string) =>
      new Problem("not_your_transcript", { peer: peer.name, reason });
    if (!reader) throw refused("it is not proven which peer asks");
    if (reader.circle !== peer.circle) throw refused(`it is in the circle ${peer.circle}`);
  }
}

export const NO_FILE = "its agent's files have no such session, or not yet";

function includes(text: string, tool: string | null, grep: string | undefined): boolean {
  if (grep === undefined) return true;
  const wanted = grep.toLowerCase();
  return text.toLowerCase().includes(wanted) || tool?.toLowerCase().includes(wanted) === true;
}

function toShown(entry: SessionEntry, masked: number, isFull: boolean): TranscriptEntry {
  const { position, at, kind, tool, chars } = entry;
  const shown = isFull ? FULL_CHARS_MAX : SHOWN_CHARS[kind];
  const text = entry.text.slice(0, shown).toWellFormed();
  return { position, at, kind, tool, text, chars: Math.max(chars, text.length), masked };
}
