/** Forks: starts a copy of a peer, whose agent begins with a copy of the peer's conversation. */

import { Problem } from "kit/core/problem.ts";
import type { Context } from "kit/data/context.ts";
import { ANONYMOUS_SENDER } from "kit/core/schema.ts";
import { ANY_PROGRAM } from "../../agents/contract.ts";
import { definitionOf } from "../../agents/registry.ts";
import type { StoredPeer } from "../../peers/store.ts";
import type { SpawnRequest } from "../contract.ts";
import type { LaunchedAgent, SpawnDeps } from "../deps.ts";
import type { Spawns } from "../spawns.ts";
import * as spawnRows from "../store.ts";
import type { Forked, ForkRequest } from "./contract.ts";

/** A copy that was launched, and what it was copied from. */
export interface LaunchedFork {
  readonly launched: LaunchedAgent;
  readonly source: Pick<Forked, "source_peer_id" | "session_id" | "source_turn_state">;
}

export class Forks {
  readonly #ctx: Context;
  readonly #deps: SpawnDeps;
  readonly #spawns: Spawns;

  constructor(ctx: Context, deps: SpawnDeps, spawns: Spawns) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#spawns = spawns;
  }

  /** Checks everything, and then starts the copy. The source goes on undisturbed. */
  async launch(argument: string, request: ForkRequest): Promise<LaunchedFork> {
    const { agentPeers, directory } = this.#deps;
    const { peer_id } = directory.find(argument, directory.scopeOf(request));
    const source = agentPeers.mustGetRecord(peer_id);
    if (source.status === "retired") throw new Problem("peer_retired", { peer_id });
    await this.#spawns.launcher.mustBeEnabled();
    const { session_id, args } = this.#copyOf(source);
    const tmux_socket = source.tmux_socket ?? undefined;
    const launched = await this.#spawns.launcher.launch(
      this.#requestOf(source, request),
      tmux_socket,
      { extraArgs: args },
    );
    const source_turn_state = source.turn_state;
    return { launched, source: { source_peer_id: peer_id, session_id, source_turn_state } };
  }

  /** The same folder and circle as the source, beside its pane if circles are windows. */
  #requestOf(source: StoredPeer, request: ForkRequest): SpawnRequest {
    const { peer_id, path, circle, pane_id, backend } = source;
    const { name, message, from_peer = ANONYMOUS_SENDER } = request;
    const profile = request.profile ?? spawnRows.ofPeer(this.#ctx.db, peer_id)?.profile;
    return {
      path: path ?? "",
      backend: backend ?? ANY_PROGRAM,
      circle,
      role: "agent",
      from_peer,
      ...(profile && { profile }),
      ...(name && { name }),
      ...(message && { message }),
      ...(pane_id && { source_pane: pane_id }),
    };
  }

  /** The arguments that copy the source's session, which is proved by the agent's files. */
  #copyOf({ peer_id, name, role, backend, machine, path, runtime_session_id }: StoredPeer) {
    const refuse = (reason: string): never => {
      throw new Problem("cannot_fork", { peer: name, peer_id, reason });
    };
    const isAgent = role === "agent" || role === "orchestrator";
    if (!isAgent || backend === null) return refuse("it is not an agent");
    if (machine !== null && machine !== this.#deps.machine) return refuse("it runs elsewhere");
    const adapter = this.#deps.transports.adapterOf(backend);
    if (!adapter?.fork) {
      return refuse(`${definitionOf(backend)?.title ?? backend} cannot copy a session`);
    }
    if (runtime_session_id === null) {
      return refuse("its session is not known: it has had no turn, or its hooks do not report it");
    }
    const found = adapter.fork({ runtime_session_id, path: path ?? "/" });
    if (!found.ok) return refuse(`the files of its session do not allow it: ${found.reason}`);
    return { session_id: runtime_session_id, args: found.args };
  }
}
