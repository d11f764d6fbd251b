/** One connection to the bus with everything bound to it; a new connection is a new session. */

import type { JetStreamClient, JetStreamManager } from "@nats-io/jetstream";
import type { KV } from "@nats-io/kv";
import type { Context } from "../../data/context.ts";
import { stopwatch } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import { type BusBacklog, BusError, type BusListener } from "../bus.ts";
import { BatchReader } from "./batches.ts";
import { BusCalls } from "./calls.ts";
import type { BusDirectory } from "./directory.ts";
import { BusFiles } from "./files.ts";
import type { BusLink } from "./link.ts";
import { libraries, type NatsConnection } from "./libraries.ts";
import { beatingMachine, DAEMON_ID, DIRECTORY, STREAM, SUBJECTS } from "./names.ts";
import {
  apiCodeOf,
  busError,
  deniedSubject,
  isTimeout,
  isUnanswered,
  STREAM_NOT_FOUND_CODE,
} from "./reasons.ts";
import { prepareStore, type StoreLimits } from "./store.ts";

/** Maximum time for the server to answer a request. */
const ANSWER_MS_MAX = 10_000;
/** Number of unanswered requests in a row after which the connection is closed. */
const TIMEOUTS_MAX = 3;
/** Time limit for the client to end a connection; then its socket is destroyed. */
const CLOSE_MS_MAX = 2000;
/** The part of the server's limit of a message that a header may take. */
const HEADER_BYTES_MAX = 1024;

interface SessionDeps extends Pick<Context, "clock" | "ids" | "log"> {
  readonly daemonId: string;
  readonly limits: StoreLimits;
  readonly directory: BusDirectory;
  readonly listener: BusListener;
  readonly link: BusLink;
}

export class Session {
  readonly #connection: NatsConnection;
  readonly #client: JetStreamClient;
  readonly #deps: SessionDeps;
  readonly #files: BusFiles;
  readonly #ended = Promise.withResolvers<unknown>();
  #calls: BusCalls | undefined;
  #batches: BatchReader | undefined;
  #kv: KV | undefined;
  #unwatch: (() => void) | undefined;
  #sees_stream = true;
  #timeouts = 0;
  #hears_beats = true;

  private constructor(connection: NatsConnection, client: JetStreamClient, deps: SessionDeps) {
    this.#connection = connection;
    this.#client = client;
    this.#deps = deps;
    this.#files = new BusFiles(client, deps);
    void connection.closed().then((error) =>
      this.#fail(error ?? new Error("it closed the connection"))
    );
    void this.#watchStatus();
  }

  /** Closes the connection where something cannot be bound, and rejects with the client's error. */
  static async open(connection: NatsConnection, deps: SessionDeps): Promise<Session> {
    const { jetstream } = await libraries();
    const options = { checkAPI: false, timeout: ANSWER_MS_MAX };
    const client = jetstream.jetstream(connection, options);
    const session = new Session(connection, client, deps);
    try {
      await session.#bind();
      return session;
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  /** Resolves with the cause once the session cannot be used any more. */
  get ended(): Promise<unknown> {
    return this.#ended.promise;
  }

  async publish(to: string, id: string, batch: Uint8Array): Promise<void> {
    checkMachine(to);
    const bytes_max = (this.#connection.info?.max_payload ?? 0) - HEADER_BYTES_MAX;
    if (batch.length > bytes_max) {
      throw new BusError("too_large", `A batch may have ${bytes_max} bytes at this bus`, "no");
    }
    const subject = SUBJECTS.batch(to, this.#deps.daemonId);
    await this.#request(() => this.#client.publish(subject, batch, { msgID: id }));
  }

  async call(to: string, request: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    checkMachine(to);
    if (!this.#calls) throw new BusError("unreachable", "The bus is not bound", "no");
    return await this.#calls.call(to, request, timeoutMs);
  }

  // deno-lint-ignore require-await
  async beat(bytes: Uint8Array): Promise<void> {
    this.#connection.publish(SUBJECTS.beat(this.#deps.daemonId), bytes);
  }

  get canBeat(): boolean {
    return this.#hears_beats;
  }

  async announce(entry: Uint8Array): Promise<void> {
    await this.#request(() => this.#directory().put(this.#deps.daemonId, entry));
  }

  async withdraw(): Promise<void> {
    await this.#request(() => this.#directory().delete(this.#deps.daemonId));
  }

  putFile(name: string, bytes: Uint8Array): Promise<void> {
    return this.#request(() => this.#files.put(name, bytes));
  }

  getFile(name: string, bytes_max: number): Promise<Uint8Array | null> {
    return this.#request(() => this.#files.get(name, bytes_max));
  }

  deleteFile(name: string): Promise<void> {
    return this.#request(() => this.#files.delete(name));
  }

  async roundTrip(): Promise<number> {
    const elapsed_ms = stopwatch();
    const answered = this.#connection.flush().then(() => elapsed_ms());
    const ms = await timeout(this.#deps.clock, ANSWER_MS_MAX, answered).catch(busError);
    if (typeof ms === "number") return ms;
    throw ms ?? new BusError("unreachable", "The bus does not answer", "no");
  }

  async backlog(): Promise<BusBacklog> {
    return await this.#request(async () => {
      const manager = await this.#client.jetstreamManager(false);
      const { num_pending, num_ack_pending } = await manager.consumers.info(
        STREAM,
        this.#deps.daemonId,
      );
      return { waiting: num_pending + num_ack_pending, ...await this.#streamBytes(manager) };
    });
  }

  /** A machine's user may not see the stream: its details show who writes to whom, and how much. */
  async #streamBytes(manager: JetStreamManager): Promise<Pick<BusBacklog, "bytes" | "max_bytes">> {
    if (!this.#sees_stream) return { bytes: null, max_bytes: null };
    try {
      const { state, config } = await manager.streams.info(STREAM);
      return { bytes: state.bytes, max_bytes: config.max_bytes > 0 ? config.max_bytes : null };
    } catch (error) {
      if (deniedSubject(error) === undefined) throw error;
      this.#sees_stream = false;
      return { bytes: null, max_bytes: null };
    }
  }

  async close(): Promise<void> {
    this.#unwatch?.();
    this.#batches?.close();
    this.#calls?.close();
    const { clock, link } = this.#deps;
    await timeout(clock, CLOSE_MS_MAX, this.#connection.close());
    link.destroy();
  }

  async #bind(): Promise<void> {
    const { daemonId, directory, listener } = this.#deps;
    const fail = (error: unknown) => this.#fail(error);
    const { kv } = await libraries();
    const answer = (from: string, request: Uint8Array) => listener.call(from, request);
    const calls = this.#calls = new BusCalls(this.#connection, { ...this.#deps, fail, answer });
    this.#hearBeats();
    if (listener.admit) {
      await listener.admit({
        call: (request, timeoutMs) => calls.call(daemonId, request, timeoutMs),
        listen: () => calls.listen(),
      });
    } else calls.listen();
    const deliver = (from: string, batch: Uint8Array) => listener.batch(from, batch);
    this.#batches = await this.#withStore(() =>
      BatchReader.open(this.#connection, this.#client, { ...this.#deps, fail, deliver })
    );
    this.#kv = await new kv.Kvm(this.#client).open(DIRECTORY);
    this.#unwatch = await directory.watch(this.#kv, daemonId, fail);
  }

  /** A server with the permissions of an earlier version refuses heartbeats. */
  #hearBeats(): void {
    const { daemonId, listener } = this.#deps;
    this.#connection.subscribe(SUBJECTS.beats, {
      callback: (error, { subject, data }) => {
        if (error) return void (this.#hears_beats = false);
        const from = beatingMachine(subject);
        if (from !== undefined && from !== daemonId) listener.heard?.(from, data);
      },
    });
  }

  /** A server that lost its store, or never had one, gets it from a machine that may make it. */
  async #withStore<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (apiCodeOf(error) !== STREAM_NOT_FOUND_CODE) throw error;
    }
    try {
      await prepareStore(this.#connection, this.#deps.limits);
    } catch (error) {
      if (deniedSubject(error) === undefined) throw error;
      throw new Error("it has no store for machines; its operator must make it");
    }
    return await work();
  }

  #directory(): KV {
    if (!this.#kv) throw new BusError("unreachable", "The bus is not bound", "no");
    return this.#kv;
  }

  async #request<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      this.#timeouts = 0;
      return result;
    } catch (error) {
      // Without a store the session is useless. The next session creates the store, or reports who
      // must.
      if (isUnanswered(error)) this.#fail(new Error("its store for machines does not answer"));
      await this.#countTimeout(error);
      throw await busError(error);
    }
  }

  /** Leaves a server that answers pings but no requests. */
  async #countTimeout(error: unknown): Promise<void> {
    if (!await isTimeout(error)) this.#timeouts = 0;
    else if (++this.#timeouts >= TIMEOUTS_MAX) this.#fail(error);
  }

  #fail(error: unknown): void {
    this.#ended.resolve(error);
  }

  async #watchStatus(): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (status.type === "staleConnection") this.#fail(new Error("it does not answer"));
      if (status.type === "ldm") this.#fail(new Error("it is shutting down"));
      if (status.type === "error") {
        this.#deps.log.debug("The bus refused something", { error: status.error });
      }
    }
  }
}

function checkMachine(daemonId: string): void {
  if (DAEMON_ID.test(daemonId)) return;
  throw new BusError("failed", `Not a daemon id: "${daemonId}"`, "no");
}
