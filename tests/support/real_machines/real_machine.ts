/**
 * A machine of a network: a real daemon with a state directory of its own, and its command line.
 */

import { randomIds } from "kit/core/clock.ts";
import { type Call, client } from "kit/http/client.ts";
import { type Membership, writeMembership } from "../../../daemon/app/membership/joining.ts";
import { listMachines } from "protocol/machines.ts";
import { DENO_DIR, RealDaemon } from "../programs/child.ts";
import { meshCommand } from "../programs/program.ts";
import { writeMigratedDatabase } from "../migrated.ts";
import { until } from "../waiting.ts";

const SETTINGS = { MESH_DAEMON__QUEUE__MAX_PER_PEER: "1000000" };

interface Output {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export class RealMachine implements AsyncDisposable {
  readonly name: string;
  readonly state: string;
  readonly #settings: Readonly<Record<string, string>>;
  #daemon: RealDaemon | undefined;
  #daemon_id = "";

  constructor(name: string, state: string, settings: Readonly<Record<string, string>> = {}) {
    this.name = name;
    this.state = state;
    this.#settings = { MESH_CONFIG: `${state}/config.yaml`, ...SETTINGS, ...settings };
  }

  get id(): string {
    return this.#daemon_id;
  }

  get port(): number {
    return this.#running.port;
  }

  get base(): string {
    return this.#running.base;
  }

  get pid(): number {
    return this.#running.pid;
  }

  get isRunning(): boolean {
    return this.#daemon !== undefined;
  }

  /** Calls the daemon that runs now. */
  get call(): Call {
    return client(this.base, fetch);
  }

  get env(): Record<string, string> {
    const { MESH_CONFIG = "" } = this.#settings;
    const MESH_DAEMON__PORT = "0";
    return { HOME: this.state, MESH_STATE: this.state, MESH_CONFIG, DENO_DIR, MESH_DAEMON__PORT };
  }

  async start(): Promise<void> {
    writeMigratedDatabase(this.state);
    this.#daemon = await RealDaemon.start(this.state, { settings: this.#settings });
    this.#daemon_id = (await this.call(listMachines, {})).bus.daemon_id;
  }

  async stop(): Promise<void> {
    const daemon = this.#daemon;
    this.#daemon = undefined;
    await daemon?.stop();
  }

  async kill(): Promise<void> {
    const daemon = this.#daemon;
    this.#daemon = undefined;
    await daemon?.kill();
  }

  /** Joins a network while the daemon is off; returns the key that the server must allow. */
  async join(membership: Pick<Membership, "url" | "network_secret" | "ca">): Promise<string> {
    const { user_key } = await writeMembership(this.env, randomIds, {
      ...membership,
      name: this.name,
      creds: undefined,
      share: ["*"],
    });
    return user_key ?? "";
  }

  async waitForConnection(): Promise<void> {
    await until(`${this.name} to be connected`, async () => {
      return (await this.call(listMachines, {})).bus.status === "connected";
    });
  }

  /** Runs `mesh …` on this machine. */
  async mesh(...args: string[]): Promise<Output> {
    const [program = "", ...others] = meshCommand(args);
    const { code, stdout, stderr } = await new Deno.Command(program, {
      args: others,
      env: { ...this.env, NO_COLOR: "1", COLUMNS: "200" },
      stdin: "null",
    }).output();
    const decoder = new TextDecoder();
    return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
  }

  /** The daemon's log. */
  get log(): string {
    return Deno.readTextFileSync(`${this.state}/daemon.log`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  get #running(): RealDaemon {
    if (this.#daemon) return this.#daemon;
    throw new Error(`${this.name} is off`);
  }
}
