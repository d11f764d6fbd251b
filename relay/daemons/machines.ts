/** The machines that are connected, by whose they are. In memory: it holds sockets, and no list. */

import type { Clock } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import { Problem } from "kit/core/problem.ts";
import type { CloseReason } from "kit/net/tunnel/frames.ts";
import type { Ears, Line } from "kit/net/tunnel/connection.ts";
import {
  DaemonId,
  isUnreachable,
  type Machine,
  type MachineRequest,
  type Machines,
} from "./contract.ts";
import { type Dialled, Link, type LinkNeeds } from "./link.ts";

/** Daemons that one relay holds, those included that have not said hello. */
export const DAEMONS_MAX = 10_000;
/** Daemons of one address, whatever their secrets: anybody may make up as many as they like. */
export const DAEMONS_OF_ADDRESS_MAX = 2500;
/** Daemons of one secret. */
export const DAEMONS_OF_ONE_MAX = 100;
/**
 * What all daemons together may make the relay hold: unread answers, answers that are gathered, and
 * what daemons do not take. It is looked at once a second; a relay has 1 GiB in the example.
 */
const HELD_BYTES_OF_ALL_MAX = 268_435_456;
/** Machines that left, of which it is still known that they were here. */
const LEFT_MAX = 10_000;

export type Outcome = "answered" | "unknown_machine" | "machine_offline" | "timed_out" | "failed";

/** A line, and the answer that opens it at the other end. */
export interface Accepted {
  readonly response: Response;
  readonly line: Line;
}

export interface RegistryNeeds {
  readonly clock: Clock;
  readonly log: Log;
  /** A request came to its end, for the numbers. */
  asked(outcome: Outcome, took_ms: number): void;
  readonly held_bytes_max?: number;
}

export class Registry implements Machines {
  readonly #needs: RegistryNeeds;
  readonly #links = new Map<string, Map<string, Link>>();
  /** All that hold a socket, greeted or not. */
  readonly #lines = new Set<Link>();
  /** How many lines each address holds. */
  readonly #at_address = new Map<string, number>();
  /** Those that are gone, and whose answers are still being read. */
  readonly #fading = new Set<Link>();
  readonly #left = new Set<string>();

  constructor(needs: RegistryNeeds) {
    this.#needs = needs;
  }

  /** Daemons that can be asked now. */
  get size(): number {
    return this.#links.values().reduce((sum, of) => sum + of.size, 0);
  }

  get requests(): number {
    return this.#lines.values().reduce((sum, link) => sum + link.size, 0);
  }

  get held_bytes(): number {
    const sumOf = (links: ReadonlySet<Link>) =>
      links.values().reduce((sum, link) => sum + link.held_bytes, 0);
    return sumOf(this.#lines) + sumOf(this.#fading);
  }

  /** Refuses a daemon for which there is no room; one that takes its own place needs none. */
  makeRoom({ namespace, daemon_id, address = "" }: Dialled): void {
    const of = this.#links.get(namespace);
    if (of?.has(daemon_id)) return;
    if (this.#lines.size >= DAEMONS_MAX) {
      throw new Problem("too_many_daemons", { daemons: DAEMONS_MAX });
    }
    if ((this.#at_address.get(address) ?? 0) >= DAEMONS_OF_ADDRESS_MAX) {
      throw new Problem("too_many_daemons", { daemons: DAEMONS_OF_ADDRESS_MAX });
    }
    if (of && of.size >= DAEMONS_OF_ONE_MAX) {
      throw new Problem("too_many_daemons", { daemons: DAEMONS_OF_ONE_MAX });
    }
  }

  /**
   * A daemon has dialled; it is nobody until it says hello. It takes a place once its line stands:
   * whoever asks for a line and cannot have one never held any.
   */
  dialled(dialled: Dialled, accept: (ears: Ears) => Accepted): Response {
    const needs: LinkNeeds = {
      clock: this.#needs.clock,
      greeted: (link) => this.#welcome(link),
      left: (link, why) => this.#goodbye(link, why),
    };
    const link = new Link(dialled, needs);
    const { response, line } = accept(link);
    link.stand(line);
    this.#lines.add(link);
    this.#count(dialled, 1);
    return response;
  }

  #count({ address }: Dialled, change: 1 | -1): void {
    if (address === undefined) return;
    const count = (this.#at_address.get(address) ?? 0) + change;
    if (count > 0) this.#at_address.set(address, count);
    else this.#at_address.delete(address);
  }

  list(namespace: string): Machine[] {
    const links = [...this.#links.get(namespace)?.values() ?? []];
    return links.flatMap(({ machine }) => machine ?? [])
      .sort((a, b) => a.daemon_id < b.daemon_id ? -1 : 1);
  }

  async request(namespace: string, daemon_id: string, request: MachineRequest): Promise<Response> {
    const { clock, asked } = this.#needs;
    const began_at = clock.now();
    try {
      const response = await this.#mustGet(namespace, daemon_id).request(request);
      asked("answered", clock.now() - began_at);
      return response;
    } catch (fault) {
      asked(isUnreachable(fault) ? fault.code : "failed", clock.now() - began_at);
      throw fault;
    }
  }

  /** Once a second. */
  beat(now: number): void {
    for (const link of this.#lines) link.beat(now);
    for (const link of this.#fading) if (link.held_bytes === 0) this.#fading.delete(link);
    this.#shedLoad();
  }

  /** Whoever holds most gives up first, so that one tenant cannot take the memory of all others. */
  #shedLoad(): void {
    const { held_bytes_max = HELD_BYTES_OF_ALL_MAX } = this.#needs;
    for (let held = this.held_bytes; held > held_bytes_max;) {
      const [largest] = [...this.#lines, ...this.#fading].sort((a, b) =>
        b.held_bytes - a.held_bytes
      );
      largest?.shed();
      const left = this.held_bytes;
      if (left >= held) return; // Nothing more can be given up.
      held = left;
    }
  }

  endAll(why: CloseReason): void {
    for (const link of [...this.#lines]) link.end(why);
  }

  #mustGet(namespace: string, daemon_id: string): Link {
    const link = this.#links.get(namespace)?.get(daemon_id);
    if (link) return link;
    const known = DaemonId.safeParse(daemon_id).success &&
      this.#left.has(keyOf({ namespace, daemon_id }));
    const may_have_been_delivered = false;
    if (!known) throw new Problem("unknown_machine", { daemon_id, may_have_been_delivered });
    const reason = "its tunnel is down";
    throw new Problem("machine_offline", { daemon_id, reason, may_have_been_delivered });
  }

  /** The newest connection of a daemon is it; the older one goes (contract 9). */
  #welcome(link: Link): void {
    const { namespace, daemon_id } = link.dialled;
    const of = this.#links.getOrInsertComputed(namespace, () => new Map());
    const older = of.get(daemon_id);
    // Several may have dialled at once, while there was room for each.
    if (!older && of.size >= DAEMONS_OF_ONE_MAX) return link.end("too_many_daemons");
    of.set(daemon_id, link);
    this.#left.delete(keyOf(link.dialled));
    const { machine = "", version = "" } = link.machine ?? {};
    this.#needs.log.info("A daemon is connected", { daemon_id, machine, version });
    older?.end("superseded");
  }

  #goodbye(link: Link, why: string): void {
    if (this.#lines.delete(link)) this.#count(link.dialled, -1);
    if (link.held_bytes > 0) this.#fading.add(link);
    const { namespace, daemon_id } = link.dialled;
    const of = this.#links.get(namespace);
    if (of?.get(daemon_id) !== link) return;
    of.delete(daemon_id);
    if (of.size === 0) this.#links.delete(namespace);
    this.#left.add(keyOf(link.dialled));
    const [oldest] = this.#left;
    if (this.#left.size > LEFT_MAX && oldest !== undefined) this.#left.delete(oldest);
    this.#needs.log.info("A daemon is gone", { daemon_id, why });
  }
}

function keyOf({ namespace, daemon_id }: Dialled): string {
  return `${namespace} ${daemon_id}`;
}
