/** A daemon under measurement: its operations over HTTP, while another process sends messages. */

import { RealDaemon } from "../../../support/programs/child.ts";
import { LoadGenerator } from "../../load/generator.ts";
import type { ProbeResult } from "../../load/probe.ts";
import { medianOf } from "../../report/figures.ts";

/** After an operation, so that a delivery that it delayed is part of its round. */
const AFTER_MS = 3;

export class ProbedDaemon implements AsyncDisposable {
  readonly daemon: RealDaemon;
  readonly #load: LoadGenerator;

  private constructor(daemon: RealDaemon, load: LoadGenerator) {
    this.daemon = daemon;
    this.#load = load;
  }

  static async start(
    state: string,
    settings: Record<string, string> = {},
  ): Promise<ProbedDaemon> {
    await using started = new AsyncDisposableStack();
    const daemon = started.use(await RealDaemon.start(state, { settings }));
    const load = started.use(await LoadGenerator.start());
    started.move();
    return new ProbedDaemon(daemon, load);
  }

  /** The time of an operation, and the longest delivery meanwhile: medians of the rounds. */
  async measure(rounds: number, work: () => Promise<void>) {
    const took: number[] = [], longest: number[] = [];
    await work();
    for (let round = 0; round < rounds; round++) {
      const { ms, probed } = await this.#during(work);
      took.push(ms);
      longest.push(probed.max);
    }
    return { ms: medianOf(took), block_ms: medianOf(longest) };
  }

  /** Latency of deliveries during the work. */
  async probeDuring(work: () => Promise<void>): Promise<ProbeResult> {
    return (await this.#during(work)).probed;
  }

  async #during(work: () => Promise<void>) {
    await this.#load.run({ kind: "probe", port: this.daemon.port });
    const from = performance.now();
    await work();
    const ms = performance.now() - from;
    await new Promise((resolve) => setTimeout(resolve, AFTER_MS));
    return { ms, probed: await this.#load.run<ProbeResult>({ kind: "probed" }) };
  }

  async get(path: string): Promise<string> {
    return await textOf(await fetch(`${this.daemon.base}${path}`));
  }

  async post(path: string, body: unknown): Promise<string> {
    const headers = { "content-type": "application/json" };
    const request = { method: "POST", headers, body: JSON.stringify(body) };
    return await textOf(await fetch(`${this.daemon.base}${path}`, request));
  }

  /** The value of a metric without labels. */
  async metric(name: string): Promise<number> {
    const line = (await this.get("/metrics")).split("\n").find((text) =>
      text.startsWith(`${name} `)
    );
    return Number(line?.slice(name.length + 1));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#load[Symbol.asyncDispose]();
    await this.daemon[Symbol.asyncDispose]();
  }
}

async function textOf(response: Response): Promise<string> {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.url} answered ${response.status}: ${text}`);
  return text;
}
