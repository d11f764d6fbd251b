/** The relay process, from its configuration to SIGTERM. */

import { randomIds, systemClock } from "kit/core/clock.ts";
import { messageOf } from "kit/core/text.ts";
import { timeout } from "kit/core/timeout.ts";
import { acceptWebSocket } from "kit/net/frames.ts";
import { outgoingFetch } from "kit/net/outgoing/http_client.ts";
import { HttpListener, nextStopSignal, urlOf } from "kit/host/http_listener.ts";
import { jsonLog, type Log, logConsole } from "kit/core/log.ts";
import { type ConnectionListener, toConnection } from "kit/net/tunnel/connection.ts";
import { Relay } from "./relay.ts";
import { readRelayConfig } from "./config.ts";
import { lockDatabase } from "./database.ts";

/** Time for which the shutdown waits for open requests to end. */
const DRAIN_MS_MAX = 5000;

/** Runs a relay until SIGTERM or SIGINT. Returns the exit code. */
export async function runRelay(env: Readonly<Record<string, string>>): Promise<number> {
  const encoder = new TextEncoder();
  const write = (line: string) => void Deno.stderr.writeSync(encoder.encode(`${line}\n`));
  const [clock, ids, log] = [systemClock, randomIds, jsonLog(systemClock, "info", write)];
  try {
    const { host, port, proxy, oauth: oauthConfig, telemetry: options } = readRelayConfig(env);
    using _faults = catchUnhandledErrors(log);
    using _console = logConsole(log);
    using database = oauthConfig &&
      lockDatabase(oauthConfig.db_path, oauthConfig.issuer, { clock, ids, log });
    const oauth = oauthConfig && database && { ...database, issuer: oauthConfig.issuer };
    const send = outgoingFetch(env, clock.now);
    const telemetry = options &&
      new (await import("./telemetry.ts")).RelayTelemetry({ clock, ids, log, send }, options);
    await using relay = new Relay({ clock, ids, log, proxy, oauth, accept, telemetry });
    const stopSignal = nextStopSignal();
    const server = listen(relay, { host, port, log });
    log.info("The relay listens", { url: urlOf({ hostname: host, port: server.addr.port }) });
    const ticking = relay.run();
    log.info("The relay is shutting down", { signal: await stopSignal });
    relay.shutDown();
    await timeout(systemClock, DRAIN_MS_MAX, server.shutdown());
    await ticking;
    return 0;
  } catch (error) {
    log.error(messageOf(error));
    return 2;
  }
}

/** Logs unhandled errors, so that one caller's request cannot end the process. */
export function catchUnhandledErrors(log: Pick<Log, "error">): Disposable {
  const controller = new AbortController();
  const { signal } = controller;
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    log.error("Unhandled promise rejection", { error: event.reason });
  }, { signal });
  globalThis.addEventListener("error", (event) => {
    event.preventDefault();
    log.error("Unhandled error in a callback", { error: event.error });
  }, { signal });
  return { [Symbol.dispose]: () => controller.abort() };
}

/** Listens on the address. The error message is one sentence for the operator. */
function listen(
  relay: Relay,
  { host: hostname, port, log }: { host: string; port: number; log: Log },
): HttpListener {
  const handle = (request: Request, remote: Deno.NetAddr) => relay.fetch(request, remote);
  const onError = (error: unknown) => relay.onError(error);
  try {
    return new HttpListener({ hostname, port, clock: systemClock, log, handle, onError });
  } catch (error) {
    const why = messageOf(error);
    throw new Error(
      `Cannot listen on ${hostname}, port ${port}: ${why}; see RELAY_HOST and RELAY_PORT`,
      { cause: error },
    );
  }
}

export function accept(request: Request, listener: ConnectionListener) {
  const { socket, response } = acceptWebSocket(request);
  return { response, connection: toConnection(socket, listener) };
}
