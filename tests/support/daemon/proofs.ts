/** A world with checks, whose programs end as a test decides. */

import assert from "node:assert/strict";
import { ackAsk, getAsk } from "protocol/asks/contract.ts";
import * as rows from "../../../daemon/features/proofs/store.ts";
import type { Outbound } from "../../../daemon/features/messages/websocket/frames.ts";
import type { ProgramRunner } from "../../../daemon/host/programs.ts";
import type { FakeSocket, World } from "../world.ts";
import { connectPeer, connectPeerWithReceipts } from "./peer_clients.ts";

const CHECKS = {
  tests: { argv: ["make", "tests"], files: ["tests/**"] },
  lint: { argv: ["make", "lint"], files: [] },
};

/** A temporary folder in which the checks may run, with the settings. */
export async function provingFolder() {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "mesh-proofs-" }));
  const settings = { "jobs.checks": JSON.stringify(CHECKS), "spawn.allowed_paths": folder };
  return {
    folder,
    settings,
    write(path: string, text: string): void {
      const at = `${folder}/${path}`;
      Deno.mkdirSync(at.slice(0, at.lastIndexOf("/")), { recursive: true });
      Deno.writeTextFileSync(at, text);
    },
    [Symbol.dispose]: () => Deno.removeSync(folder, { recursive: true }),
  };
}

/** Programs that end with the next exit of their last word; a program without one waits. */
export class ScriptedPrograms implements ProgramRunner {
  readonly ran: string[] = [];
  /** The programs that were ended. */
  readonly ended: string[] = [];
  readonly exits: Record<string, (number | null)[]>;
  output = "3 tests failed";

  constructor(exits: Record<string, (number | null)[]> = {}) {
    this.exits = exits;
  }

  async run(
    argv: readonly string[],
    { signal }: { readonly signal: AbortSignal },
  ): Promise<{ exit: number | null; output: string }> {
    const name = argv.at(-1) ?? "";
    this.ran.push(name);
    const exit = this.exits[name]?.shift();
    if (exit !== undefined) return { exit, output: this.output };
    const { promise, resolve } = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => resolve(), { once: true });
    await promise;
    this.ended.push(name);
    return { exit: null, output: "ended" };
  }
}

/** An asker and the agent that answers, in a folder. */
export async function provingPeers(w: World, path: string) {
  const asker = await connectPeer(w, "web");
  const agent = await connectPeerWithReceipts(w, "api", { path });
  return { asker, agent };
}

export function answer(w: World, correlation_id: string, message: string, claims?: string[]) {
  return w.call(ackAsk, { body: { correlation_id, message, from_peer: "api", claims } });
}

export function askOf(w: World, id: string) {
  return w.call(getAsk, { params: { id } });
}

/** Waits until the answer to an ask is checked, which must lead to this state. */
export async function waitForProof(w: World, id: string, state: string) {
  const stateNow = () => rows.get(w.daemon.ctx.db, id)?.state ?? "awaiting";
  const isDecided = () => stateNow() !== "awaiting" && stateNow() !== "proving";
  await w.clock.advanceUntil(`a proof that is ${state}`, isDecided, 0);
  await w.clock.settle();
  const ask = await askOf(w, id);
  assert.ok(ask.proof);
  assert.equal(ask.proof.state, state);
  return { ask, proof: ask.proof };
}

/** The last frame of a type that a peer got. */
export function lastFrame<T extends Outbound["type"]>(socket: FakeSocket, type: T) {
  const frame = socket.of(type).at(-1);
  if (!frame) throw new Error(`No frame of type ${type} arrived`);
  return frame;
}
