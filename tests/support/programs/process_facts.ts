/** Facts of a process from the kernel. */

const TICK_MS = 10;

/** Resident memory, in MB. */
export function residentMb(pid: number): number {
  const status = Deno.readTextFileSync(`/proc/${pid}/status`);
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}

/** The most resident memory so far, in MB. */
export function highestResidentMb(pid: number): number {
  const status = Deno.readTextFileSync(`/proc/${pid}/status`);
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}

/** Memory that no other process uses, in MB. */
export function privateMb(pid: number): number {
  const rollup = Deno.readTextFileSync(`/proc/${pid}/smaps_rollup`);
  const kb = [...rollup.matchAll(/^Private_(?:Clean|Dirty):\s+(\d+)/gm)].map(([, size]) => size);
  return kb.reduce((sum, size) => sum + Number(size), 0) / 1024;
}

/** Its own memory and its share of shared memory, in MB. */
export function proportionalMb(pid: number): number {
  const rollup = Deno.readTextFileSync(`/proc/${pid}/smaps_rollup`);
  return Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0) / 1024;
}

/** Processor time so far, in milliseconds. */
export function cpuMs(pid: number): number {
  const fields = Deno.readTextFileSync(`/proc/${pid}/stat`).split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
