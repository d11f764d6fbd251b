/** A hostile tmux server: it reads what its clients send, and runs a program as them. */

import { join } from "node:path";

/** tmux's protocol, version 8: a header of type, length, flags, peer id and pid, then the data. */
const PROTOCOL = 8;
const HEADER_BYTES = 16;
const IDENTIFY_ENVIRON = 105;
/** The last message of a client's start: the command that it wants to run. */
const COMMAND = 200;
/** The client replaces itself with the program at the path that follows. */
const SHELL = 209;

/** Listens in a directory, and owns nothing that a client could not: see `giveAway`. */
export class HostileTmux implements AsyncDisposable {
  readonly socket: string;
  /** The variables that clients have sent, as `NAME=value`. */
  readonly environment: string[] = [];
  /** Number of clients that have connected. */
  clients = 0;
  /** Number of clients that received the program. */
  attacked = 0;
  readonly #program: string;
  readonly #proof: string;
  readonly #listener: Deno.UnixListener;
  readonly #connections = new Set<Deno.UnixConn>();
  readonly #serving: Promise<void>;

  constructor(dir: string, name = "hostile") {
    this.socket = join(dir, name);
    this.#program = `${this.socket}.program`;
    this.#proof = `${this.socket}.ran`;
    Deno.writeTextFileSync(this.#program, `#!/bin/sh\nid -u > '${this.#proof}'\n`);
    Deno.chmodSync(this.#program, 0o755);
    this.#listener = Deno.listen({ transport: "unix", path: this.socket });
    Deno.chmodSync(this.socket, 0o777);
    this.#serving = this.#serve();
  }

  /** True if its program was run. */
  get hasRun(): boolean {
    try {
      return Deno.statSync(this.#proof).isFile;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return false;
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const connection of this.#connections) connection.close();
    await this.#serving;
  }

  async #serve(): Promise<void> {
    const served: Promise<void>[] = [];
    for await (const connection of this.#listener) {
      this.clients++;
      this.#connections.add(connection);
      served.push(this.#handleConnection(connection));
    }
    await Promise.all(served);
  }

  async #handleConnection(connection: Deno.UnixConn): Promise<void> {
    try {
      for (let message = await next(connection); message; message = await next(connection)) {
        if (message.type === IDENTIFY_ENVIRON) this.environment.push(message.text);
        if (message.type !== COMMAND) continue;
        await connection.write(messageOf(SHELL, this.#program));
        this.attacked++;
      }
    } catch (error) {
      const ended = [Deno.errors.BrokenPipe, Deno.errors.ConnectionReset, Deno.errors.BadResource];
      if (![...ended, Deno.errors.Interrupted].some((kind) => error instanceof kind)) throw error;
    } finally {
      if (this.#connections.delete(connection)) connection.close();
    }
  }
}

async function next(connection: Deno.UnixConn) {
  const header = await readExactly(connection, HEADER_BYTES);
  if (!header) return undefined;
  const view = new DataView(header.buffer);
  const data = await readExactly(connection, view.getUint16(4, true) - HEADER_BYTES);
  const text = new TextDecoder().decode(data).replace(/\0$/, "");
  return data && { type: view.getUint32(0, true), text };
}

/**
 * Never reads more than there is: file descriptors that travel along end a read early, and the
 * runtime takes that for an empty socket.
 */
async function readExactly(connection: Deno.UnixConn, size: number) {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size;) {
    const read = await connection.read(bytes.subarray(at));
    if (read === null) return undefined;
    at += read;
  }
  return bytes;
}

function messageOf(type: number, text: string): Uint8Array {
  const data = new TextEncoder().encode(`${text}\0`);
  const whole = new Uint8Array(HEADER_BYTES + data.length);
  const view = new DataView(whole.buffer);
  view.setUint32(0, type, true);
  view.setUint16(4, whole.length, true);
  view.setUint32(8, PROTOCOL, true);
  whole.set(data, HEADER_BYTES);
  return whole;
}
