/** The message bus between machines: durable batches, calls, a directory and files. */

/** Connection to the bus, and the time since which it is so (milliseconds since 1970). */
export interface BusStatus {
  readonly status: "connecting" | "connected" | "down";
  readonly since: number;
  /** Why it is not connected, in a sentence for people; null while connected. */
  readonly reason: string | null;
}

/** Receives what arrives from the bus. The connection's user proves the daemon ids of machines. */
export interface BusListener {
  /**
   * Called with a new connection on which only answers to own calls arrive so far. Rejects with
   * `IdentityInUse` if another daemon with this machine's id is connected: the connection then
   * stays unused, and the bus tries again later. Without this method, every connection is used.
   */
  admit?(connection: NewConnection): Promise<void>;
  /** A stored batch of another machine. The bus drops its copy on success, or repeats it later. */
  batch(from: string, batch: Uint8Array): Promise<void>;
  /** A call of another machine or of a daemon with this id. Null, or rejecting, sends no answer. */
  call(from: string, request: Uint8Array): Promise<Uint8Array | null>;
  /** A heartbeat of another machine. */
  heard?(daemonId: string, beat: Uint8Array): void;
  /** Another machine's entry in the directory; null when it expired or was withdrawn. */
  announced(daemonId: string, entry: Uint8Array | null): void;
  /** The connection changed. */
  changed(status: BusStatus): void;
}

/** A connection that does not receive anything yet, except answers. */
export interface NewConnection {
  /**
   * Calls the daemons that are connected with this machine's id, including this one once it
   * listens. Rejects like `Bus.call`: with `stored: "no"` if there are none.
   */
  call(request: Uint8Array, timeoutMs: number): Promise<Uint8Array>;
  /** Starts to receive calls. */
  listen(): void;
}

/** Batches that wait at the bus for one machine. */
export interface BusBacklog {
  /** Batches that wait at the bus for this machine. */
  readonly waiting: number;
  /** Bytes in the stream of all machines, and the limit; null where not permitted to see it. */
  readonly bytes: number | null;
  readonly max_bytes: number | null;
}

/** A connection to the bus. Each method rejects with `BusError` while the bus cannot be reached. */
export interface Bus {
  status(): BusStatus;
  /** Stores a batch for another machine; resolves once the bus has it on disk. */
  publish(to: string, id: string, batch: Uint8Array): Promise<void>;
  /** Asks another machine now; nothing is stored. Rejects with `no_answer` if none came in time. */
  call(to: string, request: Uint8Array, timeoutMs: number): Promise<Uint8Array>;
  /** Sends a heartbeat to all connected machines. Nothing is stored. */
  beat(bytes: Uint8Array): Promise<void>;
  /** True if the server permits this machine to send and to receive heartbeats. */
  canBeat(): boolean;
  /** Writes this machine's entry of the directory, which expires 60 s later. */
  announce(entry: Uint8Array): Promise<void>;
  /** Removes this machine's entry of the directory. */
  withdraw(): Promise<void>;
  /**
   * Stores a file for 7 days, or replaces it. Names begin with this machine's daemon id and a dot:
   * a machine can neither replace nor delete the file of another one. A name has at most 128
   * letters, digits, `_`, `.` and `-`.
   */
  putFile(name: string, bytes: Uint8Array): Promise<void>;
  /**
   * The bytes of a file of any machine, or null when the bus no longer has it. Rejects with
   * `too_large`, before the bytes are in memory, if it is larger than `bytes_max`.
   */
  getFile(name: string, bytes_max: number): Promise<Uint8Array | null>;
  /** Deletes a file of this machine; does nothing if the bus does not have it. */
  deleteFile(name: string): Promise<void>;
  /** Milliseconds of a round trip to the server. */
  roundTrip(): Promise<number>;
  backlog(): Promise<BusBacklog>;
  /** Time of the last bytes from the server (milliseconds since 1970); null while disconnected. */
  heardAt(): number | null;
  close(): Promise<void>;
}

/** The methods of a bus that the opened bus under it executes. */
export abstract class ForwardingBus {
  /** Throws a `BusError` while there is no opened bus. */
  protected abstract opened(): Omit<Bus, "status" | "canBeat" | "heardAt" | "close">;

  async publish(to: string, id: string, batch: Uint8Array): Promise<void> {
    await this.opened().publish(to, id, batch);
  }

  async call(to: string, request: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    return await this.opened().call(to, request, timeoutMs);
  }

  async beat(bytes: Uint8Array): Promise<void> {
    await this.opened().beat(bytes);
  }

  async announce(entry: Uint8Array): Promise<void> {
    await this.opened().announce(entry);
  }

  async withdraw(): Promise<void> {
    await this.opened().withdraw();
  }

  async putFile(name: string, bytes: Uint8Array): Promise<void> {
    await this.opened().putFile(name, bytes);
  }

  async getFile(name: string, bytes_max: number): Promise<Uint8Array | null> {
    return await this.opened().getFile(name, bytes_max);
  }

  async deleteFile(name: string): Promise<void> {
    await this.opened().deleteFile(name);
  }

  async roundTrip(): Promise<number> {
    return await this.opened().roundTrip();
  }

  async backlog(): Promise<BusBacklog> {
    return await this.opened().backlog();
  }
}

export type BusFailure =
  | "unreachable"
  | "full"
  | "too_large"
  | "not_permitted"
  | "no_answer"
  | "failed";

/** Why a bus refused or failed. `stored: "no"` only if the bus certainly has not stored it. */
export class BusError extends Error {
  readonly reason: BusFailure;
  readonly stored: "no" | "unknown";

  constructor(reason: BusFailure, detail: string, stored: "no" | "unknown" = "unknown") {
    super(detail);
    this.name = "BusError";
    this.reason = reason;
    this.stored = stored;
  }
}

/** A daemon with this machine's id is connected, and gets the messages instead of this one. */
export class IdentityInUse extends Error {
  override readonly name = "IdentityInUse";
}
