/** A view of the whole screen: what it writes, and how it gives the terminal back. */

import assert from "node:assert/strict";
import { type Frame, Screen } from "../../../cli/screen/screen.ts";
import { capturedTerminal } from "../../support/cli/captured_output.ts";
import { FakeScreen } from "../../support/cli/fake_screen.ts";
import { FakeClock } from "../../support/clock.ts";

function fixture() {
  const fake = new FakeScreen(20, 3);
  const clock = new FakeClock();
  const shown = { lines: ["one", "two"], valid_ms: undefined as number | undefined, draws: 0 };
  const { terminal: { device } } = capturedTerminal(fake.device);
  const render = (): Frame => {
    shown.draws++;
    const rows = shown.lines.map((text) => [{ column: 0, line: [text] }]);
    return { rows, cursor: undefined, valid_ms: shown.valid_ms };
  };
  const { screen: terminal } = fake.device;
  assert.ok(terminal);
  const open = () => new Screen(device, terminal, clock, render);
  return { fake, clock, shown, open };
}

Deno.test("only the rows that changed are written", async () => {
  const { fake, clock, shown, open } = fixture();
  using screen = open();
  await clock.advance(100);
  assert.equal(fake.text, "one\ntwo");
  fake.take();
  shown.lines = ["one", "TWO"];
  screen.invalidate();
  await clock.advance(100);
  assert.equal(fake.text, "one\nTWO");
  const written = fake.take();
  assert.match(written, /TWO/);
  assert.doesNotMatch(written, /one/);
  screen.invalidate();
  await clock.advance(100);
  assert.equal(fake.take(), "");
});

Deno.test("at most 20 frames a second are drawn, and none while nothing happens", async () => {
  const { clock, shown, open } = fixture();
  using screen = open();
  for (let at = 0; at < 100; at++) {
    screen.invalidate();
    await clock.advance(10);
  }
  assert.ok(shown.draws <= 21, `${shown.draws} draws`);
  assert.ok(shown.draws >= 19, `${shown.draws} draws`);
  await clock.advance(1000);
  const { draws } = shown;
  await clock.advance(3_600_000);
  assert.equal(shown.draws, draws);
});

Deno.test("a frame that says how long it is valid is drawn again then", async () => {
  const { clock, shown, open } = fixture();
  shown.valid_ms = 60_000;
  using _screen = open();
  await clock.advance(1000);
  const { draws } = shown;
  await clock.advance(60_000);
  assert.equal(shown.draws, draws + 1);
});

Deno.test("a new size draws everything", async () => {
  const { fake, clock, open } = fixture();
  using _screen = open();
  await clock.advance(100);
  fake.take();
  fake.size = { columns: 10, rows: 2 };
  fake.raise("SIGWINCH");
  await clock.advance(100);
  assert.match(fake.take(), /one[^]*two/);
});

Deno.test("the terminal is given back at the end, for a program, and while the process is stopped", async () => {
  const { fake, clock, open } = fixture();
  const state = () => [fake.isAlternate, fake.isRaw, fake.isCursorShown];
  const screen = open();
  await clock.advance(100);
  assert.deepEqual(state(), [true, true, false]);
  await screen.lend(() => Promise.resolve(assert.deepEqual(state(), [false, false, true])));
  assert.deepEqual(state().slice(0, 2), [true, true]);
  fake.raise("SIGTSTP");
  assert.deepEqual([...state(), fake.stops], [false, false, true, 1]);
  fake.raise("SIGCONT");
  await clock.advance(100);
  assert.deepEqual([state()[0], fake.text], [true, "one\ntwo"]);
  screen[Symbol.dispose]();
  assert.deepEqual([...state(), fake.listenerCount], [false, false, true, 0]);
  fake.take();
  await clock.advance(10_000);
  assert.equal(fake.take(), "");
});
