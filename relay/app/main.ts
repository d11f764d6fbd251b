/** The relay as a process, from its configuration to SIGTERM. */

import { randomIds, systemClock } from "kit/core/clock.ts";
import { messageOf } from "kit/core/text.ts";
import { timeout } from "kit/core/timeout.ts";
import { socketOf } from "kit/net/frames.ts";
import { Listening } from "kit/host/listening.ts";
import { jsonLog, type Log } from "kit/core/log.ts";
import { type Ears, lineOn } from "kit/net/tunnel/connection.ts";
import { urlOf } from "../web/issuer.ts";
import { Relay } from "./relay.ts";
import { readRelayConfig } from "./config.ts";
import { holdDatabase } from "./database.ts";

/** How long requests that are under way may take to end once we go down. */
const DRAIN_MS_MAX = 5000;

/** Runs a relay until SIGTERM or SIGINT; the exit code of the process. */
export async function runRelay(env: Readonly<Record<string, string>>): Promise<number> {
  const encoder = new TextEncoder();
  const write = (line: string) => void Deno.stderr.writeSync(encoder.encode(`${line}\n`));
  const [clock, ids, log] = [systemClock, randomIds, jsonLog(systemClock, "info", write)];
  try {
    const { host, port, proxy, oauth: named } = readRelayConfig(env);
    using _faults = outlive(log);
    using held = named && holdDatabase(named.db_path, named.issuer, log);
    const oauth = named && held && { issuer: named.issuer, db: held.db };
    await using relay = new Relay({ clock, ids, log, proxy, oauth, accept });
    const told = signals();
    const server = listen(relay, { host, port, log });
    log.info("The relay listens", { url: urlOf(host, server.addr.port) });
    const beating = relay.run();
    log.info("The relay goes down", { signal: await told });
    relay.goDown();
    await timeout(systemClock, DRAIN_MS_MAX, server.shutdown());
    await beating;
    return 0;
  } catch (fault) {
    write(messageOf(fault));
    return 2;
  }
}

/** What one caller brings about ends no process that serves others: a fault, told in the log. */
export function outlive(log: Pick<Log, "error">): Disposable {
  const ends = new AbortController();
  const { signal } = ends;
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    log.error("A promise failed, and nobody waited for it", { fault: event.reason });
  }, { signal });
  globalThis.addEventListener("error", (event) => {
    event.preventDefault();
    log.error("A callback failed", { fault: event.error });
  }, { signal });
  return { [Symbol.dispose]: () => ends.abort() };
}

/** Listens, or says in one sentence why that cannot be. */
function listen(
  relay: Relay,
  { host: hostname, port, log }: { host: string; port: number; log: Log },
): Listening {
  const handle = (request: Request, remote: Deno.NetAddr) => relay.fetch(request, remote);
  const broke = (fault: unknown) => relay.broke(fault);
  try {
    return new Listening({ hostname, port, clock: systemClock, log, handle, broke });
  } catch (fault) {
    const why = messageOf(fault);
    throw new Error(
      `Cannot listen on ${hostname}, port ${port}: ${why}; see RELAY_HOST and RELAY_PORT`,
      { cause: fault },
    );
  }
}

export function accept(request: Request, ears: Ears) {
  const { socket, response } = socketOf(request);
  return { response, line: lineOn(socket, ears) };
}

function signals(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      Deno.addSignalListener(signal, () => resolve(signal));
    }
  });
}
