/** Several real machines on a real server, which may have a leaf node. */

import { randomIds } from "kit/core/clock.ts";
import { makeNetworkSecret } from "../../../daemon/machines/trust/network.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { Network } from "../nats/network.ts";
import { NatsServer, type ServerSetup } from "../nats/nats_server.ts";
import { temporary } from "../programs/child.ts";
import { until } from "../waiting.ts";
import { RealMachine } from "./real_machine.ts";

const LEAF_HUB = { host: "127.0.0.1", port: -1, user: "leaf", password: "leaf" };

export interface MachineSetup {
  readonly settings?: Readonly<Record<string, string>>;
  /** Connects to the leaf node. */
  readonly at_leaf?: boolean;
}

export class RealNetwork implements AsyncDisposable {
  readonly bus: Network;
  readonly machines: RealMachine[] = [];
  readonly #setup: ServerSetup;
  readonly secret = makeNetworkSecret(randomIds);
  readonly #stack = new AsyncDisposableStack();
  readonly #folder: string;
  #leaf: NatsServer | undefined;

  private constructor(bus: Network, setup: ServerSetup) {
    this.#folder = this.#stack.use(temporary()).path;
    this.bus = this.#stack.use(bus);
    this.#setup = setup;
  }

  /** A server with an empty store; it accepts a leaf node. */
  static async start(setup: ServerSetup = {}): Promise<RealNetwork> {
    const options = { leaf_hub: LEAF_HUB, ...setup.options };
    return new RealNetwork(await Network.start({ ...setup, options }), setup);
  }

  get server(): NatsServer {
    return this.bus.server;
  }

  /** A leaf node of the server, without a store of its own. */
  async leaf(): Promise<NatsServer> {
    const leaf_of = { ...LEAF_HUB, hub: `127.0.0.1:${this.server.leafPort}` };
    const options = { server_name: "leaf", leaf_of };
    this.#leaf ??= this.#stack.use(await NatsServer.start({ options, storeless: true }));
    return this.#leaf;
  }

  /** A machine that has joined, is allowed and is connected. */
  async join(name: string, { settings, at_leaf }: MachineSetup = {}): Promise<RealMachine> {
    const state = `${this.#folder}/${name}`;
    Deno.mkdirSync(state);
    const machine = this.#stack.use(new RealMachine(name, state, settings));
    const server = at_leaf ? await this.leaf() : this.server;
    await machine.start();
    await machine.stop();
    const ca = this.#setup.tls ? Deno.readTextFileSync(this.server.ca) : undefined;
    const { url } = server;
    const public_key = await machine.join({ url, network_secret: this.secret, ca });
    await server.allow(machine.id, name, { seed: "", public_key });
    await machine.start();
    await machine.waitForConnection();
    this.machines.push(machine);
    return machine;
  }

  /** Resolves when a machine shows a peer of another one with this status. */
  async sees(machine: RealMachine, display_name: string, status = "online"): Promise<void> {
    await until(`${machine.name} to see ${display_name} ${status}`, async () => {
      const { peers } = await machine.call(listPeers, { query: {} });
      return peers.some((peer) => peer.display_name === display_name && peer.status === status);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}
