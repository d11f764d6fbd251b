/** Builds the relay's features for people, guests and apps: sign-in, shares and MCP. */

import type { Clock, Ids } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import type { Route } from "kit/http/route.ts";
import type { OriginPolicy } from "../web/origin_policy.ts";
import { type KeyDeps, keyRoutes } from "../sign_in/routes.ts";
import type { Sessions } from "../sign_in/sessions.ts";
import type { Mcp } from "../mcp/mcp.ts";
import { mcpRoutes, type Tokens } from "../mcp/routes.ts";
import { type ShareDeps, shareRoutes } from "../shares/routes.ts";
import { Shares } from "../shares/shares.ts";
import type { Machines } from "../daemons/contract.ts";

export interface RelayFeaturesDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly originPolicy: OriginPolicy;
  readonly sessions: Sessions;
  /** Undefined if remote MCP is switched off (specification 5). */
  readonly oauth: { readonly issuer: string; readonly tokens: Tokens } | undefined;
  readonly machines: Machines;
  readonly limits: KeyDeps["limits"] & {
    readonly guestAsks: ShareDeps["limit"];
    readonly shareVisits: ShareDeps["shareVisits"];
    readonly shareCreations: ShareDeps["shareCreations"];
  };
}

export class RelayFeatures implements AsyncDisposable {
  readonly shares: Shares;
  readonly routes: readonly Route[];
  readonly #deps: RelayFeaturesDeps;
  #mcp: Promise<Mcp> | undefined;

  constructor(deps: RelayFeaturesDeps) {
    this.#deps = deps;
    const { clock, ids, machines, limits, oauth, originPolicy, sessions } = deps;
    const shares = this.shares = new Shares(clock, ids);
    this.routes = [
      ...keyRoutes({
        ids,
        originPolicy,
        sessions,
        machines,
        limits,
        has_apps: oauth !== undefined,
      }),
      ...shareRoutes({
        originPolicy,
        machines,
        shares,
        sessions,
        limit: limits.guestAsks,
        shareVisits: limits.shareVisits,
        shareCreations: limits.shareCreations,
      }),
      ...(oauth ? mcpRoutes({ originPolicy, ...oauth, mcp: () => this.#openMcp() }) : []),
    ];
  }

  tick(now: number): void {
    this.shares.tick(now);
  }

  /** Ends all shares, and with them their streams. */
  shutDown(): void {
    this.shares.endAll();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.shutDown();
    await (await this.#mcp)?.[Symbol.asyncDispose]();
  }

  /** The MCP library is loaded on first use, because it is larger than the rest of the relay. */
  #openMcp(): Promise<Mcp> {
    return this.#mcp ??= import("../mcp/mcp.ts").then(({ Mcp }) => {
      const { machines, log } = this.#deps;
      const error = (error: unknown) => log.error("A remote tool failed", { error });
      return new Mcp({ machines, error });
    });
  }
}
