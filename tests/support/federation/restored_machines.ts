/** Two machines whose databases can be copied away and put back while the other one goes on. */

import { join } from "node:path";
import { randomIds } from "kit/core/clock.ts";
import { keyedIdCodec } from "../../../daemon/features/messages/id_codec.ts";
import { makeMachineKeys } from "../../../daemon/features/machines/trust/keys.ts";
import { ackAsk, getAsk, openAsk } from "../../../daemon/features/asks/contract.ts";
import { getTrace } from "../../../daemon/features/messages/contract.ts";
import { notifyPeer } from "../../../daemon/features/notifications/contract.ts";
import { countingIds } from "../ids.ts";
import type { FakeSocket } from "../world.ts";
import { MemoryNetwork, type NetworkedWorld, pass } from "./memory_network.ts";

type MachineName = "laptop" | "buildbox";

interface Machine {
  readonly world: NetworkedWorld;
  /** Of the peer `web` on laptop, of `api` on buildbox. */
  readonly socket: FakeSocket;
}

const PEERS = { laptop: "web", buildbox: "api" } as const;

/** `repeatsNumbers`: the machines number their messages as daemons did that skip no numbers. */
export async function restorableMachines(
  { repeatsNumbers = false, settings = {} }: {
    readonly repeatsNumbers?: boolean;
    readonly settings?: { readonly [name in MachineName]?: Readonly<Record<string, string>> };
  } = {},
) {
  const directory = Deno.makeTempDirSync();
  const network = new MemoryNetwork();
  const keys = { laptop: makeMachineKeys(randomIds), buildbox: makeMachineKeys(randomIds) };
  const counted = { laptop: countingIds(1_000_000), buildbox: countingIds(2_000_000) };
  const path = (name: MachineName) => join(directory, `${name}.db`);
  const start = async (name: MachineName): Promise<Machine> => {
    const distance = repeatsNumbers ? () => 1 : randomIds.distance;
    const world = network.join(name, {
      keys: keys[name],
      db_path: path(name),
      ids: { ...counted[name], distance },
      idCodec: keyedIdCodec,
      at_terminal: true,
      settings: {
        "human.name": "sam",
        "mesh.bus.allow_admin": '["laptop", "buildbox"]',
        ...settings[name],
      },
    });
    const socket = world.socket();
    await socket.connect({ display_name: PEERS[name], circle: "work" });
    return { world, socket };
  };
  const machines = { laptop: await start("laptop"), buildbox: await start("buildbox") };
  const all = () => [machines.laptop.world, machines.buildbox.world];
  const stop = (name: MachineName) => machines[name].world[Symbol.asyncDispose]();
  await pass(all(), 3);
  const mesh = {
    network,
    machines,
    pass: (seconds?: number) => pass(all(), seconds),
    /** Stops a machine, copies its database or puts a copy back, and starts it again. */
    async backUp(name: MachineName, copy = "old"): Promise<void> {
      await stop(name);
      Deno.copyFileSync(path(name), `${path(name)}.${copy}`);
      machines[name] = await start(name);
      await mesh.pass(3);
    },
    async restore(name: MachineName, { copy = "old", while_down = async () => {} } = {}) {
      await stop(name);
      await while_down();
      Deno.copyFileSync(`${path(name)}.${copy}`, path(name));
      machines[name] = await start(name);
      await mesh.pass(3);
    },
    async ask(
      from: MachineName,
      text: string,
      more: Record<string, unknown> = {},
    ): Promise<string> {
      const to_peer = from === "laptop" ? "api@buildbox" : "web@laptop";
      const body = { from_peer: PEERS[from], to_peer, text, ...more };
      return (await machines[from].world.call(openAsk, { body })).correlation_id ?? "";
    },
    async notify(from: MachineName, text: string): Promise<string> {
      const to_peer = from === "laptop" ? "api@buildbox" : "web@laptop";
      const body = { from_peer: PEERS[from], to_peer, text };
      return (await machines[from].world.call(notifyPeer, { body })).delivery_id;
    },
    /** The peer of a machine answers the ask of this text. */
    async answer(name: MachineName, text: string, message: string): Promise<void> {
      const { correlation_id } = mesh.got(name, "ask").find((frame) => frame.text === text) ?? {};
      const body = { correlation_id: correlation_id ?? "", message, from_peer: PEERS[name] };
      await machines[name].world.call(ackAsk, { body });
    },
    got: (name: MachineName, type: "ask" | "notify") =>
      machines[name].socket.of(type).map(({ text, ...frame }) => ({
        text,
        correlation_id: "correlation_id" in frame ? frame.correlation_id : undefined,
      })),
    asked: (name: MachineName, id: string) => machines[name].world.call(getAsk, { params: { id } }),
    async stages(name: MachineName, trace_id: string): Promise<string[]> {
      const { stages } = await machines[name].world.call(getTrace, { params: { trace_id } });
      return stages.map(({ stage, detail }) => `${stage} ${detail ?? ""}`.trim());
    },
    async stateOf(name: MachineName, id: string): Promise<string> {
      const { state, reason } = await (await machines[name].world.fetch(`/messages/${id}`)).json();
      return reason === null ? state : `${state} ${reason}`;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      for (const { world } of Object.values(machines)) await world[Symbol.asyncDispose]();
      Deno.removeSync(directory, { recursive: true });
    },
  };
  return mesh;
}
