/** The fixture of the Slack tests: a surface between a fake Slack and a fake daemon. */

import assert from "node:assert/strict";
import { Secret } from "kit/core/settings.ts";
import type { HandledFile } from "../../../surfaces/slack/handled_messages.ts";
import { SlackSurface } from "../../../surfaces/slack/surface.ts";
import { WebApi } from "../../../surfaces/slack/web_api.ts";
import { countingIds } from "../ids.ts";
import { SwiftClock } from "../swift_clock.ts";
import { FakeMesh } from "../telegram/surface_fixture.ts";
import { APP_TOKEN, BOT_TOKEN, FakeSlack, SAM } from "./fake_slack.ts";

/** Maximum time for a surface to stop. */
const STOP_SECONDS_MAX = 10;

/** Longer than the interval of two posts. */
export const POST_MS = 1_100;

interface Parts {
  readonly clock: SwiftClock;
  readonly slack: FakeSlack;
  readonly mesh: FakeMesh;
  readonly channel: string | undefined;
  readonly file: { text: string | undefined };
  readonly printed: string[];
  readonly ids: ReturnType<typeof countingIds>;
}

function createSurface({ clock, slack, mesh, channel, file, printed, ids }: Parts): SlackSurface {
  const handledFile: HandledFile = {
    read: () => file.text,
    write: (text) => void (file.text = text),
  };
  const api = new WebApi({
    base: "http://slack.test/api",
    app_token: new Secret(APP_TOKEN),
    bot_token: new Secret(BOT_TOKEN),
    clock,
    fetch: slack.fetch,
  });
  return new SlackSurface({
    clock,
    ids,
    api,
    user: SAM,
    channel,
    handledFile,
    call: mesh.call,
    daemon: mesh.daemon,
    connect: mesh.connect,
    connectSlack: slack.connections.connect,
    url: () => "http://daemon",
    auth_token: undefined,
    log: (what) => printed.push(what),
  });
}

/** A running surface; dispose it with `await using`. */
export async function slackFixture(
  { before = () => {}, channel, handled }: {
    before?: (parts: { slack: FakeSlack; mesh: FakeMesh; clock: SwiftClock }) => void;
    channel?: string;
    /** The file of an earlier run. */
    handled?: string;
  } = {},
) {
  const clock = new SwiftClock();
  const slack = new FakeSlack(clock), mesh = new FakeMesh(clock, "slack");
  const printed: string[] = [];
  before({ slack, mesh, clock });
  const file = { text: handled };
  const ids = countingIds();
  const surface = () => createSurface({ clock, slack, mesh, channel, file, printed, ids });
  let stop = new AbortController();
  let running = surface().run(stop.signal);
  // `ended()` reports a failure; this only prevents an unhandled rejection.
  running.catch(() => {});
  const settle = async () => {
    for (let turn = 0; turn < 5; turn++) await clock.settle();
  };
  const end = async () => {
    let isOver = false;
    const over = running.finally(() => isOver = true);
    over.catch(() => {});
    stop.abort(new Error("Over"));
    for (let seconds = 0; seconds < STOP_SECONDS_MAX && !isOver; seconds++) {
      await settle();
      if (!isOver) await clock.advance(1_000);
    }
    assert.ok(isOver, "the surface does not stop");
    await over;
  };
  await settle();
  return {
    clock,
    slack,
    mesh,
    printed,
    file,
    settle,
    end,
    /** Resolves or rejects when the run has ended. */
    ended: () => running,
    /** Starts another surface, with the file of the first. */
    async start() {
      stop = new AbortController();
      running = surface().run(stop.signal);
      running.catch(() => {});
      await settle();
    },
    async advance(ms: number) {
      await clock.advance(ms);
      await settle();
    },
    [Symbol.asyncDispose]: () => end().catch(() => {}),
  };
}
