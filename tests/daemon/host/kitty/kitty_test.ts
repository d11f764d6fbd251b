/** Commands to kitty, the meaning of its answers, and the outcome without an answer. */

import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import type { PaneGuard } from "../../../../daemon/host/terminal_server.ts";
import type { Keystroke } from "protocol/agents/keys.ts";
import { COMMANDS_MAX, KITTIES_MAX, KittyServers } from "../../../../daemon/host/kitty/kitty.ts";
import {
  ANSWER_BYTES_MAX,
  COMMAND_BYTES_MAX,
} from "../../../../daemon/host/kitty/remote_control.ts";
import {
  type Answer,
  answerOf,
  FakeKitty,
  kittyWindow,
  pack,
  refusalOf,
} from "../../../support/host/fake_kitty.ts";
import { paneRecord } from "../../../support/host/fake_panes.ts";
import { silent } from "../../../support/host/private_tmux.ts";
import { until } from "../../../support/waiting.ts";

const GUARD: PaneGuard = {
  pane: paneRecord({ pane_id: "3", pane_pid: 7, cursor_x: 2, cursor_y: 1 }),
  foreground: 9,
  dialog: { pattern: "Esc to cancel", row: 0 },
  cursor_row: "> ",
};

function serverOf(fake: FakeKitty, { log = silent, answer_ms_max = 5_000 } = {}) {
  const options = { clock: systemClock, log, state_dir: `${fake.dir}/kitten`, answer_ms_max };
  return new KittyServers(options).at(fake.address);
}

async function typeKeys(fake: FakeKitty, keys: readonly Keystroke[], guard = GUARD) {
  const ready = await serverOf(fake).prepare(keys);
  assert.ok(ready.ok);
  return await ready.prepared.typeIf(guard);
}

Deno.test("kitty's windows are panes, each with its process and its cursor", async () => {
  await using fake = new FakeKitty();
  const listed = await serverOf(fake).panes();
  assert.ok(listed.ok);
  assert.partialDeepStrictEqual(listed.panes, [
    { pane_id: "3", pane_pid: Deno.pid, cursor_x: 2, cursor_y: 0, session: "", cwd: "/work" },
  ]);
  const [command] = fake.received;
  assert.deepEqual([command?.cmd, command?.version], ["kitten", [0, 26, 0]]);
  assert.match(Deno.readTextFileSync(command?.payload.kitten ?? ""), /def handle_result/);
  const file = Deno.statSync(command?.payload.kitten ?? "");
  assert.equal((file.mode ?? 0) & 0o777, 0o600);
  assert.equal((Deno.statSync(`${fake.dir}/kitten`).mode ?? 0) & 0o777, 0o700);
});

Deno.test("rows have their colours as tmux writes them, and end without any", async () => {
  await using fake = new FakeKitty();
  const rows = ["plain", "\x1b[1;2mfaint\x1b[222;221mnot\x1b[38:2:1:2:3mred"];
  fake.answer = () => answerOf({ windows: [kittyWindow({ rows, above: ["older"] })] });
  assert.deepEqual(await serverOf(fake).capture("3", 60), {
    ok: true,
    lines: ["older", "plain", "\x1b[1;2mfaint\x1b[22;22mnot\x1b[38:2:1:2:3mred\x1b[0m"],
  });
  assert.deepEqual(fake.orders, [{ do: "read", window: 3, rows: true, above: 60 }]);
});

Deno.test("keys go to kitty with all that must not have changed", async () => {
  await using fake = new FakeKitty();
  fake.answer = () => answerOf({ typed: "done" });
  const keys: Keystroke[] = [
    { text: "a" },
    { paste: "b\nc" },
    { key: "Enter" },
    { key: "BackTab" },
    { key: "Ctrl-c" },
  ];
  assert.equal(await typeKeys(fake, keys), "done");
  assert.deepEqual(fake.orders, [{
    do: "type",
    window: 3,
    pid: 7,
    foreground: 9,
    dialog: { pattern: "Esc to cancel", row: 0 },
    shown: null,
    cursor: { x: 2, y: 1, row: "> " },
    keys: [
      { text: "a" },
      { paste: "b\nc" },
      { key: "ENTER", shift: false, control: false },
      { key: "TAB", shift: true, control: false },
      { key: "c", shift: false, control: true },
    ],
  }]);
  fake.answer = () => answerOf({ typed: "unmarked" });
  assert.equal(await typeKeys(fake, keys, { ...GUARD, cursor_row: undefined }), "unmarked");
  assert.partialDeepStrictEqual(fake.orders.at(-1), { cursor: null });
});

/** Failed answers to a paste, and its outcome: `lost` if the paste may have been typed. */
const FAILURES: Record<string, [Answer, string]> = {
  "a refusal": [refusalOf("Remote control is disabled"), "error"],
  "no answer": [undefined, "lost"],
  "half an answer": [pack("{}").slice(0, 9), "lost"],
  "the answer of another program": [pack("[1]"), "lost"],
  "an answer of another kitten": [answerOf({ typed: "perhaps" }), "lost"],
  "an answer without text": [pack('{"ok":true}'), "lost"],
  "an answer that is too long": [new Uint8Array(ANSWER_BYTES_MAX + 1), "lost"],
};

for (const [what, [answer, reason]] of Object.entries(FAILURES)) {
  Deno.test(`after ${what}, typing has failed with ${reason}`, async () => {
    await using fake = new FakeKitty();
    fake.answer = () => answer;
    assert.partialDeepStrictEqual(await typeKeys(fake, [{ text: "x" }]), { ok: false, reason });
  });
}

Deno.test("a kitty that does not answer in time has failed, and the next command works", async () => {
  await using fake = new FakeKitty();
  fake.answer = () => null;
  const server = serverOf(fake, { answer_ms_max: 20 });
  assert.partialDeepStrictEqual(await server.panes(), { ok: false, reason: "timeout" });
  fake.answer = () => answerOf({ windows: [] });
  assert.deepEqual(await server.panes(), { ok: true, panes: [] });
});

Deno.test("a kitty that has ended is no_server, and so is a socket that never was", async () => {
  await using fake = new FakeKitty();
  const server = serverOf(fake);
  assert.ok((await server.panes()).ok);
  fake.close();
  await until("its end", async () => {
    const listed = await server.panes();
    return !listed.ok && listed.reason === "no_server";
  });
  const options = { clock: systemClock, log: silent, state_dir: `${fake.dir}/kitten` };
  const never = new KittyServers(options).at(`kitty:${fake.dir}/never`);
  assert.partialDeepStrictEqual(await never.panes(), { ok: false, reason: "no_server" });
});

Deno.test("a socket in a folder that others may write to is not connected to", async () => {
  await using fake = new FakeKitty();
  Deno.chmodSync(fake.dir, 0o777);
  assert.partialDeepStrictEqual(await serverOf(fake).panes(), { ok: false, reason: "untrusted" });
  assert.deepEqual(fake.received, []);
});

Deno.test("a refusal of kitty is logged once, and again when it has another reason", async () => {
  await using fake = new FakeKitty();
  const logged: unknown[] = [];
  const log: Log = { ...silent, warn: (_, facts) => void logged.push(facts?.["reason"]) };
  const server = serverOf(fake, { log });
  fake.answer = () => refusalOf("Remote control is disabled");
  for (let read = 0; read < 3; read++) await server.panes();
  fake.answer = () => refusalOf("The kitty client is newer than this kitty instance");
  await server.panes();
  assert.deepEqual(logged, [
    "Remote control is disabled",
    "The kitty client is newer than this kitty instance",
  ]);
});

Deno.test("the program for kitty is written again when it is gone, or the failure is no_file", async () => {
  await using fake = new FakeKitty();
  const server = serverOf(fake);
  assert.ok((await server.panes()).ok);
  const [file = ""] = fake.received.map(({ payload }) => payload.kitten);
  Deno.removeSync(file);
  assert.ok((await server.panes()).ok);
  assert.ok(Deno.statSync(file).isFile);
  Deno.removeSync(`${fake.dir}/kitten`, { recursive: true });
  Deno.writeTextFileSync(`${fake.dir}/kitten`, "");
  assert.partialDeepStrictEqual(await server.panes(), { ok: false, reason: "no_file" });
});

Deno.test("a command that is too long for kitty is not sent", async () => {
  await using fake = new FakeKitty();
  const long = [{ text: "x".repeat(COMMAND_BYTES_MAX) }];
  assert.partialDeepStrictEqual(await typeKeys(fake, long), { ok: false, reason: "queue_full" });
  assert.deepEqual(fake.received, []);
});

Deno.test(`${COMMANDS_MAX} commands of one kitty may wait, and no more`, async () => {
  await using fake = new FakeKitty();
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  fake.answer = async () => {
    await gate;
    return answerOf({ windows: [] });
  };
  const server = serverOf(fake);
  const waiting = Array.from({ length: COMMANDS_MAX }, () => server.panes());
  assert.partialDeepStrictEqual(await server.panes(), { ok: false, reason: "queue_full" });
  open();
  assert.ok((await Promise.all(waiting)).every(({ ok }) => ok));
});

Deno.test(`at most ${KITTIES_MAX} kitty processes are known, and one in use is kept`, async () => {
  const options = { clock: systemClock, log: silent, state_dir: "/none" };
  const servers = new KittyServers(options);
  const used = Array.from({ length: KITTIES_MAX }, (_, at) => servers.at(`kitty:/none/${at}`));
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const working = used.map((server) => server.runExclusive("1", () => gate));
  const more = servers.at("kitty:/none/more");
  assert.partialDeepStrictEqual(await more.panes(), { ok: false, reason: "closed" });
  open();
  await Promise.all(working);
  const missing = await servers.at("kitty:/none/more").panes();
  assert.partialDeepStrictEqual(missing, { ok: false, reason: "no_server" });
  assert.equal(servers.size, KITTIES_MAX);
});
