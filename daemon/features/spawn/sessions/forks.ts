/** Forks: starts a copy of a peer, whose agent begins with a copy of the peer's conversation. */

import { Problem } from "protocol/problems.ts";
import type { Context } from "../../../data/context.ts";
import { ANONYMOUS_SENDER } from "kit/core/schema.ts";
import { kindOf } from "../../../host/terminals/addresses.ts";
import { ANY_PROGRAM } from "protocol/agents/contract.ts";
import { definitionOf } from "../../agents/registry.ts";
import type { StoredPeer } from "../../peers/store.ts";
import type { SpawnRequest } from "protocol/spawn/contract.ts";
import type { LaunchedAgent, SpawnDeps } from "../deps.ts";
import type { Spawns } from "../spawns.ts";
import * as spawnRows from "../store.ts";
import type { ForkRequest, ForkResult } from "protocol/spawn/sessions.ts";

/** A launched copy, and its source. */
interface LaunchedFork {
  readonly launched: LaunchedAgent;
  readonly source: Pick<ForkResult, "source_peer_id" | "session_id" | "source_turn_state">;
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

  /**
   * Checks everything, and then starts the copy. The source is not interrupted. `refusalOf` returns
   * the refusal for a sender that may not have a copy.
   */
  async launch(
    argument: string,
    request: ForkRequest,
    refusalOf: (source: StoredPeer) => Problem | undefined,
  ): Promise<LaunchedFork> {
    const { agentPeers, directory } = this.#deps;
    const { peer_id } = directory.find(argument, directory.scopeOf(request));
    const source = agentPeers.mustGetRecord(peer_id);
    if (source.status === "retired") throw new Problem("peer_retired", { peer_id });
    await this.#spawns.launcher.mustBeEnabled();
    const { session_id, args } = this.#copyOf(source);
    const refusal = refusalOf(source);
    if (refusal) throw refusal;
    const tmux_socket = isInTmux(source) ? source.tmux_socket ?? undefined : undefined;
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
    const { path, circle, pane_id, backend } = source;
    const { name, message, from_peer = ANONYMOUS_SENDER } = request;
    const profile = request.profile ?? this.#profileOf(source);
    return {
      path: path ?? "",
      backend: backend ?? ANY_PROGRAM,
      circle,
      role: "agent",
      from_peer,
      ...(profile && { profile }),
      ...(name && { name }),
      ...(message && { message }),
      ...(pane_id && isInTmux(source) && { source_pane: pane_id }),
    };
  }

  /** A profile belongs to the agent that it was made for, and the peer's agent may have changed. */
  #profileOf({ peer_id, backend }: StoredPeer): string | undefined {
    const spawn = spawnRows.ofPeer(this.#ctx.db, peer_id);
    return spawn?.backend === backend ? spawn?.profile ?? undefined : undefined;
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

/** Copies start in tmux, also those of a peer in another terminal. */
function isInTmux({ tmux_socket }: StoredPeer): boolean {
  return kindOf(tmux_socket ?? "") === "tmux";
}
