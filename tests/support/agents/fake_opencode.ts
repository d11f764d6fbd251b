/** The daemon's end of `/ws` and a client of opencode, for tests of the plugin between the two. */

import { join } from "node:path";
import { MeshPlugin } from "../../../daemon/features/agents/opencode/plugin/main.ts";
import type {
  Hooks,
  PluginContext,
  Properties,
} from "../../../daemon/features/agents/opencode/plugin/opencode.ts";

export type Frame = Readonly<Record<string, unknown>>;

const TIMEOUT_MS = 9_000;

/** A log in order of arrival; waiters are resolved as entries arrive. */
class ArrivalLog<T> {
  readonly all: T[] = [];
  readonly #waiting = new Set<() => void>();

  add(item: T): void {
    this.all.push(item);
    this.#waiting.forEach((check) => check());
  }

  /** Resolves with the first match, now or later. */
  async find(what: string, matches: (item: T) => boolean, from = 0): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const check = () => {
      const found = this.all.slice(from).find(matches);
      if (found !== undefined) resolve(found);
    };
    const alarm = setTimeout(() => reject(new Error(`Timed out waiting for: ${what}`)), TIMEOUT_MS);
    this.#waiting.add(check);
    check();
    try {
      return await promise;
    } finally {
      clearTimeout(alarm);
      this.#waiting.delete(check);
    }
  }
}

/** A daemon that consists of its socket alone. */
export class FakeDaemon implements AsyncDisposable {
  readonly state = Deno.makeTempDirSync({ prefix: "mesh-plugin-" });
  /** The frames of the plugin, on all its connections. */
  readonly received = new ArrivalLog<Frame>();
  readonly lines: WebSocket[] = [];
  /** Takes connections, and accepts none. */
  isMute = false;
  #server: Deno.HttpServer<Deno.NetAddr> | undefined;

  /** Listens on a free port, and writes its address to the state directory. */
  up(): this {
    const options = { port: 0, hostname: "127.0.0.1", onListen: () => undefined };
    this.#server = Deno.serve(options, (request) => {
      const { socket, response } = Deno.upgradeWebSocket(request);
      this.lines.push(socket);
      socket.onmessage = ({ data }) => {
        const frame: Frame = JSON.parse(data);
        if (frame["type"] === "connect" && !this.isMute) {
          socket.send(JSON.stringify({ type: "connected" }));
        }
        this.received.add(frame);
      };
      return response;
    });
    const url = `http://127.0.0.1:${this.#server.addr.port}`;
    Deno.writeTextFileSync(join(this.state, "daemon.json"), JSON.stringify({ url }));
    return this;
  }

  /** As after a `kill -9`: the connections are cut, and daemon.json stays. */
  async down(): Promise<void> {
    this.lines.forEach((line) => line.close());
    await this.#server?.shutdown();
  }

  /** Accepts the newest connection, which was opened while the server was mute. */
  accept(): void {
    this.isMute = false;
    this.sendFrame({ type: "connected" });
  }

  /** Sends a frame on the newest connection. */
  sendFrame(frame: Frame): void {
    this.lines.at(-1)?.send(JSON.stringify(frame));
  }

  /** Sends a message as the daemon does. */
  send(id: string, framed = `[mesh] <peer-message type="ask" id="ask-${id}">do it</peer-message>`) {
    this.sendFrame({ type: "ask", delivery_id: `qd-${id}`, correlation_id: `ask-${id}`, framed });
  }

  handshake(from = 0): Promise<Frame> {
    return this.received.find("the handshake", ({ type }) => type === "connect", from);
  }

  receipt(id: string, status: string, from = 0): Promise<Frame> {
    const matches = (frame: Frame) => frame["delivery_id"] === `qd-${id}`;
    return this.received.find(
      `${status} of ${id}`,
      (frame) => matches(frame) && frame["status"] === status,
      from,
    );
  }

  turn(turn_state: string, from = 0): Promise<Frame> {
    return this.received.find(turn_state, (frame) => frame["turn_state"] === turn_state, from);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.down();
    Deno.removeSync(this.state, { recursive: true });
  }
}

interface Prompt {
  readonly id: string;
  readonly text: string;
}

/** An opencode without a model: it records its input, and emits opencode's events. */
export class FakeOpencode {
  readonly prompts = new ArrivalLog<Prompt>();
  readonly selected: unknown[] = [];
  /** The sessions whose turns the plugin stopped. */
  readonly aborted = new ArrivalLog<string>();
  /** The earlier messages of a session. */
  readonly histories = new Map<string, string>();
  readonly children = new Set<string>();
  /** Answer of `promptAsync` instead of accepting the text. */
  answer: (() => { error?: unknown; response: { status: number } }) | undefined;
  #ids = 0;
  #hooks: Hooks | undefined;
  readonly #plugin: typeof MeshPlugin;

  /** With the plugin's sources, or with the installed file. */
  constructor(plugin = MeshPlugin) {
    this.#plugin = plugin;
  }

  async start(daemon: FakeDaemon, args: readonly string[] = ["opencode"]): Promise<void> {
    const env = { MESH_STATE: daemon.state, TMUX: "/missing/tmux-1/own,12,0", TMUX_PANE: "%4" };
    this.#hooks = await this.#plugin({ client: this.#client(), directory: "/work/api" }, {
      env,
      args,
    });
  }

  event(type: string, properties: Properties): void {
    void this.#hooks?.event({ event: { type, properties } });
  }

  /** A message in a form that the plugin does not know. */
  saidBroken(): void {
    void this.#hooks?.["chat.message"](JSON.parse("{}"), JSON.parse("{}"));
  }

  /** A message in a session's transcript, of either role. */
  addPrompt(id: string, text: string): string {
    const message = `msg_${String(++this.#ids).padStart(4, "0")}`;
    const model = { providerID: "fake", modelID: "one" };
    void this.#hooks?.["chat.message"]({ sessionID: id }, {
      message: { id: message, role: "user", model },
      parts: [{ type: "text", text }],
    });
    return message;
  }

  /** A whole turn that follows a message. */
  addAnswer(id: string, parentID: string, text: string): void {
    const info = { id: `${parentID}_answer`, role: "assistant", sessionID: id, parentID };
    this.event("message.updated", { sessionID: id, info });
    const part = { id: "prt_1", type: "text", messageID: info.id, sessionID: id, text };
    this.event("message.part.updated", { sessionID: id, part });
    this.idle(id);
  }

  busy(id: string): void {
    this.event("session.status", { sessionID: id, status: { type: "busy" } });
  }

  idle(id: string): void {
    this.event("session.idle", { sessionID: id });
  }

  end(): void {
    void this.#hooks?.dispose();
  }

  [Symbol.dispose](): void {
    this.end();
  }

  #client(): PluginContext["client"] {
    return {
      _client: {
        post: ({ body }: { body: unknown }) => Promise.resolve(this.selected.push(body)),
      },
      session: {
        abort: ({ path: { id } }: { path: { id: string } }) => {
          this.aborted.add(id);
          return Promise.resolve({ data: true });
        },
        create: () => {
          const id = `ses_new${++this.#ids}`;
          this.event("session.created", { info: { id } });
          return Promise.resolve({ data: { id } });
        },
        get: ({ path: { id } }: { path: { id: string } }) =>
          Promise.resolve({ data: { id, ...(this.children.has(id) && { parentID: "ses_a" }) } }),
        list: () =>
          Promise.resolve({
            data: [
              { id: "ses_old", time: { updated: 1 } },
              { id: "ses_last", time: { updated: 3 } },
              { id: "ses_sub", parentID: "ses_last", time: { updated: 9 } },
            ],
          }),
        messages: ({ path: { id } }: { path: { id: string } }) => {
          const text = this.histories.get(id) ?? "";
          return Promise.resolve({ data: [{ info: { role: "user" }, parts: [{ text }] }] });
        },
        promptAsync: (
          { path: { id }, body: { parts } }: {
            path: { id: string };
            body: { parts: readonly { text: string }[] };
          },
        ) => {
          const text = parts.map((part) => part.text).join("");
          this.prompts.add({ id, text });
          if (this.answer) return Promise.resolve(this.answer());
          this.addPrompt(id, text);
          return Promise.resolve({ response: { status: 204 } });
        },
      },
    };
  }
}
