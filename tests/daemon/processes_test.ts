/** Facts about processes: by start time, by tree, and by who has the terminal. */

import assert from "node:assert/strict";
import {
  argumentsOf,
  commandOf,
  foregroundOf,
  groupOf,
  isAlive,
  isDescendant,
  isStopped,
  parentOf,
  Pulses,
  startOf,
} from "../../daemon/processes.ts";
import { until, withTmux } from "./terminal.ts";

/** A pid that no Linux or macOS kernel hands out. */
const NOBODY = 2 ** 30;

function sleeper(): Deno.ChildProcess {
  return new Deno.Command("sleep", { args: ["1000"] }).spawn();
}

async function end(child: Deno.ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await child.status;
}

Deno.test("a process is alive by its pid and start time, and not by the pid alone", async () => {
  const child = sleeper();
  const started = startOf(child.pid);
  assert.ok(started);
  assert.equal(isAlive(child.pid, started), true);
  assert.equal(isAlive(child.pid), true);
  assert.equal(isAlive(child.pid, "1"), false);
  await end(child);
  assert.equal(isAlive(child.pid, started), false);
  assert.equal(startOf(child.pid), undefined);
});

Deno.test("a process that is looked at again and again is alive for as long as it is", async () => {
  using pulses = new Pulses();
  const child = sleeper();
  const started = startOf(child.pid);
  for (let look = 0; look < 3; look++) {
    assert.equal(pulses.isAlive(child.pid, started), true);
    assert.equal(pulses.isAlive(child.pid, "1"), false);
  }
  child.kill("SIGSTOP");
  assert.equal(pulses.isAlive(child.pid, started), true);
  await end(child);
  for (let look = 0; look < 3; look++) assert.equal(pulses.isAlive(child.pid, started), false);
  for (const pid of [NOBODY, 0, -1, 1.5, NaN]) assert.equal(pulses.isAlive(pid), false);
});

Deno.test("a process that has ended, and whose parent has not heard of it, is not alive", async () => {
  using pulses = new Pulses();
  const parent = new Deno.Command("sh", {
    args: ["-c", "sleep 1000 & echo $!; exec sleep 1000"],
    stdout: "piped",
  }).spawn();
  const reader = parent.stdout.getReader();
  const { value } = await reader.read();
  const pid = Number(new TextDecoder().decode(value));
  assert.equal(pulses.isAlive(pid), true);
  Deno.kill(pid, "SIGKILL");
  await until("its end", () => !isAlive(pid));
  assert.equal(pulses.isAlive(pid), false);
  await end(parent);
  await reader.cancel();
});

Deno.test("no more files are kept open than are allowed, however many processes are looked at", async () => {
  const pulses = new Pulses(2);
  const open = () => Array.from(Deno.readDirSync("/proc/self/fd")).length;
  const children = [sleeper(), sleeper(), sleeper()];
  const before = open();
  for (const { pid } of [...children, ...children]) {
    assert.equal(pulses.isAlive(pid, startOf(pid)), true);
    assert.ok(open() - before <= 2);
  }
  assert.ok(open() > before);
  pulses[Symbol.dispose]();
  assert.equal(open(), before);
  await Promise.all(children.map(end));
});

Deno.test("nothing is known of a pid that nobody has, or that is none", () => {
  for (const pid of [NOBODY, 0, -1, 1.5, NaN]) {
    assert.equal(isAlive(pid), false);
    assert.equal(startOf(pid), undefined);
    assert.equal(parentOf(pid), undefined);
    assert.equal(commandOf(pid), undefined);
    assert.equal(argumentsOf(pid), undefined);
    assert.equal(foregroundOf(pid), undefined);
    assert.equal(isDescendant(pid, Deno.pid), false);
  }
});

Deno.test("a child descends from its parent and from itself, and not the other way", async () => {
  const child = sleeper();
  assert.equal(parentOf(child.pid), Deno.pid);
  assert.equal(isDescendant(child.pid, Deno.pid), true);
  assert.equal(isDescendant(child.pid, child.pid), true);
  assert.equal(isDescendant(Deno.pid, child.pid), false);
  await end(child);
});

Deno.test("a name with brackets and blanks does not shift the fields", async () => {
  const dir = await Deno.makeTempDir();
  const program = `${dir}/a) R 1 (b`;
  await Deno.copyFile("/bin/sleep", program);
  const child = new Deno.Command(program, { args: ["1000"] }).spawn();
  await until("the program", () => argumentsOf(child.pid)?.[0] === program);
  assert.equal(commandOf(child.pid), "a) R 1 (b");
  assert.equal(parentOf(child.pid), Deno.pid);
  assert.deepEqual(argumentsOf(child.pid), [program, "1000"]);
  await end(child);
  await Deno.remove(dir, { recursive: true });
});

Deno.test("a process that is stopped is alive and says so", async () => {
  const child = sleeper();
  child.kill("SIGSTOP");
  await until("the stop", () => isStopped(child.pid));
  assert.equal(isAlive(child.pid), true);
  await end(child);
});

withTmux("the foreground of a pane is the job that has its terminal", async (terminal) => {
  const pane = terminal.start("bash --norc --noprofile");
  const shell = Number(terminal.format(pane, "#{pane_pid}"));
  await until("the prompt", () => foregroundOf(shell) === shell);
  terminal.cli("send-keys", "-t", pane, "sleep 1000", "Enter");
  const job = await until("the job", () => {
    const front = foregroundOf(shell);
    return front !== shell && front !== undefined && commandOf(front) === "sleep" && front;
  });
  assert.equal(groupOf(job), job);
  assert.equal(isDescendant(job, shell), true);
  terminal.cli("send-keys", "-t", pane, "C-z");
  await until("the shell again", () => foregroundOf(shell) === shell);
  assert.equal(isStopped(job), true);
});
