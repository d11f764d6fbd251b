/** Shares of peers: resolves the peer, and creates, lists and revokes its shares at the relay. */

import * as z from "zod";
import { OK } from "kit/http/contract.ts";
import type { Directory } from "../peers/directory.ts";
import { type CreateShare, Share } from "protocol/shares.ts";
import { parseAnswer, type RelayApi } from "./relay_api.ts";

const PATH = "/api/v1/shares";

interface SharesDeps {
  readonly directory: Directory;
  readonly relay: RelayApi;
}

const ShareList = z.object({ shares: z.array(Share) });

export class Shares {
  readonly #deps: SharesDeps;

  constructor(deps: SharesDeps) {
    this.#deps = deps;
  }

  async create({ peer, from_peer, permissions, ttl_seconds }: CreateShare): Promise<Share> {
    const { directory, relay } = this.#deps;
    const daemon_id = relay.mustGetDaemonId();
    const { peer_id } = directory.findFor(peer, { from_peer });
    const body = { daemon_id, peer_id, permissions, ttl_seconds };
    return parseAnswer(Share, await relay.call("POST", PATH, body));
  }

  /** The shares of this machine, without those of others with the same relay secret. */
  async list(): Promise<{ shares: Share[] }> {
    const { relay } = this.#deps;
    const daemon_id = relay.mustGetDaemonId();
    const { shares } = parseAnswer(ShareList, await relay.call("GET", PATH));
    return { shares: shares.filter((share) => share.daemon_id === daemon_id) };
  }

  async revoke(share_id: string): Promise<typeof OK> {
    await this.#deps.relay.call("DELETE", `${PATH}/${encodeURIComponent(share_id)}`);
    return OK;
  }
}
