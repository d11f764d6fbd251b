/** A disk that fails on command under a real daemon, by a library that is loaded before libc. */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { launch, RealDaemon } from "../../support/programs/child.ts";

const SOURCE = fileURLToPath(new URL("faulty_disk.c", import.meta.url));
export const FAULTS = ["full", "read_only", "broken"] as const;
export type DiskState = "sound" | typeof FAULTS[number] | `slow ${number}`;

/** Reason why no such disk is available; undefined if it is. */
export async function obstacle(): Promise<string | undefined> {
  if (Deno.build.os !== "linux") return "the library is for Linux only";
  const script = 'command -v cc && cc -fsyntax-only "$0"';
  const probe = new Deno.Command("sh", {
    args: ["-c", script, SOURCE],
    stdout: "null",
    stderr: "null",
  });
  const { success } = await probe.output();
  return success ? undefined : "no C compiler with headers; install gcc and libc6-dev";
}

export class FaultyDisk {
  readonly state: string;
  readonly #control: string;
  readonly #library: string;

  private constructor(folder: string) {
    this.state = join(folder, "state");
    this.#control = join(folder, "control");
    this.#library = join(folder, "faulty_disk.so");
  }

  /** Compiles the library; its files and the state of the daemon lie in the folder. */
  static async make(folder: string): Promise<FaultyDisk> {
    const disk = new FaultyDisk(folder);
    const args = ["-shared", "-fPIC", "-O1", "-o", disk.#library, SOURCE, "-ldl"];
    const { success, stderr } = await new Deno.Command("cc", { args }).output();
    if (!success) throw new Error(new TextDecoder().decode(stderr));
    Deno.mkdirSync(disk.state, { mode: 0o700 });
    disk.become("sound");
    return disk;
  }

  become(state: DiskState): void {
    Deno.writeTextFileSync(this.#control, state);
  }

  get log(): string {
    return Deno.readTextFileSync(join(this.state, "daemon.log"));
  }

  /** Starts a daemon whose state and log are on this disk, as `mesh up` does. */
  async start(): Promise<RealDaemon> {
    const log = join(this.state, "daemon.log");
    Deno.writeTextFileSync(log, "", { mode: 0o600 });
    const wrapper = withErrorsIn(log);
    return await RealDaemon.start(this.state, { wrapper, settings: this.#settings });
  }

  /** Starts a daemon that ends at once; returns what it says. */
  async startAndFail(): Promise<{ code: number; error: string }> {
    const errors = `${this.#control}.errors`;
    const { status } = launch(this.state, this.#settings, [], withErrorsIn(errors));
    return { code: (await status).code, error: Deno.readTextFileSync(errors) };
  }

  get #settings(): Record<string, string> {
    return {
      LD_PRELOAD: this.#library,
      DISK_DIRECTORY: this.state,
      DISK_CONTROL: this.#control,
      MESH_DAEMON__QUEUE__MAX_PER_PEER: "1000000",
    };
  }
}

/** Runs a program with its standard error in a file. */
function withErrorsIn(file: string): string[] {
  return ["sh", "-c", `exec "$@" 2>> '${file}'`, "sh"];
}
