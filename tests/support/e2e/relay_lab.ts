/** A real relay in this process, and real daemons as children, on loopback. */

import { join } from "node:path";
import { randomIds, systemClock } from "kit/core/clock.ts";
import { jsonLog } from "kit/core/log.ts";
import { toConnection } from "kit/net/tunnel/connection.ts";
import { Relay } from "../../../relay/app/relay.ts";
import type { MachineRequest } from "protocol/relay/daemons.ts";
import { namespaceOf } from "../../../relay/web/secrets.ts";
import { writeMigratedDatabase } from "../migrated.ts";
import { until } from "../waiting.ts";
import { meshArguments } from "../programs/program.ts";

export const SECRET = `mesh_sk_${"e".repeat(43)}`;
export const NAMESPACE = namespaceOf(SECRET) ?? "";

/** A relay that listens, ticks, and knows one browser. */
export class RealRelay implements AsyncDisposable {
  readonly logged: string[] = [];
  readonly relay: Relay;
  readonly url: string;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #ticking: Promise<void>;
  /** The cookie of the one browser that is signed in. */
  readonly cookie: string;

  /** `tls` has the certificate and the key of an HTTPS relay, in PEM. */
  constructor(port = 0, tls?: { readonly cert: string; readonly key: string }) {
    this.relay = new Relay({
      clock: systemClock,
      log: jsonLog(systemClock, "debug", (line) => this.logged.push(line)),
      ids: randomIds,
      proxy: { mode: "direct" },
      oauth: undefined,
      accept: (request, ears) => {
        const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: 0 });
        return { response, connection: toConnection(socket, ears) };
      },
    });
    const onError = (error: unknown) => this.relay.onError(error);
    const options = { hostname: "127.0.0.1", port, onListen: () => undefined, onError, ...tls };
    this.#server = Deno.serve(options, (request, { remoteAddr }) => {
      return this.relay.fetch(request, remoteAddr);
    });
    this.url = `${tls ? "https" : "http"}://127.0.0.1:${this.#server.addr.port}`;
    this.cookie = this.relay.sessions.open(NAMESPACE, new Request(this.url)).split(";", 1)[0] ??
      "";
    this.#ticking = this.relay.run();
  }

  /** Fetches as a signed-in browser on a page of the relay's. */
  browse(daemon_id: string, path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set("cookie", this.cookie);
    headers.set("sec-fetch-site", "same-origin");
    return fetch(`${this.url}/m/${daemon_id}${path}`, { ...init, headers });
  }

  /** Requests as one of the relay's own features. */
  ask(daemon_id: string, path: `/${string}`, more: Partial<MachineRequest> = {}) {
    const asked = { method: "GET", path, timeout_ms: 20_000, ...more };
    return this.relay.machines.request(NAMESPACE, daemon_id, asked);
  }

  connected(daemon_id: string): true | undefined {
    return this.relay.machines.list(NAMESPACE).some((machine) => machine.daemon_id === daemon_id) ||
      undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.relay.shutDown();
    await this.#server.shutdown();
    await this.#ticking;
  }
}

/** A real daemon, in a state directory of its own. */
export class RealDaemon implements AsyncDisposable {
  readonly dir: string;
  readonly process: Deno.ChildProcess;
  #stopped = false;
  readonly #ended: Promise<unknown>;
  /** Its whole output, once it has ended. */
  readonly log: Promise<string>;

  private constructor(dir: string, relay_url: string, env: Record<string, string>) {
    this.dir = dir;
    this.process = new Deno.Command(Deno.execPath(), {
      args: meshArguments(["daemon"]),
      cwd: dir,
      env: {
        MESH_CONFIG: join(dir, "none.yaml"),
        MESH_STATE: dir,
        MESH_DAEMON__PORT: "0",
        MESH_RELAY__ENABLED: "true",
        MESH_RELAY__URL: relay_url,
        MESH_RELAY__SECRET: SECRET,
        NO_COLOR: "1",
        ...env,
      },
      stdout: "null",
      stderr: "piped",
    }).spawn();
    this.#ended = this.process.status.then(() => this.#stopped = true);
    this.log = new Response(this.process.stderr).text();
  }

  /** Its own address and its id; started in `dir` if given. */
  static async start(relay_url: string, env: Record<string, string> = {}, dir?: string) {
    const state = dir ?? Deno.makeTempDirSync();
    writeMigratedDatabase(state);
    const daemon = new RealDaemon(state, relay_url, env);
    const url = await until("daemon.json", () => daemon.#notice());
    const health = await (await fetch(`${url}/health`)).json();
    return Object.assign(daemon, { url, daemon_id: String(health.daemon_id) });
  }

  async health() {
    return await (await fetch(`${this.#notice()}/health`)).json();
  }

  /** The exit code. */
  async end(signal: Deno.Signal): Promise<number> {
    if (!this.#stopped) this.process.kill(signal);
    await this.#ended;
    await this.log;
    return (await this.process.status).code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("SIGKILL");
    Deno.removeSync(this.dir, { recursive: true });
  }

  /** The daemon.json of another process, which was killed, does not count. */
  #notice(): string | undefined {
    try {
      const { url, pid } = JSON.parse(Deno.readTextFileSync(join(this.dir, "daemon.json")));
      return pid === this.process.pid ? String(url) : undefined;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  }
}
