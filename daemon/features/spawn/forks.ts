/**
 * Forks: starts a copy of a peer, whose agent begins with a copy of the peer's conversation, or a
 * sibling of another kind without it.
 */

import { Problem } from "protocol/problems.ts";
import type { Context } from "../../data/context.ts";
import { ANONYMOUS_SENDER } from "kit/core/schema.ts";
import { kindOf } from "../../host/terminal_addresses.ts";
import { ANY_PROGRAM } from "protocol/agents/contract.ts";
import { definitionOf } from "../agents/registry.ts";
import type { PeerQuery } from "../peers/directory.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { SpawnRequest } from "protocol/spawn/contract.ts";
import type { LaunchedAgent, SpawnDeps } from "./deps.ts";
import type { Spawns } from "./spawns.ts";
import * as spawnRows from "./store.ts";
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
    const source = this.#mustFind(argument, request);
    const { peer_id } = source;
    await this.#spawns.launcher.mustBeEnabled();
    const { session_id, args } = this.#copyOf(source);
    const refusal = refusalOf(source);
    if (refusal) throw refusal;
    const launched = await this.#spawns.launcher.launch(
      this.#requestOf(source, request),
      socketOf(source),
      { extraArgs: args },
    );
    const source_turn_state = source.turn_state;
    return {
      launched: { ...launched, copies: peer_id },
      source: { source_peer_id: peer_id, session_id, source_turn_state },
    };
  }

  /** Starts another kind of agent in the folder of a peer, without its conversation. */
  async launchSibling(
    argument: string,
    { backend, profile, ...query }: PeerQuery & Pick<SpawnRequest, "backend" | "profile">,
  ): Promise<{ launched: LaunchedAgent; source_peer_id: string }> {
    const source = this.#mustFind(argument, query);
    if (backend === source.backend) throw new Problem("same_backend", { backend });
    const request = { ...placeOf(source), backend, profile };
    const launched = await this.#spawns.launcher.launch(request, socketOf(source));
    return { launched, source_peer_id: source.peer_id };
  }

  #mustFind(argument: string, query: PeerQuery): StoredPeer {
    const { agentPeers, directory } = this.#deps;
    const { peer_id } = directory.findFor(argument, query);
    const source = agentPeers.mustGetRecord(peer_id);
    if (source.status === "retired") throw new Problem("peer_retired", { peer_id });
    return source;
  }

  #requestOf(source: StoredPeer, request: ForkRequest): SpawnRequest {
    const { name, message, from_peer = ANONYMOUS_SENDER } = request;
    const profile = request.profile ?? this.#profileOf(source);
    return {
      ...placeOf(source),
      backend: source.backend ?? ANY_PROGRAM,
      from_peer,
      ...(profile && { profile }),
      ...(name && { name }),
      ...(message && { message }),
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

/** The same folder and circle as the source, beside its pane if circles are windows. */
function placeOf(source: StoredPeer) {
  const { path, circle, pane_id } = source;
  const hasPane = pane_id && socketOf(source) !== undefined;
  const place = { path: path ?? "", circle, role: "agent" as const };
  return { ...place, ...(hasPane && { source_pane: pane_id }) };
}

/** The source's tmux server. Agents start in tmux, also those of a peer in another terminal. */
function socketOf({ tmux_socket }: StoredPeer): string | undefined {
  return tmux_socket !== null && kindOf(tmux_socket) === "tmux" ? tmux_socket : undefined;
}
