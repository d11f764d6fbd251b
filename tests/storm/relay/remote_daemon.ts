/** A daemon behind the relay of a storm: it restarts and crashes on its disk, and reconnects. */

import { join } from "node:path";
import * as z from "zod";
import type { Ids } from "kit/core/clock.ts";
import type { OpenSocket } from "../../../daemon/api/relay/relay_client.ts";
import { namespaceOf } from "../../../relay/web/secrets.ts";
import type { FakeClock } from "../../support/clock.ts";
import { makeMemoryDir, migratedImage } from "../../support/migrated.ts";
import { daemonId, idsStartingAt, RELAY } from "../../support/relay/relay_world.ts";
import type { World } from "../../support/world.ts";
import { world } from "../../support/world.ts";
import { DatabaseFiles, type DatabaseImage } from "../database_files.ts";
import { FaultyTunnel } from "./tunnel.ts";

const PEERS = ["api", "web"];

const Row = z.object({
  ident: z.string(),
  kind: z.string(),
  from_peer_name: z.string(),
  text: z.string(),
  ask_state: z.string().nullable(),
});
export type Row = z.output<typeof Row>;

export interface RemoteDaemonOptions {
  readonly number: number;
  readonly secret: string;
  readonly clock: FakeClock;
  /** Opens a socket to the relay that is there now. */
  readonly openSocket: OpenSocket;
}

export class RemoteDaemon implements AsyncDisposable {
  readonly daemon_id: string;
  readonly namespace: string;
  w!: World;
  tunnel: FaultyTunnel | undefined;
  /** The ids of its agents, to which remote clients write. */
  readonly peer_ids: string[] = [];
  readonly #options: RemoteDaemonOptions;
  readonly #root = makeMemoryDir("mesh-storm-");
  readonly #ids: Ids;
  #run = 0;

  constructor(options: RemoteDaemonOptions) {
    this.#options = options;
    this.daemon_id = daemonId(options.number);
    this.namespace = namespaceOf(options.secret) ?? "";
    this.#ids = idsStartingAt(options.number);
    this.files.write({ main: migratedImage() });
    this.start();
  }

  get files(): DatabaseFiles {
    return new DatabaseFiles(join(this.#root, `mesh-${this.#run}.db`));
  }

  /** Starts on what is on the disk. */
  start(): void {
    const { clock, secret, openSocket } = this.#options;
    const relay = { "relay.enabled": "true", "relay.url": RELAY, "relay.secret": secret };
    const limits = { "daemon.limits.pair_per_minute": "0", "daemon.history_days": "3650" };
    this.w = world({
      clock,
      ids: this.#ids,
      db_path: this.files.path,
      settings: { ...relay, ...limits },
      openSocket: (address, headers, listener) => {
        this.tunnel = new FaultyTunnel(openSocket, address, headers, listener);
        return this.tunnel.daemonEnd;
      },
    });
  }

  /** Registers its agents. */
  async prepare(): Promise<void> {
    for (const name of PEERS) {
      const answer = await this.w.post("/peers", { name, path: "/work", backend: "sdk" });
      this.peer_ids.push((await answer.json()).peer_id);
    }
  }

  async restart(): Promise<void> {
    await this.w[Symbol.asyncDispose]();
    this.start();
  }

  /** Stops at once; the next run finds the image. Returns the daemon that lost its power. */
  cutPower(image: DatabaseImage): World {
    this.tunnel?.loseDaemon();
    this.#run++;
    this.files.write(image);
    return this.w;
  }

  rows(): Row[] {
    return this.w.daemon.ctx.db.all(
      Row,
      "select ident, kind, from_peer_name, text, ask_state from messages order by seq",
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.w[Symbol.asyncDispose]();
    Deno.removeSync(this.#root, { recursive: true });
  }
}
