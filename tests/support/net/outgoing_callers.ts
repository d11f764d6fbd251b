/** The parts of the daemon and the CLI that send requests, each as a call of a test's server. */

import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import { Secret } from "kit/core/settings.ts";
import { SpanExporter } from "kit/telemetry/exporter.ts";
import { joinRelay } from "../../../cli/setup/relay.ts";
import { ApiCaller } from "../../../surfaces/slack/api_caller.ts";
import { BotApi } from "../../../surfaces/telegram/bot_api.ts";
import { RelayApi } from "../../../daemon/features/relay/relay_api.ts";
import { askEndpoint } from "../../../daemon/features/asks/routing/endpoint.ts";
import { silent } from "../host/private_tmux.ts";
import { temporary } from "../programs/child.ts";

const SECRET = `mesh_sk_${"e".repeat(43)}`;

/** An answer that each caller accepts. */
export const ANSWER = { ok: true, result: [], peer: "api", secret: SECRET };

export interface CallerDeps {
  /** The address of the server. */
  readonly base: string;
  readonly clock: Clock;
  readonly fetch: (request: Request) => Promise<Response>;
}

interface OutgoingCaller {
  readonly ms_max: number;
  /** Resolves if the server has answered, and rejects or resolves to false if it has not. */
  call(deps: CallerDeps): Promise<boolean>;
}

const { signal } = new AbortController();

export const CALLERS: Readonly<Record<string, OutgoingCaller>> = {
  "Telegram's long poll": {
    ms_max: 65_000,
    call: async ({ base, clock, fetch }) => {
      const bot = new BotApi({ base, clock, fetch, token: new Secret("1:t"), chat_id: "5" });
      await bot.getUpdates({ offset: undefined, seconds: 50 }, signal);
      return true;
    },
  },
  "Slack's Web API": {
    ms_max: 30_000,
    call: async ({ base, clock, fetch }) => {
      const tokens = { app_token: new Secret("xapp-1"), bot_token: new Secret("xoxb-1") };
      const api = new ApiCaller({ base, clock, fetch, ...tokens });
      return (await api.call("auth.test", z.object({ ok: z.boolean() }), { signal })).ok;
    },
  },
  "the collector of traces": {
    ms_max: 10_000,
    call: async ({ base, clock, fetch }) => {
      const logged = { ...silent, warn: () => undefined };
      const options = { clock, log: logged, url: base, headers: {}, resource: {} };
      let ended = () => {};
      const end = new Promise<void>((resolve) => ended = resolve);
      const exporter = new SpanExporter({
        ...options,
        send: (request) => fetch(request).finally(() => setTimeout(ended)),
      });
      const times = { started_at: 1, ended_at: 2 };
      const ids = { trace_id: "1".repeat(32), span_id: "2".repeat(16), parent_id: null };
      exporter.add({
        ...ids,
        ...times,
        name: "a",
        kind: "internal",
        attributes: {},
        failed: false,
      });
      exporter.tick(clock.monotonic());
      await end;
      await new Promise((resolve) => setTimeout(resolve));
      return exporter.counts.sent === 1;
    },
  },
  "a webhook": {
    ms_max: 5_000,
    call: async ({ base, clock, fetch }) => {
      const question = { text: "?", from_peer: "web", from_peer_id: null, circle: null };
      const deps = { clock, log: silent, send: fetch, signal };
      const choice = await askEndpoint(base, { ...question, candidates: [] }, deps);
      return choice.peer === "api";
    },
  },
  "the registration with a relay": {
    ms_max: 10_000,
    call: async ({ base, clock, fetch }) => {
      using dir = temporary();
      const env = { HOME: dir.path, MESH_CONFIG: `${dir.path}/config.yaml` };
      await joinRelay({ env, url: base, dry_run: false, clock, send: fetch });
      return true;
    },
  },
  "the relay's API": {
    ms_max: 15_000,
    call: async ({ base, clock, fetch }) => {
      const relay = { url: base, secret: new Secret(SECRET), daemon_id: "dm-00000000000a" };
      await new RelayApi({ clock, relay, send: fetch }).call("GET", "/api/v1/shares");
      return true;
    },
  },
};
