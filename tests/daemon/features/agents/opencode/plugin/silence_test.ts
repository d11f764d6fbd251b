import { FakeDaemon, FakeOpencode } from "../../../../../support/agents/fake_opencode.ts";

Deno.test("a daemon that falls silent is connected again, before and after it accepted", async () => {
  using _short = shortTimers(new Map([[65_000, 60], [10_000, 40]]));
  await using daemon = new FakeDaemon().up();
  using opencode = new FakeOpencode();
  await opencode.start(daemon);
  await daemon.turn("pending_first_turn");
  // The daemon falls silent: the plugin connects again, and once more after that.
  await daemon.handshake(1);
  const before = daemon.received.all.length;
  daemon.isMute = true;
  await daemon.handshake(before);
  await daemon.handshake(daemon.received.all.length);
  daemon.isMute = false;
  await daemon.turn("pending_first_turn", daemon.received.all.length);
});

/** Shortens timers of these lengths: the plugin runs in opencode, without an injected clock. */
function shortTimers(lengths: ReadonlyMap<number, number>): Disposable {
  const original = globalThis.setTimeout;
  const replaced = (work: () => void, ms = 0) => original(work, lengths.get(ms) ?? ms);
  globalThis.setTimeout = replaced as typeof setTimeout;
  return { [Symbol.dispose]: () => void (globalThis.setTimeout = original) };
}
