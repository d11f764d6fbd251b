/** Two machines whose databases can be backed up, and restored while the other machine goes on. */

import { join } from "node:path";
import { randomIds } from "kit/core/clock.ts";
import { keyedIdCodec } from "../../../daemon/features/messages/id_codec.ts";
import { makeMachineKeys } from "../../../daemon/machines/trust/keys.ts";
import { ackAsk, getAsk, openAsk } from "protocol/asks/contract.ts";
import { getTrace } from "protocol/messages/contract.ts";
import { notifyPeer } from "protocol/notifications.ts";
import type { ProgramRunner } from "../../../daemon/host/programs.ts";
import { countingIds } from "../ids.ts";
import type { FakeSocket } from "../world.ts";
import { MemoryNetwork, type NetworkedWorld, pass } from "./memory_network.ts";

export type MachineName = "laptop" | "buildbox";

interface Machine {
  readonly world: NetworkedWorld;
  /** The socket of the peer `web` on laptop, or of `api` on buildbox. */
  readonly socket: FakeSocket;
}

const PEERS = { laptop: "web", buildbox: "api" } as const;
const OTHERS = { laptop: "api@buildbox", buildbox: "web@laptop" } as const;

interface RestorableOptions {
  /** If true, the machines reuse numbers, as daemons of earlier versions did. */
  readonly repeatsNumbers?: boolean;
  readonly settings?: { readonly [name in MachineName]?: Readonly<Record<string, string>> };
  readonly programs?: ProgramRunner;
  /** The folder of the peers. */
  readonly path?: string;
}

export class RestorableMachines implements AsyncDisposable {
  readonly network = new MemoryNetwork();
  readonly #directory = Deno.makeTempDirSync();
  readonly #options: RestorableOptions;
  readonly #keys = { laptop: makeMachineKeys(randomIds), buildbox: makeMachineKeys(randomIds) };
  readonly #counted = { laptop: countingIds(1_000_000), buildbox: countingIds(2_000_000) };
  readonly #machines = new Map<MachineName, Machine>();

  constructor(options: RestorableOptions) {
    this.#options = options;
  }

  machine(name: MachineName): Machine {
    const machine = this.#machines.get(name);
    if (!machine) throw new Error(`${name} is down`);
    return machine;
  }

  pass(seconds?: number): Promise<void> {
    return pass([...this.#machines.values()].map(({ world }) => world), seconds);
  }

  async start(name: MachineName): Promise<void> {
    const { repeatsNumbers = false, settings = {}, programs, path } = this.#options;
    const distance = repeatsNumbers ? () => 1 : randomIds.distance;
    const world = this.network.join(name, {
      keys: this.#keys[name],
      db_path: this.#path(name),
      ids: { ...this.#counted[name], distance },
      idCodec: keyedIdCodec,
      at_terminal: true,
      ...(programs && { programs }),
      settings: {
        "human.name": "sam",
        "mesh.bus.allow_admin": '["laptop", "buildbox"]',
        ...settings[name],
      },
    });
    const socket = world.socket();
    const fields = { display_name: PEERS[name], circle: "work" };
    await socket.connect({ ...fields, ...(path !== undefined && { path }) });
    this.#machines.set(name, { world, socket });
  }

  async stop(name: MachineName): Promise<void> {
    await this.machine(name).world[Symbol.asyncDispose]();
    this.#machines.delete(name);
  }

  /** Backs up the database of a machine. */
  async backUp(name: MachineName): Promise<void> {
    await this.stop(name);
    Deno.copyFileSync(this.#path(name), `${this.#path(name)}.old`);
    await this.start(name);
    await this.pass(3);
  }

  /** Restores the backup. */
  async restore(name: MachineName): Promise<void> {
    await this.stop(name);
    Deno.copyFileSync(`${this.#path(name)}.old`, this.#path(name));
    await this.start(name);
    await this.pass(3);
  }

  async ask(from: MachineName, text: string): Promise<string> {
    const { world } = this.machine(from);
    const body = { from_peer: PEERS[from], to_peer: OTHERS[from], text };
    return (await world.call(openAsk, { body })).correlation_id ?? "";
  }

  async notify(from: MachineName, text: string): Promise<string> {
    const { world } = this.machine(from);
    const body = { from_peer: PEERS[from], to_peer: OTHERS[from], text };
    return (await world.call(notifyPeer, { body })).delivery_id;
  }

  /** The peer of a machine answers the ask of this text. */
  async answer(name: MachineName, text: string, message: string): Promise<void> {
    const asked = this.machine(name).socket.of("ask").find((frame) => frame.text === text);
    const body = { correlation_id: asked?.correlation_id ?? "", message, from_peer: PEERS[name] };
    await this.machine(name).world.call(ackAsk, { body });
  }

  /** The texts that the peer of a machine got since the machine started. */
  got(name: MachineName, type: "ask" | "notify"): string[] {
    return this.machine(name).socket.of(type).map(({ text }) => text);
  }

  readAsk(name: MachineName, id: string) {
    return this.machine(name).world.call(getAsk, { params: { id } });
  }

  async stages(name: MachineName, trace_id: string): Promise<string> {
    const { stages } = await this.machine(name).world.call(getTrace, { params: { trace_id } });
    return stages.map(({ stage, detail }) => `${stage} ${detail ?? ""}`.trim()).join("\n");
  }

  async stateOf(name: MachineName, id: string): Promise<string> {
    const { world } = this.machine(name);
    const { state, reason } = await (await world.fetch(`/messages/${id}`)).json();
    return reason === null ? state : `${state} ${reason}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of [...this.#machines.keys()]) await this.stop(name);
    Deno.removeSync(this.#directory, { recursive: true });
  }

  #path(name: MachineName): string {
    return join(this.#directory, `${name}.db`);
  }
}

/** Two machines that know each other, with a peer each. */
export async function restorableMachines(
  options: RestorableOptions = {},
): Promise<RestorableMachines> {
  const mesh = new RestorableMachines(options);
  await mesh.start("laptop");
  await mesh.start("buildbox");
  await mesh.pass(3);
  return mesh;
}
