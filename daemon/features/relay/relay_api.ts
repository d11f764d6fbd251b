/**
 * Calls the relay's own routes with the relay secret: apps and shares. Maps the relay's refusals to
 * the daemon's.
 */

import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import type { Secret } from "kit/core/settings.ts";
import { messageOf, tryJson } from "kit/core/text.ts";
import { timeout } from "kit/core/timeout.ts";
import { Problem } from "protocol/problems.ts";
import { OK } from "kit/http/contract.ts";
import { App } from "protocol/apps.ts";
import type { Directory } from "../peers/directory.ts";
import { type CreateShare, Share } from "protocol/shares.ts";

/** Maximum time to wait for the relay, which may first call this daemon through the tunnel. */
const RELAY_WAIT_MS_MAX = 15_000;

/** The relay that this daemon is connected to. */
export interface RelayAccess {
  /** The relay's origin, such as `https://relay.example`. */
  readonly url: string;
  readonly secret: Secret;
  readonly daemon_id: string;
}

interface RelayApiDeps {
  readonly clock: Clock;
  /** Undefined when no relay is configured. */
  readonly relay: RelayAccess | undefined;
  /** Sends a request to the relay. Rejects when the relay cannot be reached. */
  send(request: Request): Promise<Response>;
}

/** The relay's refusals that the daemon's routes pass on as their own. */
const PASSED = ["unknown_share", "unknown_app", "oauth_disabled"] as const;

const Refusal = z.object({ error: z.string(), detail: z.string().default("") });

export class RelayApi {
  readonly #deps: RelayApiDeps;

  constructor(deps: RelayApiDeps) {
    this.#deps = deps;
  }

  /** The id of this machine at the relay. */
  mustGetDaemonId(): string {
    return this.#mustHaveRelay().daemon_id;
  }

  /** Makes the relay lead a phone with the code of this digest here. Returns the address there. */
  async announceCode(digest: string): Promise<string> {
    const body = { daemon_id: this.mustGetDaemonId(), digest };
    return parseAnswer(Announced, await this.call("POST", PAIRINGS_PATH, body)).url;
  }

  /** The parsed JSON of the response. Redirects are not followed. */
  async call(method: string, path: string, body?: unknown): Promise<unknown> {
    const { url, secret } = this.#mustHaveRelay();
    const { ok, status, text } = await this.#send(new URL(path, url), {
      method,
      headers: { authorization: `Bearer ${secret.reveal()}`, "content-type": "application/json" },
      redirect: "manual",
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const json = tryJson(text);
    if (ok) return json;
    const refusal = Refusal.safeParse(json);
    const { error, detail } = refusal.data ?? { error: `HTTP ${status}`, detail: "" };
    const code = PASSED.find((passed) => passed === error);
    if (code) throw new Problem(code, {});
    throw new Problem("relay_refused", { reason: detail || error });
  }

  #mustHaveRelay(): RelayAccess {
    const { relay } = this.#deps;
    if (!relay) throw new Problem("relay_disabled", {});
    return relay;
  }

  async #send(address: URL, init: RequestInit) {
    const { clock, send } = this.#deps;
    const request = async (signal: AbortSignal) => {
      const response = await send(new Request(address, { ...init, signal }));
      return { ok: response.ok, status: response.status, text: await response.text() };
    };
    const answer = await timeout(clock, RELAY_WAIT_MS_MAX, request).catch((error) => {
      const reason = messageOf(error);
      throw new Problem("relay_unreachable", { reason }, error);
    });
    if (answer) return answer;
    const reason = `no answer within ${RELAY_WAIT_MS_MAX / 1000} s`;
    throw new Problem("relay_unreachable", { reason });
  }
}

const PAIRINGS_PATH = "/api/v1/pairings";
const Announced = z.object({ url: z.url() });

function parseAnswer<S extends z.ZodType>(schema: S, answer: unknown): z.output<S> {
  const result = schema.safeParse(answer);
  if (result.success) return result.data;
  throw new Problem("relay_refused", {
    reason: "its response is invalid; update this daemon or the relay",
  });
}

const APPS_PATH = "/api/v1/apps";
const AppList = z.object({ apps: z.array(App) });

/** Connected apps. The relay keeps them. */
export class Apps {
  readonly #relay: Pick<RelayApi, "call">;

  constructor(relay: Pick<RelayApi, "call">) {
    this.#relay = relay;
  }

  async list(): Promise<{ apps: App[] }> {
    return parseAnswer(AppList, await this.#relay.call("GET", APPS_PATH));
  }

  async revoke(grant_id: string): Promise<typeof OK> {
    await this.#relay.call("DELETE", `${APPS_PATH}/${encodeURIComponent(grant_id)}`);
    return OK;
  }
}

const SHARES_PATH = "/api/v1/shares";

interface SharesDeps {
  readonly directory: Directory;
  readonly relay: RelayApi;
}

const ShareList = z.object({ shares: z.array(Share) });

/** Shares of this machine. The relay keeps them. */
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
    return parseAnswer(Share, await relay.call("POST", SHARES_PATH, body));
  }

  /** The shares of this machine, without those of others with the same relay secret. */
  async list(): Promise<{ shares: Share[] }> {
    const { relay } = this.#deps;
    const daemon_id = relay.mustGetDaemonId();
    const { shares } = parseAnswer(ShareList, await relay.call("GET", SHARES_PATH));
    return { shares: shares.filter((share) => share.daemon_id === daemon_id) };
  }

  async revoke(share_id: string): Promise<typeof OK> {
    await this.#deps.relay.call("DELETE", `${SHARES_PATH}/${encodeURIComponent(share_id)}`);
    return OK;
  }
}
