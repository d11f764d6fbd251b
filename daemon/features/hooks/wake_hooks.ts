/** Hooks that wait beside an idle session until a message wakes it. */

import type * as z from "zod";
import { Problem } from "protocol/problems.ts";
import { pause } from "kit/core/timeout.ts";
import type { Context } from "../../data/context.ts";
import type { AgentPeer, WakeInstruction } from "../agents/adapter.ts";
import type { AgentTransports } from "../agents/transports.ts";
import type { AgentPeers } from "../peers/agent_peers.ts";
import { type Directory, takesHookMessages } from "../peers/directory.ts";
import type {
  IdentityLookup,
  NamedSession,
  ProvenHook,
} from "../peers/identity/identity_lookup.ts";
import type { waitForWake } from "protocol/hooks.ts";

/** Maximum time for which one request waits. The hook asks again until its session ends. */
const WAIT_MS_MAX = 5 * 60_000;
/**
 * Maximum time for which a hook waits for the registration of its session. A session's first hooks
 * arrive together, so it may come before the hook that registers the session.
 */
const REGISTRATION_WAIT_MS_MAX = 2_000;

interface WakeHooksDeps {
  readonly transports: AgentTransports;
  readonly agentPeers: AgentPeers;
  readonly directory: Pick<Directory, "address">;
  readonly identityLookup: IdentityLookup;
  /** Tries the peer's queue again, because a transport to the peer has become ready. */
  wake(peer_id: string): void;
  /** Aborted when the daemon shuts down. */
  readonly shutdownSignal: AbortSignal;
}

export class WakeHooks {
  readonly #ctx: Context;
  readonly #deps: WakeHooksDeps;

  constructor(ctx: Context, deps: WakeHooksDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Blocks a hook until its session is woken or needs no hook, at most for `WAIT_MS_MAX`. */
  async wait(
    agent: string,
    { session_id, written }: z.output<typeof waitForWake.body>,
    { signal, ...proven }: ProvenHook & { readonly signal: AbortSignal },
  ): Promise<WakeInstruction> {
    const waiters = this.#deps.transports.adapterOf(agent)?.waiters;
    if (!waiters) throw new Problem("unknown_agent", { agent });
    if (written !== undefined) {
      waiters.written(written);
      return { then: "end" };
    }
    const { clock } = this.#ctx;
    const expiry = new AbortController();
    const waitSignal = AbortSignal.any([signal, this.#deps.shutdownSignal, expiry.signal]);
    const named = { session: session_id, backend: agent };
    if (!this.#identify(named, proven)) await pause(clock, REGISTRATION_WAIT_MS_MAX, waitSignal);
    const peer = this.#identify(named, proven);
    if (!peer || !await this.#needsHook(peer)) return { then: "end" };
    void pause(clock, WAIT_MS_MAX, waitSignal).then(() => expiry.abort());
    const instruction = waiters.add(session_id, waitSignal);
    this.#deps.wake(peer.peer_id);
    try {
      return await instruction;
    } finally {
      expiry.abort();
    }
  }

  /** Releases the hooks of sessions that have ended or no longer need a hook. */
  async releaseNeedless(): Promise<void> {
    const { agentPeers, transports } = this.#deps;
    for (const waiters of transports.allWaitingHooks()) {
      for (const session_id of waiters.sessions) {
        const peer = agentPeers.reachable().find((peer) => peer.runtime_session_id === session_id);
        if (!peer || !await this.#needsHook(peer)) waiters.release(session_id);
      }
    }
  }

  /** True if only a session's hooks can hand it messages. */
  async #needsHook(peer: AgentPeer): Promise<boolean> {
    const { directory, transports } = this.#deps;
    return takesHookMessages(directory, peer.peer_id) &&
      !await transports.isReachableWithoutHook(peer);
  }

  /** The peer whose hook waits. */
  #identify(named: NamedSession, proven: ProvenHook): AgentPeer | undefined {
    const { agentPeers, identityLookup } = this.#deps;
    const found = identityLookup.peerOfHook(named, proven);
    return found && agentPeers.find(found.peer_id);
  }
}
