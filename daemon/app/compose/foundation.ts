/** Builds what every feature uses: the database, the daemon's identity and keys. */

import { MissingPanes } from "../../features/agents/missing_panes.ts";
import { DAY_MS } from "kit/core/duration.ts";
import { EventLog } from "../../data/event_log.ts";
import { BackgroundWork } from "kit/core/background.ts";
import type { Context } from "../../data/context.ts";
import { copyBeforeMigration, copyFor } from "kit/host/migration_copies.ts";
import { Database } from "kit/data/sqlite.ts";
import { toHeaders, tracesUrl } from "kit/telemetry/collector.ts";
import { Meters } from "../../api/events/metrics.ts";
import type { Telemetry } from "../../api/telemetry/telemetry.ts";
import { Certificates } from "../../features/peers/identity/certificates.ts";
import type { Config } from "../config.ts";
import { Effects } from "../effects.ts";
import { readIdentity } from "../identity.ts";
import { Ports } from "../ports.ts";
import { migrations } from "../migrations/migrations.ts";
import type { Platform } from "../platform.ts";

export type Foundation = ReturnType<typeof openFoundation>;

export function openFoundation(config: Config, db_path: string, platform: Platform) {
  const { clock, ids, log } = platform;
  const db = new Database(db_path, migrations, log, clock, {
    copy: copyBeforeMigration,
    adviceFor(path, supported) {
      const copy = copyFor(path, supported);
      if (!copy) return "";
      return `, or go back to the copy with version ${copy.version}: mesh restore "${copy.path}"`;
    },
  });
  const events = new EventLog(db, clock, ids, log);
  const ctx: Context = { db, events, clock, ids, log, background: new BackgroundWork(log) };
  const identity = readIdentity(db, ids);
  const idCodec = platform.idCodec(identity.number_key);
  db.define("seq_of", (ident) => idCodec.seq(String(ident)));
  const certificates = new Certificates(identity.certificate_key, clock);
  const shutdown = new AbortController();
  return {
    effects: new Effects(),
    ports: new Ports({ ctx, db, terminals: platform.terminals }),
    config,
    platform,
    ctx,
    identity,
    idCodec,
    certificates,
    meters: new Meters(clock),
    missingPanes: new MissingPanes(platform.paneObserver),
    shutdown,
    shutdownSignal: shutdown.signal,
    history_ms: config["daemon.history_days"] * DAY_MS,
  };
}

/** Undefined without a collector of traces. */
export function openTraces({ config, ctx, identity, platform }: Foundation): Telemetry | undefined {
  const { "telemetry.otlp": otlp, "telemetry.headers": headers } = config;
  if (otlp === undefined || !platform.openTelemetry) return undefined;
  const options = {
    url: tracesUrl(otlp),
    headers: toHeaders(headers?.reveal() ?? ""),
    ratio: config["telemetry.sample"],
    daemon_id: identity.daemon_id,
    send: platform.send,
  };
  return platform.openTelemetry(ctx, options);
}
