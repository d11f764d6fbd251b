/** Builds the relay's features for people, guests and apps: sign-in, shares and MCP. */

import type { Clock } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import type { Route } from "kit/http/route.ts";
import { machinePageRoutes } from "../sign_in/machine_pages.ts";
import { type KeyDeps, keyRoutes } from "../sign_in/routes.ts";
import type { Mcp } from "../mcp/mcp.ts";
import { mcpRoutes, type Tokens } from "../mcp/routes.ts";
import { type ShareDeps, shareRoutes } from "../shares/routes.ts";
import { Shares } from "../shares/shares.ts";

interface RelayFeaturesDeps
  extends Pick<KeyDeps, "ids" | "originPolicy" | "sessions">, Pick<ShareDeps, "machines"> {
  readonly clock: Clock;
  readonly log: Log;
  /** Undefined if remote MCP is switched off (specification 5). */
  readonly oauth: { readonly issuer: string; readonly tokens: Tokens } | undefined;
  readonly limits: KeyDeps["limits"] & ShareDeps["limits"];
}

export class RelayFeatures implements AsyncDisposable {
  readonly shares: Shares;
  readonly routes: readonly Route[];
  readonly #deps: RelayFeaturesDeps;
  #mcp: Promise<Mcp> | undefined;

  constructor(deps: RelayFeaturesDeps) {
    this.#deps = deps;
    const { clock, ids, oauth, originPolicy } = deps;
    const shares = this.shares = new Shares(clock, ids);
    const has_apps = oauth !== undefined;
    this.routes = [
      ...keyRoutes({ ...deps, has_apps }),
      ...machinePageRoutes(deps),
      ...shareRoutes({ ...deps, shares }),
      ...(oauth ? mcpRoutes({ originPolicy, ...oauth, mcp: () => this.#openMcp() }) : []),
    ];
  }

  tick(): void {
    this.shares.tick();
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
