/** The bench's side of the load generator. */

import { Script } from "../../support/programs/child.ts";
import type { Job } from "./job.ts";

/** Peers that a job has connected stay connected until this is disposed of. */
export class LoadGenerator implements AsyncDisposable {
  readonly #script: Script<unknown>;

  private constructor(script: Script<unknown>) {
    this.#script = script;
  }

  static async start(): Promise<LoadGenerator> {
    return new LoadGenerator(await Script.start("load/load.ts"));
  }

  /** A generator whose peers are connected. */
  static async crowd(job: Partial<Job>): Promise<LoadGenerator> {
    const generator = await LoadGenerator.start();
    await generator.run({ ...job, kind: "crowd" });
    return generator;
  }

  async run<T>(job: Partial<Job>): Promise<T> {
    return await this.#script.run<T>(job);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#script[Symbol.asyncDispose]();
  }
}

/** Runs one job in a process of its own. */
export async function measure<T>(job: Partial<Job>): Promise<T> {
  await using generator = await LoadGenerator.start();
  return await generator.run<T>(job);
}
