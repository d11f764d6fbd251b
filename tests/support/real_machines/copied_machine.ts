/** A machine whose state directory was copied: two real daemons with one id on one bus. */

import { cpSync } from "node:fs";
import { listMachines } from "protocol/machines.ts";
import { notifyPeer } from "protocol/notifications.ts";
import { temporary } from "../programs/child.ts";
import { AnsweringPeer } from "./answering_peer.ts";
import { RealMachine } from "./real_machine.ts";
import { RealNetwork } from "./real_network.ts";

/** Number of notes that are sent each time. */
export const NOTES = 20;

/** A laptop with `docs`, and a build box with `api`, whose state directory was copied. */
export async function withCopy() {
  await using stack = new AsyncDisposableStack();
  const network = stack.use(await RealNetwork.start());
  const laptop = await network.join("laptop");
  const buildbox = await network.join("buildbox");
  const docs = stack.use(await AnsweringPeer.connect(laptop, "docs"));
  const api = await AnsweringPeer.connect(buildbox, "api");
  await network.sees(laptop, "api@buildbox");
  await network.sees(buildbox, "docs@laptop");
  await buildbox.stop();
  const state = `${stack.use(temporary()).path}/copy`;
  cpSync(buildbox.state, state, { recursive: true });
  const copy = stack.use(new RealMachine("buildbox", state));
  await buildbox.start();
  await buildbox.waitForConnection();
  await api.reconnect();
  stack.use(api);
  await copy.start();
  const copied = stack.use(await AnsweringPeer.connect(copy, "api2"));
  const owned = stack.move();
  return {
    network,
    laptop,
    buildbox,
    copy,
    docs,
    api,
    copied,
    /** Sends numbered notes; returns their ids. */
    async send(from: RealMachine, from_peer: string, to_peer: string, mark: string) {
      const ids: string[] = [];
      for (let at = 0; at < NOTES; at++) {
        const body = { from_peer, to_peer, text: `${mark} ${at}` };
        ids.push((await from.call(notifyPeer, { body })).delivery_id ?? "");
      }
      return ids;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

export const busOf = async (machine: RealMachine) => (await machine.call(listMachines, {})).bus;
