/** The connected machines by namespace, kept in memory only. */

import { type Clock, type Monotonic, stopwatch } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import { Problem } from "protocol/problems.ts";
import type { CloseReason } from "kit/net/tunnel/frames.ts";
import type { Connection, ConnectionListener } from "kit/net/tunnel/connection.ts";
import {
  DaemonId,
  isUnreachable,
  type Machine,
  type MachineRequest,
  type Machines,
} from "protocol/relay/daemons.ts";
import { type DaemonIdentity, DaemonLink, type DaemonLinkDeps } from "./daemon_link.ts";

/** Maximum number of connections of one relay, including those before their handshake. */
export const DAEMONS_MAX = 10_000;
/** Limits connections of one address, whatever their secrets, because anyone can create secrets. */
export const DAEMONS_OF_ADDRESS_MAX = 2500;
/** Maximum number of connected daemons with one secret. */
export const DAEMONS_OF_SECRET_MAX = 100;
/**
 * Maximum bytes that the relay holds for all daemons together: unread and collected responses, and
 * unsent requests. Checked once a second. In the documented example, a relay has 1 GiB of memory.
 */
export const TOTAL_HELD_BYTES_MAX = 268_435_456;
/** Time limit for the older of two links of one daemon id to give a sign of life. */
export const PROBE_MS_MAX = 3000;
/** Number of disconnected machines that are remembered, so that they are reported as offline. */
const RECENTLY_LEFT_MAX = 10_000;

export type Outcome = "answered" | "unknown_machine" | "machine_offline" | "timed_out" | "failed";

/** An accepted upgrade: the connection, and the HTTP response that opens it at the daemon. */
export interface AcceptedUpgrade {
  readonly response: Response;
  readonly connection: Connection;
}

interface MachineRegistryDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Called when a request has finished, to record it in the metrics. */
  recordRequest(outcome: Outcome, took_ms: number): void;
  /** Sends a request as a part of its trace; by default it is just sent. */
  readonly forward?: (request: MachineRequest, send: ForwardRequest) => Promise<Response>;
  readonly held_bytes_max?: number;
}

export type ForwardRequest = (request: MachineRequest) => Promise<Response>;

export class MachineRegistry implements Machines {
  readonly #deps: MachineRegistryDeps;
  readonly #links = new Map<string, Map<string, DaemonLink>>();
  /** All links with an open socket, also before their handshake. */
  readonly #openLinks = new Set<DaemonLink>();
  /** The number of open connections of each address. */
  readonly #countByAddress = new Map<string, number>();
  /** Closed links whose responses still have readers. */
  readonly #closedLinks = new Set<DaemonLink>();
  readonly #recentlyLeft = new Set<string>();
  /** New links that wait for a sign of life from the older link of their id. */
  readonly #contests = new Map<DaemonLink, { readonly since: Monotonic; links: DaemonLink[] }>();

  constructor(deps: MachineRegistryDeps) {
    this.#deps = deps;
  }

  /** The number of connected daemons. */
  get size(): number {
    return this.#links.values().reduce((sum, daemons) => sum + daemons.size, 0);
  }

  get requests(): number {
    return this.#openLinks.values().reduce((sum, link) => sum + link.size, 0);
  }

  get held_bytes(): number {
    const sumOf = (links: ReadonlySet<DaemonLink>) =>
      links.values().reduce((sum, link) => sum + link.held_bytes, 0);
    return sumOf(this.#openLinks) + sumOf(this.#closedLinks);
  }

  /** Throws if a limit is reached. A reconnecting daemon is exempt: it replaces its connection. */
  refuseIfFull({ namespace, daemon_id, address = "" }: DaemonIdentity): void {
    const daemons = this.#links.get(namespace);
    if (daemons?.has(daemon_id)) return;
    if (this.#openLinks.size >= DAEMONS_MAX) {
      throw new Problem("too_many_daemons", { daemons: DAEMONS_MAX });
    }
    if ((this.#countByAddress.get(address) ?? 0) >= DAEMONS_OF_ADDRESS_MAX) {
      throw new Problem("too_many_daemons", { daemons: DAEMONS_OF_ADDRESS_MAX });
    }
    if (daemons && daemons.size >= DAEMONS_OF_SECRET_MAX) {
      throw new Problem("too_many_daemons", { daemons: DAEMONS_OF_SECRET_MAX });
    }
  }

  /** Connects a daemon, which is listed after its handshake. A failed upgrade is not counted. */
  connect(
    identity: DaemonIdentity,
    accept: (listener: ConnectionListener) => AcceptedUpgrade,
  ): Response {
    const deps: DaemonLinkDeps = {
      clock: this.#deps.clock,
      onHello: (link) => this.#add(link),
      left: (link, why) => this.#remove(link, why),
    };
    const link = new DaemonLink(identity, deps);
    const { response, connection } = accept(link);
    link.attach(connection);
    this.#openLinks.add(link);
    this.#count(identity, 1);
    return response;
  }

  #count({ address }: DaemonIdentity, change: 1 | -1): void {
    if (address === undefined) return;
    const count = (this.#countByAddress.get(address) ?? 0) + change;
    if (count > 0) this.#countByAddress.set(address, count);
    else this.#countByAddress.delete(address);
  }

  list(namespace: string): Machine[] {
    const links = [...this.#links.get(namespace)?.values() ?? []];
    return links.flatMap(({ machine }) => machine ?? [])
      .sort((a, b) => a.daemon_id < b.daemon_id ? -1 : 1);
  }

  async request(namespace: string, daemon_id: string, request: MachineRequest): Promise<Response> {
    const { clock, forward, recordRequest } = this.#deps;
    const elapsedMs = stopwatch(clock);
    const send = async (forwarded: MachineRequest) =>
      await this.#mustGet(namespace, daemon_id).request(forwarded);
    try {
      const response = await (forward ? forward(request, send) : send(request));
      recordRequest("answered", elapsedMs());
      return response;
    } catch (error) {
      recordRequest(isUnreachable(error) ? error.code : "failed", elapsedMs());
      throw error;
    }
  }

  /** Checks all links and the memory that they hold. Must be called once a second. */
  tick(now: Monotonic): void {
    for (const link of this.#openLinks) link.tick(now);
    for (const link of this.#closedLinks) {
      if (link.held_bytes === 0) this.#closedLinks.delete(link);
    }
    for (const [older, { since }] of [...this.#contests]) {
      if (now - since >= PROBE_MS_MAX) this.#admitOthers(older);
    }
    this.#shedLoad();
  }

  /** Frees memory of the largest links first, so that one tenant cannot use up that of others. */
  #shedLoad(): void {
    const { held_bytes_max = TOTAL_HELD_BYTES_MAX } = this.#deps;
    for (let held = this.held_bytes; held > held_bytes_max;) {
      const [largest] = [...this.#openLinks, ...this.#closedLinks].sort((a, b) =>
        b.held_bytes - a.held_bytes
      );
      largest?.shed();
      const left = this.held_bytes;
      if (left >= held) return; // Nothing more can be freed.
      held = left;
    }
  }

  endAll(why: CloseReason): void {
    for (const link of [...this.#openLinks]) link.end(why);
  }

  #mustGet(namespace: string, daemon_id: string): DaemonLink {
    const link = this.#links.get(namespace)?.get(daemon_id);
    if (link) return link;
    const wasConnected = DaemonId.safeParse(daemon_id).success &&
      this.#recentlyLeft.has(keyOf({ namespace, daemon_id }));
    const may_have_been_delivered = false;
    if (!wasConnected) throw new Problem("unknown_machine", { daemon_id, may_have_been_delivered });
    const reason = "its tunnel is not connected";
    throw new Problem("machine_offline", { daemon_id, reason, may_have_been_delivered });
  }

  /**
   * Adds a link after its hello. An older link of the same run is closed (contract 9). An older
   * link of another run is asked for a sign of life: two daemons with one id are a mistake, and the
   * one that was connected first stays (contract 11).
   */
  #add(link: DaemonLink): void {
    const { namespace, daemon_id } = link.identity;
    const older = this.#links.get(namespace)?.get(daemon_id);
    const isOtherRun = older?.run !== undefined && link.run !== undefined && older.run !== link.run;
    if (!older || !isOtherRun) return this.#join(link);
    const waiting = this.#contests.get(older);
    if (waiting) return void waiting.links.push(link);
    this.#contests.set(older, { since: this.#deps.clock.monotonic(), links: [link] });
    older.probe(() => this.#refuseOthers(older));
  }

  /** The older link gave a sign of life: refuses the newer ones. */
  #refuseOthers(older: DaemonLink): void {
    const { daemon_id } = older.identity;
    const { machine = "" } = older.machine ?? {};
    for (const link of this.#takeContest(older)) {
      this.#deps.log.warn("A second daemon with the same id was refused", { daemon_id, machine });
      link.refuse(
        "identity_in_use",
        `another daemon with the id ${daemon_id} is connected, on ${machine}. Stop it, or, if this ` +
          "one is a copy, give it an identity of its own: mesh machines renew-identity",
      );
    }
  }

  /** The older link has ended, or gave no sign of life: admits the newer ones. */
  #admitOthers(older: DaemonLink): void {
    const [first, ...others] = this.#takeContest(older);
    if (first) this.#join(first);
    for (const link of others) this.#add(link);
  }

  #takeContest(older: DaemonLink): DaemonLink[] {
    const links = this.#contests.get(older)?.links ?? [];
    this.#contests.delete(older);
    return links.filter((link) => this.#openLinks.has(link));
  }

  #join(link: DaemonLink): void {
    const { namespace, daemon_id } = link.identity;
    const daemons = this.#links.getOrInsertComputed(namespace, () => new Map());
    const superseded = daemons.get(daemon_id);
    // Checked again: several daemons may have connected while the count was below the limit.
    if (!superseded && daemons.size >= DAEMONS_OF_SECRET_MAX) return link.end("too_many_daemons");
    link.welcome();
    daemons.set(daemon_id, link);
    this.#recentlyLeft.delete(keyOf(link.identity));
    const { machine = "", version = "" } = link.machine ?? {};
    this.#deps.log.info("A daemon has connected", { daemon_id, machine, version });
    superseded?.end("superseded");
  }

  #remove(link: DaemonLink, why: string): void {
    if (this.#openLinks.delete(link)) this.#count(link.identity, -1);
    if (link.held_bytes > 0) this.#closedLinks.add(link);
    const { namespace, daemon_id } = link.identity;
    const daemons = this.#links.get(namespace);
    if (daemons?.get(daemon_id) !== link) return;
    daemons.delete(daemon_id);
    if (daemons.size === 0) this.#links.delete(namespace);
    this.#recentlyLeft.add(keyOf(link.identity));
    const [oldest] = this.#recentlyLeft;
    if (this.#recentlyLeft.size > RECENTLY_LEFT_MAX && oldest !== undefined) {
      this.#recentlyLeft.delete(oldest);
    }
    this.#deps.log.info("A daemon has disconnected", { daemon_id, why });
    this.#admitOthers(link);
  }
}

function keyOf({ namespace, daemon_id }: DaemonIdentity): string {
  return `${namespace} ${daemon_id}`;
}
