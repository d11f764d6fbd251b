/** A machine of the network whose keys somebody else has: it sends entries that no daemon makes. */

import { randomIds } from "kit/core/clock.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { Envelopes } from "../../../daemon/machines/trust/envelope.ts";
import { makeMachineKeys } from "../../../daemon/machines/trust/keys.ts";
import { laptopAndBuildbox, type MachineOptions } from "./memory_network.ts";

export type AttackedNetwork = Awaited<ReturnType<typeof attackedLaptop>>;

/** Two machines of which `buildbox` is hostile. */
export async function attackedLaptop(laptop: MachineOptions = {}) {
  const keys = makeMachineKeys(randomIds), stolen = makeMachineKeys(randomIds);
  const two = await laptopAndBuildbox({
    laptop: { ...laptop, keys },
    buildbox: { keys: stolen },
  });
  const { network, buildbox, pass } = two;
  const victim = { daemon_id: two.laptop.daemon_id, ...keys.public };
  const envelopes = new Envelopes({ daemon_id: buildbox.daemon_id, keys: stolen }, randomIds);
  const { peers } = await two.laptop.call(listPeers, { query: {} });
  const idOf = (name: string) => peers.find((peer) => peer.display_name === name)?.peer_id ?? "";
  return {
    ...two,
    web_id: idOf("web"),
    api_id: idOf("api@buildbox"),
    /** Sends entries in one batch; `resend` and the other fields of a batch may be given. */
    async send(
      entries: readonly { readonly kind: string; readonly body: unknown; readonly at?: number }[],
      batch: Record<string, unknown> = {},
    ): Promise<void> {
      const at = network.clock.now();
      const tagged = entries.map((entry) => ({ tag: randomIds.hex(8), at, ...entry }));
      const text = JSON.stringify({ previous: null, entries: tagged, applied: null, ...batch });
      const bytes = new TextEncoder().encode(text);
      const sealed = envelopes.sealFor(victim, "batch", bytes);
      network.bus.inject(victim.daemon_id, buildbox.daemon_id, sealed);
      await pass();
    },
    /** The body of a message to `web`, as a daemon writes it, with some fields changed. */
    message(changes: Record<string, unknown> = {}) {
      const now = network.clock.now();
      return {
        delivery_id: randomIds.next("notif"),
        kind: "notify",
        correlation_id: null,
        from: { peer_id: idOf("api@buildbox"), name: "api", circle: "work" },
        to_peer_id: idOf("web"),
        voice: "peer",
        text: "Hello",
        circle: "work",
        question: null,
        reply_to: null,
        hops: 0,
        attachments: [],
        traceparent: `00-${randomIds.hex(16)}-${randomIds.hex(8)}-01`,
        created_at: now,
        expires_at: null,
        ...changes,
      };
    },
  };
}
