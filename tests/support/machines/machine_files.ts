/** Machines in memory that exchange files over one bus. */

import { MachineFiles } from "../../../daemon/machines/files/machine_files.ts";
import type { SentFile } from "../../../daemon/machines/files/sent_files.ts";
import type { MachineSeal } from "../../../daemon/machines/trust/seal.ts";
import { crypto } from "kit/host/node_library.ts";
import type { MemoryBus } from "../memory_bus.ts";
import type { World, WorldOptions } from "../world.ts";
import { upload, uploadWorld } from "../daemon/uploads.ts";

const utf8 = new TextEncoder();

/**
 * A seal without keys: it names sender, receiver, context and hash, and opens nothing in which one
 * of them differs. Its bytes do not contain the sealed bytes as they are.
 */
function fakeSeal(me: string): MachineSeal {
  const head = (from: string, to: string, context: string, bytes: Uint8Array) => {
    const hash = crypto().createHash("sha256").update(bytes).digest("hex");
    return utf8.encode(`${from} > ${to}, ${context}, ${hash}\n`);
  };
  const hidden = (bytes: Uint8Array) => bytes.map((byte) => byte ^ 0x5a);
  return {
    seal: (to, context, bytes) =>
      new Uint8Array([...head(me, to, context, bytes), ...hidden(bytes)]),
    open(from, context, sealed) {
      const bytes = hidden(sealed.subarray(sealed.indexOf(10) + 1));
      const expected = head(from, me, context, bytes);
      return expected.every((byte, at) => sealed[at] === byte) ? bytes : null;
    },
  };
}

/** An entry with the files of a message. */
export function entryWith(attachments: readonly unknown[]) {
  return { tag: "0123456789abcdef", kind: "message", at: 0, body: { attachments } };
}

export type FileMachine = ReturnType<typeof fileMachine>;

/** A world with its files on the bus; dispose it with `await using`. */
export function fileMachine(daemon_id: string, bus: MemoryBus, options: WorldOptions = {}) {
  const w = uploadWorld(options);
  const { ctx, attachments } = w.daemon;
  const connection = bus.connect(daemon_id);
  const state = { isConnected: true };
  const files = new MachineFiles(ctx, {
    attachments,
    bus: () => state.isConnected ? connection : undefined,
    seal: fakeSeal(daemon_id),
    daemon_id,
  });
  return {
    world: w,
    daemon_id,
    files,
    connection,
    /** `isConnected` is false without a connection to the bus. */
    state,
    /** Uploads a file here, as an agent does. */
    async attach(content: BlobPart, name = "plan.txt") {
      const { id } = await upload(w, content, { name });
      const [attachment] = attachments.attach([id]);
      if (!attachment) throw new Error("The upload failed");
      return attachment;
    },
    /** Names an attachment for another machine, as an entry does. */
    describe: (to: string, attachment: Parameters<MachineFiles["uploads"]["describe"]>[2]) =>
      ctx.db.transact((tx) => files.uploads.describe(tx, to, attachment)),
    release: (to: string, entries: ReturnType<typeof entryWith>[]) =>
      ctx.db.transact((tx) => files.uploads.release(tx, to, entries)),
    received: (from: string, sent: readonly SentFile[]) =>
      files.downloads.received(ctx.db, from, sent),
    /** A tick of the files only, and what it started. */
    async tick() {
      files.tick(w.clock.now());
      await w.clock.settle();
    },
    [Symbol.asyncDispose]: () => w[Symbol.asyncDispose](),
  };
}

/** The text of a stored attachment. */
export async function textOf(w: World, id: string): Promise<string> {
  const { body } = await w.daemon.attachments.open(id);
  return await new Response(body).text();
}
