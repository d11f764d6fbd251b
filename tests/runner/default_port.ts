/** Holds the default port while the tests run: no test may call it or start a daemon there. */

import { readTextOrNothing } from "../../daemon/host/paths.ts";

export const DEFAULT_PORT = 8377;
/** How many callers are named. */
const CALLERS_MAX = 5;
const LOOPBACK = "0100007F";

export class DefaultPort implements Disposable {
  readonly #listener: Deno.TcpListener | undefined;
  readonly #callers = new Set<string>();
  /** True if a program of this machine has the port, so that nothing can be said. */
  readonly isTaken: boolean;

  constructor(port = DEFAULT_PORT) {
    try {
      this.#listener = Deno.listen({ hostname: "127.0.0.1", port });
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
      this.#callers.add(commandAt(connection.remoteAddr.port) ?? "a program that has ended");
      connection.close();
    }
  }
}

/** The command line of the process with this port; on Linux only. */
function commandAt(port: number): string | undefined {
  const address = `${LOOPBACK}:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const row = readTextOrNothing("/proc/net/tcp")?.split("\n")
    .map((line) => line.trim().split(/\s+/)).find((fields) => fields[1] === address);
  if (!row) return undefined;
  for (const { name } of Deno.readDirSync("/proc")) {
    if (/^\d+$/.test(name) && hasSocket(name, `socket:[${row[9]}]`)) {
      return readTextOrNothing(`/proc/${name}/cmdline`)?.replaceAll("\0", " ").trim();
    }
  }
  return undefined;
}

function hasSocket(pid: string, target: string): boolean {
  try {
    return [...Deno.readDirSync(`/proc/${pid}/fd`)].some(({ name }) =>
      Deno.readLinkSync(`/proc/${pid}/fd/${name}`) === target
    );
  } catch { // It has ended, or belongs to another user.
    return false;
  }
}
