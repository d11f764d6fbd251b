/** The daemon beside both yardsticks for messages, and a load generator for them. */

import { RealDaemon, Script, temporary } from "../../support/programs/child.ts";
import { LoadGenerator } from "../load/generator.ts";
import type { Job } from "../load/job.ts";

export interface Server {
  readonly port: number;
  readonly pid: number;
  /** True for a yardstick, which knows no peers. */
  readonly bare: boolean;
  /** Backend in the peers' `connect` frames. */
  readonly backend?: string;
  readonly acknowledges?: boolean;
}

export class Servers implements AsyncDisposable {
  readonly ours: Server;
  /** Stores a row for each message. */
  readonly durable: Server;
  /** Stores nothing. */
  readonly bare: Server;
  /** The daemon's state directory. */
  readonly state: string;
  readonly #load: LoadGenerator;
  readonly #resources: AsyncDisposableStack;

  private constructor(
    servers: Pick<Servers, "ours" | "durable" | "bare" | "state">,
    load: LoadGenerator,
    resources: AsyncDisposableStack,
  ) {
    this.ours = servers.ours;
    this.durable = servers.durable;
    this.bare = servers.bare;
    this.state = servers.state;
    this.#load = load;
    this.#resources = resources;
  }

  static async start(): Promise<Servers> {
    await using started = new AsyncDisposableStack();
    const state = started.use(temporary());
    const yardstick = async (...args: string[]): Promise<Server> => {
      const script = started.use(await Script.start<{ port: number }>("servers/bare.ts", ...args));
      return { port: script.report.port, pid: script.pid, bare: true };
    };
    const { port, pid } = started.use(await RealDaemon.start(state.path));
    const servers = {
      ours: { port, pid, bare: false },
      durable: await yardstick(`${state.path}/durable.db`),
      bare: await yardstick(),
      state: state.path,
    };
    const load = started.use(await LoadGenerator.start());
    return new Servers(servers, load, started.move());
  }

  async measure<T>(server: Server, job: Partial<Job>): Promise<T> {
    const { port, pid, bare, backend, acknowledges } = server;
    return await this.#load.run<T>({ ...job, port, pid, bare, backend, acknowledges });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}
