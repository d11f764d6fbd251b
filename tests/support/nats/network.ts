/** A server with its store and some machines on it. */

import type { NatsConnection } from "@nats-io/transport-node";
import { connectTo } from "../../../daemon/machines/nats/connection.ts";
import { parseAddresses } from "../../../daemon/machines/nats/addresses.ts";
import { prepareStore } from "../../../daemon/machines/nats/store.ts";
import { BusMachine } from "./bus_machine.ts";
import { NatsServer, type ServerSetup, TEST_LIMITS, type TestMachine } from "./nats_server.ts";

export const [ALPHA, BETA, GAMMA] = ["dm-00000000000a", "dm-00000000000b", "dm-00000000000c"];

export class Network implements AsyncDisposable {
  readonly server: NatsServer;
  readonly #setup: ServerSetup;
  readonly #stack = new AsyncDisposableStack();

  private constructor(server: NatsServer, setup: ServerSetup) {
    this.server = this.#stack.use(server);
    this.#setup = setup;
  }

  /** A server with an empty store. */
  static async start(setup: ServerSetup = {}): Promise<Network> {
    const network = new Network(await NatsServer.start(setup), setup);
    await network.prepareStore();
    return network;
  }

  async prepareStore(): Promise<void> {
    const connection = await this.connect({ seed: this.server.admin.seed });
    await prepareStore(connection, this.#setup.limits ?? TEST_LIMITS);
    await connection.close();
  }

  /** Allows a machine and connects it. */
  async machine(id: string, options: Parameters<typeof BusMachine.join>[2] = {}) {
    const machine = await this.server.allow(id);
    return await this.join(machine, options);
  }

  async join(machine: TestMachine, options: Parameters<typeof BusMachine.join>[2] = {}) {
    return this.#stack.use(await BusMachine.join(this.server, machine, options));
  }

  /** A bare connection, as the admin or as a machine that does what it likes. */
  async connect(user: { readonly seed: string; readonly daemon_id?: string }) {
    const [address] = parseAddresses(this.server.url);
    if (!address) throw new Error("The server has no address");
    const connection = await connectTo(address, {
      credentials: { seed: user.seed },
      daemonId: user.daemon_id ?? "admin",
      name: "test",
      ...(this.#setup.tls && { ca_path: this.server.ca }),
    });
    this.#stack.defer(() => connection.close());
    return connection satisfies NatsConnection;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}
