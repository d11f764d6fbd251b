/** The network of machines as one service: the bus, the directory, the links and their content. */

import type { Context } from "../data/context.ts";
import { atMostEvery } from "kit/core/timeout.ts";
import { Problem } from "protocol/problems.ts";
import { type Bus, BusError, type BusListener, type BusStatus, IdentityInUse } from "./bus.ts";
import type { Links } from "./links/links.ts";
import { MachineTrust } from "./trust/machine_trust.ts";
import { PinnedSeal } from "./trust/seal.ts";
import { fingerprintOf, signCard, type SignedCard } from "./trust/cards.ts";
import { Envelopes } from "./trust/envelope.ts";
import type { MachineKeys } from "./trust/keys.ts";
import type { NetworkKeys } from "./trust/network.ts";
import type { Attachments } from "../features/messages/attachments/attachments.ts";
import type { RemotePeers } from "../features/peers/remote/remote_peers.ts";
import type { PeerWaits } from "../features/peers/waits.ts";
import { SharedPeers } from "../features/peers/remote/shared_peers.ts";
import { Calls } from "./calls/calls.ts";
import { AllowedMachines } from "./calls/machine_names.ts";
import { BusConnection } from "./connection.ts";
import type { BusReport, BusState, Machine } from "protocol/machines.ts";
import { MachineDirectory } from "./directory/machine_directory.ts";
import { Exchange } from "./exchange/exchange.ts";
import type { ExchangeDeps, KnownMachine } from "./exchange/deps.ts";
import { MachineFiles } from "./files/machine_files.ts";
import { openLinks } from "./open_links.ts";
import { RunClaim } from "./run_claim.ts";
import { describeMachine } from "./report.ts";
import { WaitingMessages } from "./waiting_messages.ts";

/** Interval at which the links remove entries and receipts that are too old. */
const REMOVE_EVERY_MS = 60_000;

/** The settings of the network (`mesh.bus`). */
interface MachinesSettings {
  readonly url: string;
  readonly name: string;
  /** The circles that are shared; `*` stands for all. */
  readonly allow: readonly string[];
  readonly allow_admin: readonly string[];
  /** The machines that may have checks run here. */
  readonly allow_prove: readonly string[];
  readonly human_home: string | undefined;
  readonly description_ttl_ms: number;
}

/** How this machine reaches the bus, and how it proves itself. */
export interface BusAccess {
  readonly network: NetworkKeys;
  readonly keys: MachineKeys;
  /** The place of this daemon, for people: its host and its state directory. */
  readonly place: string;
  /** Opens the bus as the machine of this id. */
  open(daemon_id: string, listener: BusListener): Promise<Bus>;
}

interface MachinesDeps extends
  Pick<
    ExchangeDeps,
    | "asks"
    | "delivery"
    | "directory"
    | "inbox"
    | "effects"
    | "notifications"
    | "proofs"
    | "steps"
  > {
  readonly access: BusAccess;
  readonly attachments: Attachments;
  readonly daemon_id: string;
  /** When this machine got its name and its key: others replace its card only by a newer one. */
  cardMadeAt(card: { readonly name: string; readonly sign: string }): number;
  /** Called with the start of a run refused as a copy, or with null once this run takes part. */
  identityRefused(started_at: number | null): void;
  /** Entries that waited before this time belong to the daemon with the former identity. */
  readonly left_before: number | undefined;
  forgetLeft(): void;
  readonly remotePeers: RemotePeers;
  readonly settings: MachinesSettings;
  readonly waits: Pick<PeerWaits, "of">;
}

/** Builds the service. It is loaded only by a daemon with a bus. */
export type OpenMachines = (ctx: Context, deps: MachinesDeps) => Machines;

export class Machines {
  readonly #ctx: Context;
  readonly #deps: MachinesDeps;
  readonly #trust: MachineTrust;
  readonly #provers: AllowedMachines;
  readonly #connection: BusConnection;
  readonly #claim: RunClaim;
  readonly #links: Links;
  readonly #waiting: WaitingMessages;
  readonly #files: MachineFiles;
  readonly #directory: MachineDirectory;
  readonly #shared: SharedPeers;
  readonly #mayRemove: () => boolean;
  readonly exchange: Exchange;
  readonly calls: Calls;

  constructor(ctx: Context, deps: MachinesDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#mayRemove = atMostEvery(ctx.clock, REMOVE_EVERY_MS);
    const { access: { keys, network, open }, attachments, daemon_id, settings } = deps;
    const { allow, name, url } = settings;
    const created_at = deps.cardMadeAt({ name, sign: keys.public.sign });
    const own = signCard({ daemon_id, name, created_at }, keys, network);
    const { allow_admin, allow_prove, human_home } = settings;
    const reserved = [...allow_admin, ...allow_prove, ...human_home ? [human_home] : []];
    this.#trust = new MachineTrust(ctx, { network, own, reserved });
    this.#provers = new AllowedMachines([...allow_admin, ...allow_prove], this.#trust);
    const seal = new PinnedSeal(ctx.db, new Envelopes({ daemon_id, keys }, ctx.ids));
    const shown = { url, fingerprint: fingerprintOf(keys.public), shared_circles: [...allow] };
    this.#connection = new BusConnection(
      ctx,
      { daemon_id, name, ...shown },
      (listener) => open(daemon_id, listener),
    );
    this.#claim = this.#openClaim();
    const bus = () => this.#connection;
    this.#files = new MachineFiles(ctx, { attachments, bus, daemon_id, seal });
    this.#waiting = this.#openWaiting();
    this.#links = openLinks(ctx, {
      connection: { publish: (to, id, bytes) => this.#publish(to, id, bytes) },
      files: this.#files,
      seal,
      trust: this.#trust,
      waiting: this.#waiting,
      exchange: () => this.exchange,
      pings: () => this.calls.pings,
    });
    this.#shared = new SharedPeers(ctx, {
      directory: deps.directory,
      circles: allow,
      description_ttl_ms: settings.description_ttl_ms,
      waits: deps.waits,
    });
    this.#directory = this.#openDirectory(own);
    this.calls = new Calls(ctx, {
      allow_admin,
      bus: this.#connection,
      machines: this.#trust,
      online: () => this.#connection.status().status === "connected" ? this.#directory.online : [],
      own: { daemon_id, name },
      seal,
    });
    this.exchange = new Exchange(ctx, {
      ...deps,
      files: this.#files,
      links: this.#links,
      machine: (id) => this.#known(id),
      isShared: (peer) => this.#shared.isShared(peer),
      reasonToWait: (daemon_id) => this.#waiting.reasonFor(daemon_id),
      remotePeer: (peer_id) => deps.remotePeers.address(peer_id),
    });
  }

  /** Connects to the bus, and stays connected. */
  start(): void {
    const listener: BusListener = {
      admit: (connection) => this.#claim.admit(connection),
      batch: (from, batch) => this.#receive(from, batch),
      call: (from, request) => this.#answer(from, request),
      heard: (daemon_id, beat) => this.#directory.heard(daemon_id, beat),
      announced: (daemon_id, entry) => this.#directory.announced(daemon_id, entry),
      changed: (status) => this.#changed(status),
    };
    const { left_before } = this.#deps;
    if (left_before !== undefined) this.leave(left_before);
    this.#connection.start(listener);
  }

  /** Leaves entries from before a time to the daemon that has this machine's former identity. */
  leave(before: number): void {
    this.#links.leaveBefore(before, "identity_renewed");
    this.#deps.forgetLeft();
  }

  tick(now: number): void {
    this.#claim.tick();
    this.#directory.tick();
    this.exchange.tick(this.#ctx.clock.monotonic());
    this.#files.tick(now);
    if (this.#mayRemove()) this.#links.removeExpired();
  }

  async report(): Promise<{ bus: BusReport; machines: Machine[] }> {
    const { holder, rival } = this.#claim;
    const { refused, refused_by } = this.#directory.refusals;
    const bus = {
      ...await this.#connection.report(),
      identity_in_use: holder
        ? { ...holder, this_one: "refused" as const }
        : rival
        ? { ...rival, this_one: "connected" as const }
        : null,
      refused,
      refused_by,
    };
    const { remotePeers } = this.#deps;
    const parts = {
      calls: this.calls,
      directory: this.#directory,
      links: this.#links,
      remotePeers,
    };
    const machines = this.#trust.list().map((machine) =>
      describeMachine(this.#ctx.db, machine, parts)
    );
    return { bus, machines };
  }

  /** For `GET /health`. */
  health() {
    const { status, reason } = this.#connection.status();
    return { status, reason, identity_in_use: this.#claim.holder !== undefined };
  }

  /** For `/metrics`. */
  figures(): { status: BusState; waiting: number } {
    const { status } = this.#connection.status();
    return { status, waiting: this.#links.waitingForAll(this.#ctx.db) };
  }

  /** Forgets a machine: its keys, its peers, and what waits for it. */
  forget(id_or_name: string): void {
    const machine = this.#trust.find(id_or_name);
    if (!machine) throw new Problem("unknown_machine_name", { machine: id_or_name });
    const { daemon_id, name } = machine;
    const { db, events } = this.#ctx;
    db.transact((tx) => {
      this.exchange.outgoing.forgotten(tx, daemon_id);
      this.#links.forget(tx, daemon_id);
      this.#deps.remotePeers.forget(tx, daemon_id);
      this.#trust.forget(tx, daemon_id);
      events.append("machine_changed", { daemon_id, name, status: "forgotten" });
      db.afterCommit(() => {
        this.calls.pings.forget(daemon_id);
        this.#directory.forget(daemon_id);
      });
    });
  }

  /** Withdraws this machine's entry, so that the others see it go, and disconnects. */
  async close(): Promise<void> {
    this.#links.stop();
    this.#claim.stop();
    await this.#directory.leave();
    await this.#connection.close();
  }

  /** Handles a batch, unless another daemon with this id has taken over. */
  async #receive(from: string, batch: Uint8Array): Promise<void> {
    await this.#claim.mustHold();
    await this.#links.receive(from, batch);
  }

  async #publish(to: string, id: string, batch: Uint8Array): Promise<void> {
    try {
      await this.#claim.mustHold();
    } catch (error) {
      if (!(error instanceof IdentityInUse)) throw error;
      throw new BusError("unreachable", error.message, "no");
    }
    await this.#connection.publish(to, id, batch);
  }

  async #answer(from: string, request: Uint8Array): Promise<Uint8Array | null> {
    if (from === this.#deps.daemon_id) return this.#claim.receive(request);
    const answer = this.#directory.answer(from, request);
    if (answer !== undefined) return answer;
    await this.#claim.mustHold();
    return await this.calls.server.receive(from, request);
  }

  #openClaim(): RunClaim {
    const { access: { keys, network, place }, daemon_id, identityRefused } = this.#deps;
    return new RunClaim(this.#ctx, {
      daemon_id,
      keys,
      network,
      place,
      decided: identityRefused,
      roundTrip: () => this.#connection.roundTrip(),
    });
  }

  #openWaiting(): WaitingMessages {
    const { db } = this.#ctx;
    return new WaitingMessages({
      status: () => this.#connection.status(),
      notify: (reason, to) => {
        if (!this.#deps.remotePeers.isAny) return;
        db.failures.repeatUntilStored((tx) => this.exchange.outgoing.waitFor(tx, reason, to));
      },
    });
  }

  #openDirectory(card: SignedCard): MachineDirectory {
    const { access: { keys, network }, remotePeers } = this.#deps;
    return new MachineDirectory(this.#ctx, {
      bus: this.#connection,
      card,
      keys,
      network,
      remotePeers,
      shared: this.#shared,
      trust: this.#trust,
      run: this.#claim.run,
      isConnected: () => this.#claim.isHeld && this.#connection.status().status === "connected",
      cameOnline: (daemon_id) => this.#links.wake(daemon_id),
      changed: (_tx, { daemon_id, name }, status) =>
        this.#ctx.events.append("machine_changed", { daemon_id, name, status }),
    });
  }

  #changed({ status }: BusStatus): void {
    if (status === "connected") this.#links.busConnected();
    else this.#links.busLost();
    this.#waiting.changed();
  }

  #known(daemon_id: string): KnownMachine | undefined {
    const machine = this.#trust.get(daemon_id);
    if (!machine) return undefined;
    return {
      daemon_id,
      name: machine.name,
      may_administer: this.calls.administrators.includes(daemon_id),
      may_prove: this.#provers.includes(daemon_id),
      clock_ahead_ms: this.calls.pings.of(daemon_id).clock_ahead_ms,
    };
  }
}
