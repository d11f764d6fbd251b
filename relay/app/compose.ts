/** The rooms for people, guests and apps, wired together: keys, shares, MCP. */

import type { Clock, Ids } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import type { Route } from "kit/http/route.ts";
import type { Address } from "../web/issuer.ts";
import { type KeyNeeds, keyRoutes } from "../sign_in/routes.ts";
import type { Sessions } from "../sign_in/sessions.ts";
import type { Mcp } from "../mcp/mcp.ts";
import { mcpRoutes, type Tokens } from "../mcp/routes.ts";
import { type ShareNeeds, shareRoutes } from "../shares/routes.ts";
import { Shares } from "../shares/shares.ts";
import type { Machines } from "../daemons/contract.ts";

export interface RoomNeeds {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly address: Address;
  readonly sessions: Sessions;
  /** Without one, remote MCP is off (specification 5). */
  readonly oauth: { readonly issuer: string; readonly tokens: Tokens } | undefined;
  readonly machines: Machines;
  readonly paces: KeyNeeds["paces"] & {
    readonly guests: ShareNeeds["pace"];
    readonly visits: ShareNeeds["visits"];
    readonly sharing: ShareNeeds["sharing"];
  };
}

export class Rooms implements AsyncDisposable {
  readonly shares: Shares;
  readonly routes: readonly Route[];
  readonly #needs: RoomNeeds;
  #mcp: Promise<Mcp> | undefined;

  constructor(needs: RoomNeeds) {
    this.#needs = needs;
    const { clock, ids, machines, paces, oauth, address, sessions } = needs;
    const shares = this.shares = new Shares(clock, ids);
    this.routes = [
      ...keyRoutes({ ids, address, sessions, machines, paces, has_apps: oauth !== undefined }),
      ...shareRoutes({
        address,
        machines,
        shares,
        sessions,
        pace: paces.guests,
        visits: paces.visits,
        sharing: paces.sharing,
      }),
      ...(oauth ? mcpRoutes({ address, ...oauth, mcp: () => this.#openMcp() }) : []),
    ];
  }

  beat(now: number): void {
    this.shares.beat(now);
  }

  /** Whoever watches is told that it is over. */
  goDown(): void {
    this.shares.endAll();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.goDown();
    await (await this.#mcp)?.[Symbol.asyncDispose]();
  }

  /** Loaded when the first app calls: its library is larger than all the rest of the relay. */
  #openMcp(): Promise<Mcp> {
    return this.#mcp ??= import("../mcp/mcp.ts").then(({ Mcp }) => {
      const { machines, log } = this.#needs;
      const fault = (fault: unknown) => log.error("A remote tool failed", { fault });
      return new Mcp({ machines, fault });
    });
  }
}
