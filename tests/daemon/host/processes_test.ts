/** Facts about processes, and how processes are ended. */

import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import { FakeClock } from "../../support/clock.ts";
import {
  argumentsOf,
  commandOf,
  foregroundOf,
  groupOf,
  isAlive,
  isDescendant,
  isGone,
  isStopped,
  parentOf,
  type ProcessControl,
  receivedBytes,
  type SignalResult,
  startTimeOf,
  terminate,
  type Termination,
} from "../../../daemon/host/processes.ts";
import { LivenessCache } from "../../../daemon/host/liveness_cache.ts";
import { until, withTmux } from "../../support/host/private_tmux.ts";
import { unlessMissing } from "kit/host/file_errors.ts";

/** A pid that no Linux or macOS kernel assigns. */
const UNUSED_PID = 2 ** 30;

function sleeper(): Deno.ChildProcess {
  return new Deno.Command("sleep", { args: ["1000"] }).spawn();
}

async function end(child: Deno.ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await child.status;
}

Deno.test("a process is alive if pid and start time match, not by the pid alone", async () => {
  const child = sleeper();
  const started = startTimeOf(child.pid);
  assert.ok(started);
  assert.equal(isAlive(child.pid, started), true);
  assert.equal(isAlive(child.pid), true);
  assert.equal(isAlive(child.pid, "1"), false);
  await end(child);
  assert.equal(isAlive(child.pid, started), false);
  assert.equal(startTimeOf(child.pid), undefined);
});

Deno.test("LivenessCache reports a process alive for as long as it lives", async () => {
  using livenessCache = new LivenessCache();
  const child = sleeper();
  const started = startTimeOf(child.pid);
  for (let look = 0; look < 3; look++) {
    assert.equal(livenessCache.isAlive(child.pid, started), true);
    assert.equal(livenessCache.isAlive(child.pid, "1"), false);
  }
  child.kill("SIGSTOP");
  assert.equal(livenessCache.isAlive(child.pid, started), true);
  await end(child);
  for (let look = 0; look < 3; look++) {
    assert.equal(livenessCache.isAlive(child.pid, started), false);
  }
  for (const pid of [UNUSED_PID, 0, -1, 1.5, NaN]) assert.equal(livenessCache.isAlive(pid), false);
});

Deno.test("LivenessCache reports the parent and the start of a process, also after its parent has ended", async () => {
  using livenessCache = new LivenessCache();
  const above = new Deno.Command("sh", {
    args: ["-c", "sh -c 'sleep 1000 & echo $!; exec sleep 1000' & wait"],
    stdout: "piped",
  }).spawn();
  const reader = above.stdout.getReader();
  const { value } = await reader.read();
  const pid = Number(new TextDecoder().decode(value));
  const parent = parentOf(pid) ?? 0;
  for (let look = 0; look < 3; look++) {
    assert.equal(livenessCache.parentOf(pid), parent);
    assert.equal(livenessCache.parentOf(parent), above.pid);
    assert.equal(livenessCache.startTimeOf(pid), startTimeOf(pid));
  }
  Deno.kill(parent, "SIGKILL");
  await until("another parent", () => parentOf(pid) !== parent);
  assert.equal(livenessCache.parentOf(pid), parentOf(pid));
  Deno.kill(pid, "SIGKILL");
  await until("its end", () => !isAlive(pid));
  for (const gone of [UNUSED_PID, 0, -1]) {
    assert.equal(livenessCache.parentOf(gone), undefined);
    assert.equal(livenessCache.startTimeOf(gone), undefined);
  }
  await above.status;
  await reader.cancel();
});

Deno.test("a zombie is not alive", async () => {
  using livenessCache = new LivenessCache();
  const parent = new Deno.Command("sh", {
    args: ["-c", "sleep 1000 & echo $!; exec sleep 1000"],
    stdout: "piped",
  }).spawn();
  const reader = parent.stdout.getReader();
  const { value } = await reader.read();
  const pid = Number(new TextDecoder().decode(value));
  assert.equal(livenessCache.isAlive(pid), true);
  Deno.kill(pid, "SIGKILL");
  await until("its end", () => !isAlive(pid));
  assert.equal(livenessCache.isAlive(pid), false);
  await end(parent);
  await reader.cancel();
});

Deno.test("LivenessCache keeps no more files open than its limit, however many processes are checked", async () => {
  const livenessCache = new LivenessCache(2);
  const children = [sleeper(), sleeper(), sleeper()];
  // Other files may be opened meanwhile: only the children's count.
  const paths = new Set(children.map(({ pid }) => `/proc/${pid}/statm`));
  const open = () =>
    Array.from(Deno.readDirSync("/proc/self/fd"))
      .filter(({ name }) =>
        paths.has(unlessMissing(() => Deno.readLinkSync(`/proc/self/fd/${name}`)) ?? "")
      ).length;
  const before = open();
  for (const { pid } of [...children, ...children]) {
    assert.equal(livenessCache.isAlive(pid, startTimeOf(pid)), true);
    assert.ok(open() - before <= 2);
  }
  assert.ok(open() > before);
  livenessCache[Symbol.dispose]();
  assert.equal(open(), before);
  await Promise.all(children.map(end));
});

Deno.test({
  name: "LivenessCache closes the files of processes that have ended",
  ignore: Deno.build.os !== "linux",
  async fn() {
    using cache = new LivenessCache();
    const open = () =>
      [...Deno.readDirSync("/proc/self/fd")].filter(({ name }) =>
        unlessMissing(() => Deno.readLinkSync(`/proc/self/fd/${name}`))?.endsWith("/statm")
      ).length;
    for (let count = 0; count < 12; count++) {
      const child = sleeper();
      assert.ok(cache.startTimeOf(child.pid));
      await end(child);
    }
    assert.ok(open() <= 3, `${open()} files are open`);
  },
});

Deno.test({
  name: "a process receives what others send it, and its own children's output does not count",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const script = [
      "exec 3< <(printf '%020000d' 0; kill -STOP $BASHPID)",
      ...["read -N 20000 -u 3", "echo read"],
      ...["read -N 20000", "echo read", "read", "kill -KILL $!; wait $!"],
    ].join("; ");
    const child = new Deno.Command("bash", {
      args: ["-c", script],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const output = child.stdout.getReader(), input = child.stdin.getWriter();
    await output.read();
    const before = receivedBytes(child.pid) ?? NaN;
    assert.ok(before < 20_000, `${before} bytes, of a child`);
    await input.write(new Uint8Array(20_000).fill(97));
    await output.read();
    const received = (receivedBytes(child.pid) ?? NaN) - before;
    assert.ok(received >= 20_000 && received < 21_000, `${received} bytes`);
    await input.close();
    await Promise.all([output.cancel(), child.status]);
  },
});

Deno.test("nothing is known about a pid that is unused or invalid", () => {
  for (const pid of [UNUSED_PID, 0, -1, 1.5, NaN]) {
    assert.equal(isAlive(pid), false);
    assert.equal(startTimeOf(pid), undefined);
    assert.equal(parentOf(pid), undefined);
    assert.equal(commandOf(pid), undefined);
    assert.equal(argumentsOf(pid), undefined);
    assert.equal(receivedBytes(pid), undefined);
    assert.equal(foregroundOf(pid), undefined);
    assert.equal(isDescendant(pid, Deno.pid), false);
  }
});

Deno.test("a process that ends while its files are read is gone, and no error", () => {
  for (const detail of ["", ": readfile '/proc/24705/stat'"]) {
    assert.equal(isGone(new Error(`No such process (os error 3)${detail}`)), true);
  }
  assert.equal(
    isGone(new Error("Input/output error (os error 5): readfile '/proc/3/stat'")),
    false,
  );
});

Deno.test("a child descends from its parent and from itself, and not the other way round", async () => {
  const child = sleeper();
  assert.equal(parentOf(child.pid), Deno.pid);
  assert.equal(isDescendant(child.pid, Deno.pid), true);
  assert.equal(isDescendant(child.pid, child.pid), true);
  assert.equal(isDescendant(Deno.pid, child.pid), false);
  await end(child);
});

Deno.test("a name with brackets and spaces does not shift the fields", async () => {
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

Deno.test("a stopped process is alive, and reported as stopped", async () => {
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

/** A fake process; `ends` lists the signals that end it. */
function fakeProcess(ends: readonly string[], sent: SignalResult = "sent") {
  const state = { alive: true, signals: [] as string[] };
  const processes: ProcessControl = {
    isAlive: () => state.alive,
    signal: (_pid, name) => {
      state.signals.push(name);
      if (ends.includes(name)) state.alive = false;
      return sent;
    },
  };
  return { state, processes };
}

const CASES: [what: string, ends: readonly string[], expected: Termination, sent: string[]][] = [
  ["that obeys SIGTERM", ["SIGTERM"], "SIGTERM", ["SIGTERM"]],
  ["that ignores SIGTERM", ["SIGKILL"], "SIGKILL", ["SIGTERM", "SIGKILL"]],
  ["that survives both", [], "alive", ["SIGTERM", "SIGKILL"]],
];

for (const [what, ends, expected, sent] of CASES) {
  Deno.test(`terminate returns "${expected}" for a process ${what}`, async () => {
    const clock = new FakeClock();
    const { state, processes } = fakeProcess(ends);
    const ending = terminate({ pid: 7, started: "1" }, {
      term_ms: 5_000,
      kill_ms: 2_000,
      clock,
      processes,
    });
    assert.deepEqual(state.signals, ["SIGTERM"]);
    await clock.advance(7_000);
    assert.deepEqual([await ending, state.signals], [expected, sent]);
  });
}

Deno.test("terminate sends SIGKILL only after SIGTERM had its time, and only with kill_ms", async () => {
  const clock = new FakeClock();
  const { state, processes } = fakeProcess(["SIGKILL"]);
  const process = { pid: 7, started: "1" };
  const patient = terminate(process, { term_ms: 5_000, clock, processes });
  await clock.advance(60_000);
  assert.deepEqual([await patient, state.signals], ["alive", ["SIGTERM"]]);
  const forced = terminate(process, { term_ms: 5_000, kill_ms: 1, clock, processes });
  await clock.advance(4_900);
  assert.deepEqual(state.signals, ["SIGTERM", "SIGTERM"]);
  await clock.advance(100);
  assert.deepEqual([await forced, state.signals.at(-1)], ["SIGKILL", "SIGKILL"]);
});

Deno.test("terminate reports a process of another user, and one that is gone", async () => {
  const clock = new FakeClock();
  const { state, processes } = fakeProcess([], "forbidden");
  const limits = { term_ms: 5_000, kill_ms: 2_000, clock, processes };
  assert.equal(await terminate({ pid: 7, started: "1" }, limits), "forbidden");
  state.alive = false;
  assert.equal(await terminate({ pid: 7, started: "1" }, limits), "gone");
  assert.deepEqual(state.signals, ["SIGTERM"]);
});

Deno.test("an abort leaves the process running, and sends no further signal", async () => {
  const clock = new FakeClock();
  const { state, processes } = fakeProcess(["SIGKILL"]);
  const ending = new AbortController();
  const limits = { term_ms: 5_000, kill_ms: 2_000, clock, processes, signal: ending.signal };
  const terminating = terminate({ pid: 7, started: "1" }, limits);
  ending.abort();
  assert.deepEqual([await terminating, state.signals], ["alive", ["SIGTERM"]]);
});

Deno.test("terminate ends a real process, and never a later process with the same pid", async () => {
  const child = sleeper();
  const { pid } = child;
  const started = startTimeOf(pid) ?? assert.fail("it runs");
  const how = { term_ms: 60_000, kill_ms: 60_000, clock: systemClock };
  assert.equal(await terminate({ pid, started: "1" }, how), "gone");
  assert.equal(isAlive(pid, started), true);
  assert.equal(await terminate({ pid, started }, how), "SIGTERM");
  assert.equal((await child.status).signal, "SIGTERM");
});
