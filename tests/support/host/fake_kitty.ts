/** A program that speaks kitty's remote control on a socket, and answers as a test says. */

import type { KittyWindow, Order } from "../../../daemon/host/kitty/kitten.ts";

/** The bytes of an answer; undefined closes the connection without one, null never answers. */
export type Answer = Uint8Array | undefined | null;

export interface KittyCommand {
  readonly cmd: string;
  readonly version: readonly number[];
  readonly payload: { readonly kitten?: string; readonly args?: readonly [string] };
}

/** A window in which the agent's process is the only one. */
export function kittyWindow(more: Partial<KittyWindow> = {}): KittyWindow {
  return {
    id: 3,
    pid: Deno.pid,
    foreground: Deno.pid,
    columns: 80,
    lines: 4,
    x: 2,
    y: 0,
    cursor_shown: true,
    tab: 1,
    cwd: "/work",
    rows: ["> ", "", "", ""],
    above: [],
    ...more,
  };
}

/** The kitten's answer, as kitty sends it. */
export function answerOf(data: unknown): Uint8Array {
  return pack(JSON.stringify({ ok: true, data: JSON.stringify(data) }));
}

export function refusalOf(error: string): Uint8Array {
  return pack(JSON.stringify({ ok: false, error, tb: "Traceback" }));
}

export function pack(text: string): Uint8Array {
  return new TextEncoder().encode(`\x1bP@kitty-cmd${text}\x1b\\`);
}

export class FakeKitty implements AsyncDisposable {
  readonly dir = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "mesh-kitty-" }));
  readonly socket = `${this.dir}/socket`;
  readonly address = `kitty:${this.socket}`;
  readonly received: KittyCommand[] = [];
  answer: (order: Order) => Answer | Promise<Answer> = () => answerOf({ windows: [kittyWindow()] });
  readonly #listener = Deno.listen({ transport: "unix", path: this.socket });
  readonly #open = new Set<Deno.Conn>();
  readonly #accepting: Promise<void>;

  constructor() {
    this.#accepting = this.#accept();
  }

  get orders(): Order[] {
    return this.received.map(orderOf);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    await this.#accepting;
    Deno.removeSync(this.dir, { recursive: true });
  }

  /** Ends, as kitty does when it is killed. */
  close(): void {
    for (const connection of [...this.#open]) this.#hangUp(connection);
    try {
      this.#listener.close();
    } catch (error) {
      if (!(error instanceof Deno.errors.BadResource)) throw error;
    }
  }

  async #accept(): Promise<void> {
    for await (const connection of this.#listener) void this.#serve(connection);
  }

  async #serve(connection: Deno.Conn): Promise<void> {
    this.#open.add(connection);
    const decoder = new TextDecoder();
    const chunk = new Uint8Array(65_536);
    let text = "";
    while (!text.endsWith("\x1b\\")) {
      const count = await connection.read(chunk).catch(() => null);
      if (count === null) return this.#hangUp(connection);
      text += decoder.decode(chunk.subarray(0, count), { stream: true });
    }
    const command: KittyCommand = JSON.parse(text.slice("\x1bP@kitty-cmd".length, -2));
    this.received.push(command);
    const answer = await this.answer(orderOf(command));
    if (answer === null) return;
    for (let at = 0; answer !== undefined && at < answer.length;) {
      const count = await connection.write(answer.subarray(at)).catch(() => undefined);
      if (count === undefined) break;
      at += count;
    }
    this.#hangUp(connection);
  }

  #hangUp(connection: Deno.Conn): void {
    if (this.#open.delete(connection)) connection.close();
  }
}

/** The kitten's order; for kitty's other commands, a read of no window. */
function orderOf({ payload }: KittyCommand): Order {
  const none: Order = { do: "read", window: null, rows: false, above: 0 };
  return payload.args ? JSON.parse(payload.args[0]) : none;
}
