/** Connected apps: the relay keeps them; this lists and revokes them with the relay secret. */

import * as z from "zod";
import { OK } from "kit/http/contract.ts";
import { parseAnswer, type RelayApi } from "./relay_api.ts";
import { App } from "protocol/apps.ts";

const PATH = "/api/v1/apps";
const AppList = z.object({ apps: z.array(App) });

export class Apps {
  readonly #relay: Pick<RelayApi, "call">;

  constructor(relay: Pick<RelayApi, "call">) {
    this.#relay = relay;
  }

  async list(): Promise<{ apps: App[] }> {
    return parseAnswer(AppList, await this.#relay.call("GET", PATH));
  }

  async revoke(grant_id: string): Promise<typeof OK> {
    await this.#relay.call("DELETE", `${PATH}/${encodeURIComponent(grant_id)}`);
    return OK;
  }
}
