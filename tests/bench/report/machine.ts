/** The machine that the bench runs on, and what else it does meanwhile. */

/** Above this many busy processors before a part, its figures are not those of a quiet machine. */
export const LOAD_MAX = 0.5;
const WATCH_MS = 2_000;

export interface Machine {
  readonly cores: number;
  readonly model: string;
  readonly memory_gb: number;
  readonly system: string;
  readonly deno: string;
  readonly v8: string;
  readonly commit: string;
  /** The kernel's load averages over 1, 5 and 15 minutes when the bench started. */
  readonly load: readonly number[];
}

/** Times of the machine's processors, in ticks. */
export interface ProcessorTicks {
  readonly total: number;
  readonly idle: number;
  /** Taken by other virtual machines of the same host. */
  readonly stolen: number;
}

export function machineNow(): Machine {
  const { deno, v8 } = Deno.version;
  return {
    cores: navigator.hardwareConcurrency,
    model: /model name\s*: (.*)/.exec(readOrEmpty("/proc/cpuinfo"))?.[1] ?? Deno.build.arch,
    memory_gb: Math.round(Deno.systemMemoryInfo().total / 2 ** 30),
    system: `${Deno.build.os} ${Deno.osRelease()}`,
    deno,
    v8,
    commit: commitNow(),
    load: Deno.loadavg(),
  };
}

export function machineLines({ cores, model, memory_gb, system, ...rest }: Machine): string[] {
  const load = rest.load.map((value) => value.toFixed(2)).join(", ");
  return [
    `${cores} cores, ${model}, ${memory_gb} GB, ${system}`,
    `Deno ${rest.deno}, V8 ${rest.v8}, commit ${rest.commit}, load at the start ${load}`,
  ];
}

/**
 * Number of processors that are busy now. The kernel's load average would still count the part of
 * the bench that ended a moment ago.
 */
export async function busyProcessors(): Promise<number> {
  const before = processorTicks();
  await new Promise((resolve) => setTimeout(resolve, WATCH_MS));
  const after = processorTicks();
  const idle = (after.idle - before.idle) / (after.total - before.total || 1);
  return (1 - idle) * navigator.hardwareConcurrency;
}

/** The share of the time since then in which the host gave our processors to others, in percent. */
export function stolenPercent(before: ProcessorTicks): number {
  const after = processorTicks();
  return 100 * (after.stolen - before.stolen) / (after.total - before.total || 1);
}

export function processorTicks(): ProcessorTicks {
  const [line = ""] = readOrEmpty("/proc/stat").split("\n");
  // user, nice, system, idle, waiting for disks, interrupts, soft interrupts, stolen
  const ticks = line.trim().split(/\s+/).slice(1, 9).map(Number);
  const [, , , idle = 0, waiting = 0, , , stolen = 0] = ticks;
  return { total: ticks.reduce((sum, part) => sum + part, 0), idle: idle + waiting, stolen };
}

function commitNow(): string {
  const git = (...args: string[]) => {
    const command = new Deno.Command("git", { args, cwd: import.meta.dirname ?? "." });
    const { success, stdout } = command.outputSync();
    return success ? new TextDecoder().decode(stdout).trim() : "unknown";
  };
  const isChanged = git("status", "--porcelain", "--untracked-files=no") !== "";
  return git("rev-parse", "--short", "HEAD") + (isChanged ? " with changes" : "");
}

function readOrEmpty(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}
