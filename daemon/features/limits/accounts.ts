/** The accounts of agents: peers of one agent and one settings folder share one. */

import { setLatest } from "kit/core/bounded_map.ts";
import { sha256 } from "kit/host/node_library.ts";
import type { AgentTransports } from "../agents/transports.ts";
import type { StoredPeer } from "../peers/store.ts";

/** Maximum ids of accounts in memory: a hash takes longer than a look-up, and each message asks. */
const IDS_MAX = 10_000;

/** An account, by an id that names it in requests, and as people read it. */
export interface Account {
  readonly account_id: string;
  readonly backend: string | null;
  readonly account: string;
}

export class Accounts {
  readonly #transports: Pick<AgentTransports, "adapterOf">;
  readonly #ids = new Map<string, string>();

  constructor(transports: Pick<AgentTransports, "adapterOf">) {
    this.#transports = transports;
  }

  /** The account that a peer shares with others; undefined for a program without one. */
  shared(peer: StoredPeer): Account | undefined {
    const { backend } = peer;
    const found = this.#transports.adapterOf(backend)?.account?.(peer);
    if (!found) return undefined;
    const { home, id } = found;
    const account = id === undefined ? home : `${id} (${home})`;
    return { account_id: this.#idOf(JSON.stringify([backend, home, id])), backend, account };
  }

  /** The peer alone, for reports that prove nothing of an account. */
  own({ peer_id, backend, name }: StoredPeer): Account {
    return { account_id: this.#idOf(peer_id), backend, account: name };
  }

  #idOf(key: string): string {
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = `acct-${sha256(key, "hex").slice(0, 12)}`;
    setLatest(this.#ids, key, id, IDS_MAX);
    return id;
  }
}
