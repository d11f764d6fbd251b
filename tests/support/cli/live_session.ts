/** The live view on a fake terminal, against a daemon in memory. */

import { runCli } from "../../../cli.ts";
import { until } from "../waiting.ts";
import { type World, world, type WorldOptions } from "../world.ts";
import { capturedTerminal } from "./captured_output.ts";
import { FakeScreen } from "./fake_screen.ts";

const SHOWN_MS_MAX = 15_000;

/** A keyboard on which a test types. */
export class Keyboard {
  readonly #typed: string[] = [];
  #wake: () => void = () => undefined;

  type(...keys: readonly string[]): void {
    this.#typed.push(...keys);
    this.#wake();
  }

  readonly keys = async function* (this: Keyboard, signal: AbortSignal): AsyncGenerator<string> {
    signal.addEventListener("abort", () => this.#wake(), { once: true });
    while (!signal.aborted) {
      const key = this.#typed.shift();
      if (key !== undefined) yield key;
      else await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }.bind(this);
}

interface Command {
  /** The words after `mesh`. */
  readonly args?: readonly string[];
  /** Work in the world before the command starts. */
  readonly prepare?: (w: World) => Promise<unknown>;
}

/** Starts `mesh` on a terminal of 100 columns. Dispose of it to quit. */
export function liveSession(
  options: WorldOptions = {},
  env: Record<string, string> = {},
  { args = [], prepare = () => Promise.resolve() }: Command = {},
) {
  const settings = { "daemon.allowed_hosts": "[127.0.0.1]", "human.name": "sam" };
  const w = world({
    at_terminal: true,
    ...options,
    settings: { ...settings, ...options.settings },
  });
  const stopped = new AbortController();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {}, signal: stopped.signal },
    (request, { remoteAddr }) => w.daemon.fetch(request, remoteAddr),
  );
  const fake = new FakeScreen(100, 24);
  const keyboard = new Keyboard();
  const { terminal } = capturedTerminal({
    ...fake.device,
    keys: keyboard.keys,
    interactive: true,
  });
  const port = String(server.addr.port);
  const all = { MESH_CONFIG: "/none", MESH_STATE: "/none", MESH_DAEMON__PORT: port, ...env };
  const ended = prepare(w).then(() => runCli([...args], all, terminal));
  return {
    w,
    fake,
    ended,
    type: (...keys: readonly string[]) => keyboard.type(...keys),
    /** Waits until the screen shows a text. */
    async shows(text: RegExp): Promise<void> {
      try {
        await until(String(text), () => text.test(fake.text), SHOWN_MS_MAX);
      } catch (error) {
        throw new Error(`The screen does not show ${text}:\n${fake.text}`, { cause: error });
      }
    },
    async [Symbol.asyncDispose]() {
      keyboard.type("\u001b", "\u001b", "\u001b", "q");
      await ended;
      await w[Symbol.asyncDispose]();
      stopped.abort(); // A shutdown would wait for the event stream, whose clock stands still.
      await server.finished;
    },
  };
}
