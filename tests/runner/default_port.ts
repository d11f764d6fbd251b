/** Holds the daemon's default port while the tests run, so that no test can use it. */

import { argumentsOf } from "../../daemon/host/processes.ts";
import { machineSockets } from "../../daemon/host/sockets/sockets.ts";

export const DEFAULT_PORT = 8377;
const HOSTNAME = "127.0.0.1";
/** Maximum number of callers that are named. */
const CALLERS_MAX = 5;

export class DefaultPort implements Disposable {
  readonly #listener: Deno.TcpListener | undefined;
  readonly #callers = new Set<string>();
  readonly #sockets = machineSockets();
  /** True if another program has the port, so that no caller can be observed. */
  readonly isTaken: boolean;

  constructor(port = DEFAULT_PORT) {
    try {
      this.#listener = Deno.listen({ hostname: HOSTNAME, port });
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
    this.isTaken = this.#listener === undefined;
    void this.#watch();
  }

  get port(): number {
    return this.#listener?.addr.port ?? 0;
  }

  /** The command lines that called; a daemon that starts there fails by itself. */
  get callers(): readonly string[] {
    return [...this.#callers].slice(0, CALLERS_MAX);
  }

  [Symbol.dispose](): void {
    this.#listener?.close();
  }

  async #watch(): Promise<void> {
    if (!this.#listener) return;
    for await (const connection of this.#listener) {
      this.#callers.add(this.#commandOf(connection.remoteAddr) ?? "a program that has ended");
      connection.close();
    }
  }

  /** The command line of the process that holds the other end; on Linux only. */
  #commandOf(remote: Deno.NetAddr): string | undefined {
    const connection = { remote, local_port: this.port, local_host: HOSTNAME };
    const pid = this.#sockets.holderOf(connection);
    return pid === undefined ? undefined : argumentsOf(pid)?.join(" ").trim();
  }
}
