/** A real nats-server for tests, with the configuration that the product generates. */

import {
  addMachine,
  removeMachine,
  serverConfig,
  type ServerMachine,
  type ServerOptions,
} from "../../../daemon/machines/nats/server_config.ts";
import { makeUserKey, type UserKey } from "../../../daemon/machines/nats/nkeys.ts";
import type { StoreLimits } from "../../../daemon/machines/nats/store.ts";
import { end } from "../programs/child.ts";
import { until } from "../waiting.ts";
import {
  type CertificateFault,
  makeAuthority,
  makeCertificate,
  makeFaultyCertificate,
} from "./certificates.ts";

export const TEST_LIMITS: StoreLimits = {
  batches_bytes: 16 << 20,
  files_bytes: 16 << 20,
  directory_bytes: 4 << 20,
  replicas: 1,
};

const START_MS_MAX = 10_000;
const POLL_MS = 10;

export interface ServerSetup {
  readonly tls?: boolean;
  /** The fault of the server's certificate. */
  readonly fault?: CertificateFault;
  readonly limits?: StoreLimits;
  /** Fields of the configuration, such as a leaf's hub. */
  readonly options?: Partial<ServerOptions>;
  /** The server has no store of its own. */
  readonly storeless?: boolean;
  readonly admin?: UserKey;
  /** Changes the configuration, for example into that of an earlier version. */
  readonly edit?: (config: string) => string;
}

export interface TestMachine extends ServerMachine {
  readonly seed: string;
}

export class NatsServer implements AsyncDisposable {
  readonly admin: UserKey;
  readonly #dir: string;
  readonly #setup: ServerSetup;
  #machines: ServerMachine[] = [];
  #process: Deno.ChildProcess | undefined;
  /** -1 until the server has chosen them; the same after a restart. */
  #port = -1;
  #leaf_port = -1;
  #cluster_port = -1;

  private constructor(dir: string, setup: ServerSetup, admin: UserKey) {
    this.#dir = dir;
    this.#setup = setup;
    this.admin = admin;
  }

  static async start(setup: ServerSetup = {}): Promise<NatsServer> {
    const dir = await Deno.makeTempDir({ prefix: "mesh-nats-" });
    const server = new NatsServer(dir, setup, setup.admin ?? await makeUserKey());
    if (setup.tls) {
      await makeAuthority(dir);
      if (setup.fault) await makeFaultyCertificate(dir, setup.fault);
      else await makeCertificate(dir, "server");
    }
    await server.restart();
    return server;
  }

  get url(): string {
    return `${this.#setup.tls ? "tls" : "nats"}://127.0.0.1:${this.#port}`;
  }

  get port(): number {
    return this.#port;
  }

  get leafPort(): number {
    return this.#leaf_port;
  }

  get clusterPort(): number {
    return this.#cluster_port;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** The certificate of the authority that signed the server's. */
  get ca(): string {
    return `${this.#dir}/authority.pem`;
  }

  get machines(): readonly ServerMachine[] {
    return this.#machines;
  }

  /** The name with which the server introduces itself. */
  async infoName(): Promise<string> {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: this.#port });
    const buffer = new Uint8Array(64 << 10);
    const length = await connection.read(buffer) ?? 0;
    const [line = ""] = new TextDecoder().decode(buffer.subarray(0, length)).split("\r\n");
    return JSON.parse(line.replace(/^INFO /, "")).server_name;
  }

  /** Allows one more machine, with its key or a new one; the server reads it at once. */
  async allow(daemon_id: string, name = daemon_id, key?: UserKey): Promise<TestMachine> {
    const { seed, public_key } = key ?? await makeUserKey();
    const machine = { daemon_id, name, public_key };
    this.#machines = addMachine(this.#machines, machine);
    await this.reload();
    return { ...machine, seed };
  }

  async forbid(daemon_id: string): Promise<void> {
    this.#machines = removeMachine(this.#machines, daemon_id);
    await this.reload();
  }

  /** Writes the configuration, and lets the server read it as after `nats-server --signal reload`. */
  async reload(): Promise<void> {
    await this.#write();
    if (!this.#process) return;
    const before = this.#log().split("Reloaded server configuration").length;
    this.#process.kill("SIGHUP");
    await until(
      "the server to read its configuration",
      () => this.#log().split("Reloaded server configuration").length > before,
      START_MS_MAX,
      POLL_MS,
    );
  }

  /** Starts the server on its store and its port. */
  async restart(): Promise<void> {
    await this.#end("SIGTERM");
    await this.#write();
    const process = new Deno.Command("nats-server", {
      args: ["-c", this.#config, "--ports_file_dir", this.#dir, "-l", `${this.#dir}/log`],
      stdout: "null",
      stderr: "inherit",
    }).spawn();
    this.#process = process;
    let ended = false;
    void process.status.then(() => ended = true);
    const file = `${this.#dir}/nats-server_${process.pid}.ports`;
    const ports = await until(
      "nats-server to listen",
      () => {
        if (ended) throw new Error(`nats-server ended: ${this.#log().slice(-2000)}`);
        return portsIn(file);
      },
      START_MS_MAX,
      POLL_MS,
    );
    this.#port = portOf(ports.nats);
    // The file does not name this port.
    const [, leaf] = /Listening for leafnode connections on \S+:(\d+)/.exec(this.#log()) ?? [];
    if (leaf) this.#leaf_port = Number(leaf);
    if (ports.cluster) this.#cluster_port = portOf(ports.cluster);
  }

  /** Stops it as an operator does. */
  async stop(): Promise<void> {
    await this.#end("SIGTERM");
  }

  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Removes the whole store; the server must be stopped. */
  async loseStore(): Promise<void> {
    await Deno.remove(`${this.#dir}/store`, { recursive: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await Deno.remove(this.#dir, { recursive: true });
  }

  get #config(): string {
    return `${this.#dir}/nats.conf`;
  }

  #log(): string {
    return Deno.readTextFileSync(`${this.#dir}/log`);
  }

  async #end(signal: Deno.Signal): Promise<void> {
    const process = this.#process;
    this.#process = undefined;
    if (process) await end(process, signal);
  }

  async #write(): Promise<void> {
    const { tls, fault = "server", options = {}, storeless } = this.#setup;
    const { leaf_hub, cluster } = options;
    const secured = tls && { cert: `${this.#dir}/${fault}.pem`, key: `${this.#dir}/${fault}.key` };
    const text = serverConfig({
      server_name: "test",
      host: "127.0.0.1",
      port: this.#port,
      admin_key: this.admin.public_key,
      machines: this.#machines,
      ...(!storeless && { store_dir: `${this.#dir}/store` }),
      ...(secured && { tls: secured }),
      ...options,
      ...(leaf_hub &&
        { leaf_hub: { ...leaf_hub, port: this.#leaf_port, ...secured && { tls: secured } } }),
      ...(cluster && { cluster: { ...cluster, port: this.#cluster_port } }),
    });
    await Deno.writeTextFile(this.#config, this.#setup.edit?.(text) ?? text);
  }
}

interface Ports {
  readonly nats: readonly string[];
  readonly cluster?: readonly string[];
}

/** The ports that the server writes once it listens; undefined before that. */
function portsIn(file: string): Ports | undefined {
  try {
    return JSON.parse(Deno.readTextFileSync(file));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function portOf([url = ""]: readonly string[]): number {
  return Number(new URL(url.replace(/^\w+:/, "http:")).port);
}
