/** Shares of peers: resolves the peer, and creates, lists and revokes its shares at the relay. */

import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import { OK } from "kit/http/contract.ts";
import { messageOf, tryJson } from "kit/core/text.ts";
import { timeout } from "kit/core/timeout.ts";
import { Problem } from "kit/core/problem.ts";
import { type CreateShare, Share } from "./contract.ts";

/** How long to wait for the relay, which reads the peer through the tunnel before it responds. */
const RELAY_WAIT_MS_MAX = 15_000;
const PATH = "/api/v1/shares";

/** The relay that this daemon is connected to. */
export interface RelayAccess {
  /** The relay's origin, such as `https://relay.example`. */
  readonly url: string;
  /** The relay secret in clear text. It is sent in a header and never logged. */
  readonly secret: string;
  readonly daemon_id: string;
  /** Sends a request to the relay. Rejects when the relay cannot be reached. */
  send(request: Request): Promise<Response>;
}

export interface SharesDeps {
  readonly clock: Clock;
  /** Undefined when no relay is configured. */
  readonly relay: RelayAccess | undefined;
  /** Resolves a peer argument. */
  resolve(argument: string): { readonly peer_id: string };
}

const Refusal = z.object({ error: z.string(), detail: z.string().default("") });
const ShareList = z.object({ shares: z.array(Share) });

export class Shares {
  readonly #deps: SharesDeps;

  constructor(deps: SharesDeps) {
    this.#deps = deps;
  }

  async create({ peer, permissions, ttl_seconds }: CreateShare): Promise<Share> {
    const { daemon_id } = this.#mustHaveRelay();
    const { peer_id } = this.#deps.resolve(peer);
    const body = { daemon_id, peer_id, permissions, ttl_seconds };
    return parseAnswer(Share, await this.#call("POST", PATH, body));
  }

  /**
   * The shares of this machine. Shares of other machines with the same relay secret are left out.
   */
  async list(): Promise<{ shares: Share[] }> {
    const { daemon_id } = this.#mustHaveRelay();
    const { shares } = parseAnswer(ShareList, await this.#call("GET", PATH));
    return { shares: shares.filter((share) => share.daemon_id === daemon_id) };
  }

  async revoke(share_id: string): Promise<typeof OK> {
    await this.#call("DELETE", `${PATH}/${encodeURIComponent(share_id)}`);
    return OK;
  }

  #mustHaveRelay(): RelayAccess {
    const { relay } = this.#deps;
    if (!relay) throw new Problem("relay_disabled", {});
    return relay;
  }

  /** Calls the relay, and maps its errors to the daemon's. Redirects are not followed. */
  async #call(method: string, path: string, body?: unknown): Promise<unknown> {
    const { url, secret } = this.#mustHaveRelay();
    const { ok, status, text } = await this.#send(new URL(path, url), {
      method,
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      redirect: "manual",
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const json = tryJson(text);
    if (ok) return json;
    const refusal = Refusal.safeParse(json);
    const { error, detail } = refusal.data ?? { error: `HTTP ${status}`, detail: "" };
    if (error === "unknown_share") throw new Problem("unknown_share", {});
    throw new Problem("relay_refused", { reason: detail || error });
  }

  async #send(address: URL, init: RequestInit) {
    const { send } = this.#mustHaveRelay();
    const request = async (signal: AbortSignal) => {
      const response = await send(new Request(address, { ...init, signal }));
      return { ok: response.ok, status: response.status, text: await response.text() };
    };
    const answer = await timeout(this.#deps.clock, RELAY_WAIT_MS_MAX, request).catch((error) => {
      const reason = messageOf(error);
      throw new Problem("relay_unreachable", { reason }, error);
    });
    if (answer) return answer;
    const reason = `no answer within ${RELAY_WAIT_MS_MAX / 1000} s`;
    throw new Problem("relay_unreachable", { reason });
  }
}

function parseAnswer<S extends z.ZodType>(schema: S, answer: unknown): z.output<S> {
  const result = schema.safeParse(answer);
  if (result.success) return result.data;
  throw new Problem("relay_refused", {
    reason: "its response is invalid; update this daemon or the relay",
  });
}
