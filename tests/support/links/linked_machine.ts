/** A machine with links in a test: it numbers what it appends, and stores what becomes of it. */

import { join } from "node:path";
import * as z from "zod";
import type { Clock, Ids } from "kit/core/clock.ts";
import { jsonLog, type Log } from "kit/core/log.ts";
import { Problem } from "protocol/problems.ts";
import { Database, type Tx } from "kit/data/sqlite.ts";
import { migrations } from "../../../daemon/app/migrations/migrations.ts";
import type { LinkEntry, LinkSealing } from "../../../daemon/machines/links/handlers.ts";
import { Links } from "../../../daemon/machines/links/links.ts";
import type { BusReceiver } from "./lossy_bus.ts";
import { makeMemoryDir, migratedImage } from "../migrated.ts";

const TABLES = `
  create table sent (n integer primary key, tag text unique) strict;
  create table published (tag text primary key) strict;
  create table applied (seq integer primary key, n integer not null) strict;
  create table outcomes (n integer primary key, outcome text not null) strict`;

const Body = z.object({ n: z.number(), refuse: z.boolean(), answer: z.boolean() });
/** An appended entry: the other machine refuses it, or answers it with an entry of its own. */
export interface EntryOptions {
  readonly refuse?: boolean;
  readonly answer?: boolean;
  readonly padding?: string;
}

/** A bus as the machines use it. */
export interface LinkedBus {
  attach(machine: string, receiver: BusReceiver): void;
  detach(machine: string): void;
  publish(
    from: string,
    batch: { readonly to: string; readonly id: string; readonly bytes: Uint8Array },
  ): Promise<void>;
}

export interface LinkedMachineDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly bus: LinkedBus;
}

/** The first byte of what is sealed here; no batch in clear begins with it. */
const SEALED = 1;

/** Marks and reverses the bytes, so that what was not sealed does not open. */
export const reversing: LinkSealing = {
  seal: (_to, bytes) => {
    const sealed = new Uint8Array(bytes.length + 1);
    sealed[0] = SEALED;
    sealed.set(bytes.toReversed(), 1);
    return sealed;
  },
  open: (_from, bytes) => bytes[0] === SEALED ? bytes.subarray(1).toReversed() : null,
};

export class LinkedMachine implements Disposable {
  readonly name: string;
  readonly errors: string[] = [];
  /** Number of repairs of a loss. */
  losses = 0;
  /** Called in each transaction that applies an entry. */
  beforeApply: () => void = () => undefined;
  #deps: LinkedMachineDeps;
  #dir = makeMemoryDir("mesh-links-");
  #run: { db: Database; links: Links };

  constructor(name: string, deps: LinkedMachineDeps) {
    this.name = name;
    this.#deps = deps;
    Deno.writeFileSync(this.#path, migratedImage());
    this.#run = this.#start();
  }

  get db(): Database {
    return this.#run.db;
  }

  get links(): Links {
    return this.#run.links;
  }

  get #path(): string {
    return join(this.#dir, "mesh.db");
  }

  append(to: string, { refuse = false, answer = false, padding = "" }: EntryOptions = {}): void {
    this.db.transact((tx) => this.#append(tx, to, { refuse, answer, padding }));
  }

  connect(): void {
    this.#deps.bus.attach(this.name, this.links);
    this.links.busConnected();
  }

  disconnect(): void {
    this.#deps.bus.detach(this.name);
    this.links.busLost();
  }

  /** Starts again with what the disk holds at this moment. */
  crash(): void {
    const [old, oldDir] = [this.#run, this.#dir];
    this.#deps.bus.detach(this.name);
    this.#dir = makeMemoryDir("mesh-links-");
    for (const file of ["mesh.db", "mesh.db-wal"]) {
      Deno.copyFileSync(join(oldDir, file), join(this.#dir, file));
    }
    this.#run = this.#start();
    end(old, oldDir);
  }

  numbers(sql: string): number[] {
    return this.db.values(z.number(), sql);
  }

  [Symbol.dispose](): void {
    this.#deps.bus.detach(this.name);
    end(this.#run, this.#dir);
  }

  /** Offsets of the other machines' clocks: as known so far, and as a call would measure them. */
  clock_ahead_ms: number | null = null;
  measured_ms: number | null = null;

  #start() {
    const { clock, ids, bus } = this.#deps;
    const log: Log = jsonLog(clock, "error", (line) => this.errors.push(line));
    const db = new Database(this.#path, [...migrations, TABLES], log, clock);
    const links: Links = new Links({
      db,
      clock,
      ids,
      log,
      sealing: reversing,
      clockAheadOf: () => this.clock_ahead_ms,
      measureClock: () => {
        this.clock_ahead_ms = this.measured_ms;
        return Promise.resolve();
      },
      send: (to, id, bytes) => bus.publish(this.name, { to, id, bytes }),
      prepare: () => Promise.resolve(),
      fetch: () => Promise.resolve(),
      handlers: () => ({
        apply: (tx, from, entry) => this.#apply(tx, from, entry),
        published: (tx, _to, entries) => {
          for (const { tag } of entries) {
            tx.run("insert or ignore into published (tag) values (:tag)", { tag });
          }
        },
        wentBack: () => void this.losses++,
        confirmed: (tx, _to, entries) => entries.forEach((entry) => record(tx, entry, "confirmed")),
        refused: (tx, _to, entry, reason) => record(tx, entry, reason),
        expired: (tx, _to, entries) => entries.forEach((entry) => record(tx, entry, "dropped")),
      }),
    });
    return { db, links };
  }

  #append(tx: Tx, to: string, body: Required<EntryOptions>): void {
    const n = tx.insert("insert into sent (n) values (null)", {});
    const tag = this.links.append(tx, to, "test", { n, ...body });
    tx.run("update sent set tag = :tag where n = :n", { n, tag });
  }

  #apply(tx: Tx, from: string, { body }: LinkEntry): void {
    const { n, refuse, answer } = Body.parse(body);
    this.beforeApply();
    tx.insert("insert into applied (n) values (:n)", { n });
    if (refuse) throw new Problem("unknown_peer", { peer: "nobody" });
    if (answer) this.#append(tx, from, { refuse: false, answer: false, padding: "" });
  }
}

function record(tx: Tx, { body }: LinkEntry, outcome: string): void {
  const { n } = Body.parse(body);
  tx.run("insert into outcomes (n, outcome) values (:n, :outcome)", { n, outcome });
}

function end({ db, links }: { db: Database; links: Links }, dir: string): void {
  links.stop();
  db[Symbol.dispose]();
  Deno.removeSync(dir, { recursive: true });
}
