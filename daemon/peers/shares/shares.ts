/** Shares as this machine makes them: the relay holds them, the daemon says which peer is meant. */

import { z } from "zod";
import { OK } from "kit/contract.ts";
import { Problem } from "kit/problem.ts";
import { tryJson } from "kit/text.ts";
import { type CreateShare, Share } from "./contract.ts";

/** The relay that this daemon is connected to. */
export interface Uplink {
  /** Its origin, such as `https://relay.example`. */
  readonly url: string;
  /** The secret, in clear: it goes into a header, and nowhere else. */
  readonly secret: string;
  readonly daemon_id: string;
  /** Sends a request to it; rejects where it cannot be reached. */
  send(request: Request): Promise<Response>;
}

export interface SharesNeeds {
  /** Undefined where no relay is configured. */
  readonly uplink: Uplink | undefined;
  /** The one peer that an argument names. */
  resolve(argument: string): { readonly peer_id: string };
}

const PATH = "/api/v1/shares";
const Refusal = z.object({ error: z.string(), detail: z.string().default("") });
const Held = z.object({ shares: z.array(Share) });

export class Shares {
  readonly #needs: SharesNeeds;

  constructor(needs: SharesNeeds) {
    this.#needs = needs;
  }

  async create({ peer, permissions, ttl_seconds }: CreateShare): Promise<Share> {
    const { daemon_id } = this.#mustUplink();
    const { peer_id } = this.#needs.resolve(peer);
    const body = { daemon_id, peer_id, permissions, ttl_seconds };
    return Share.parse(await this.#ask("POST", PATH, body));
  }

  /** Those of this machine; others of the same secret have their own daemons. */
  async list(): Promise<{ shares: Share[] }> {
    const { daemon_id } = this.#mustUplink();
    const { shares } = Held.parse(await this.#ask("GET", PATH));
    return { shares: shares.filter((share) => share.daemon_id === daemon_id) };
  }

  async revoke(share_id: string): Promise<typeof OK> {
    await this.#ask("DELETE", `${PATH}/${encodeURIComponent(share_id)}`);
    return OK;
  }

  #mustUplink(): Uplink {
    const { uplink } = this.#needs;
    if (!uplink) throw new Problem("relay_disabled", {});
    return uplink;
  }

  async #ask(method: string, path: string, body?: unknown): Promise<unknown> {
    const { url, secret, send } = this.#mustUplink();
    const request = new Request(new URL(path, url), {
      method,
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const { ok, status, text } = await read(send, request);
    const json = tryJson(text);
    if (ok) return json;
    const refusal = Refusal.safeParse(json);
    const { error, detail } = refusal.data ?? { error: `HTTP ${status}`, detail: "" };
    if (error === "unknown_share") throw new Problem("unknown_share", {});
    throw new Problem("relay_refused", { reason: detail || error });
  }
}

async function read(send: Uplink["send"], request: Request) {
  try {
    const response = await send(request);
    return { ok: response.ok, status: response.status, text: await response.text() };
  } catch (fault) {
    const reason = fault instanceof Error ? fault.message : String(fault);
    throw new Problem("relay_unreachable", { reason }, fault);
  }
}
