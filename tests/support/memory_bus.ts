/** A bus in memory: the files of several machines, with the server's permissions, and faults. */

import { type Bus, BusError, type BusFailure } from "../../daemon/machines/bus.ts";

export type FileVerb = "put" | "get" | "delete";

/** The server that several machines connect to. It holds files only. */
export class MemoryBus {
  readonly files = new Map<string, Uint8Array>();
  /** The requests about files that reached the bus, such as `put dm-….…`. */
  readonly requests: string[] = [];
  /** Bytes of files that the bus has handed out. */
  bytes_read = 0;
  isDown = false;
  /** Refuses a request before the bus does anything. */
  refusal: (verb: FileVerb, name: string) => BusFailure | undefined = () => undefined;
  /** The connection breaks after the bus did what a request wants, before its answer. */
  losesAnswer: (verb: FileVerb, name: string) => boolean = () => false;

  /** Number of requests of a kind that reached the bus. */
  count(verb: FileVerb): number {
    return this.requests.filter((request) => request.startsWith(`${verb} `)).length;
  }

  /** The connection of a machine. */
  connect(daemonId: string): Bus {
    const filesOnly = () => Promise.reject(new BusError("failed", "This bus holds files only"));
    const own = (name: string) => name.startsWith(`${daemonId}.`);
    return {
      status: () => ({
        status: this.isDown ? "down" : "connected",
        since: 0,
        reason: this.isDown ? "the server is down" : null,
      }),
      publish: filesOnly,
      call: filesOnly,
      beat: filesOnly,
      canBeat: () => false,
      announce: filesOnly,
      withdraw: filesOnly,
      putFile: (name, bytes) =>
        this.#answer("put", name, () => {
          if (!own(name)) throw new BusError("not_permitted", name, "no");
          this.files.set(name, bytes.slice());
        }),
      getFile: (name, bytes_max) =>
        this.#answer("get", name, () => {
          const bytes = this.files.get(name);
          if (bytes && bytes.length > bytes_max) throw new BusError("too_large", name, "no");
          this.bytes_read += bytes?.length ?? 0;
          return bytes?.slice() ?? null;
        }),
      deleteFile: (name) =>
        this.#answer("delete", name, () => {
          if (!own(name)) throw new BusError("not_permitted", name, "no");
          this.files.delete(name);
        }),
      roundTrip: filesOnly,
      heardAt: () => null,
      backlog: filesOnly,
      close: () => Promise.resolve(),
    };
  }

  async #answer<T>(verb: FileVerb, name: string, work: () => T): Promise<T> {
    await Promise.resolve();
    if (this.isDown) throw new BusError("unreachable", "The server is down", "no");
    this.requests.push(`${verb} ${name}`);
    const refused = this.refusal(verb, name);
    if (refused) throw new BusError(refused, `The bus refused: ${refused}`, "no");
    const result = work();
    if (this.losesAnswer(verb, name)) throw new BusError("unreachable", "The connection broke");
    return result;
  }
}
