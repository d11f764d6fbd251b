/** The native transport: the socket through which Claude Code sessions reach each other. */

import type { Clock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import type { Log } from "kit/core/log.ts";
import type { Reason } from "protocol/reasons.ts";
import { isStopped } from "../../../host/processes.ts";
import { checkSocket } from "../../../host/trusted_socket.ts";
import {
  type AgentPeer,
  type AgentTransport,
  type OutgoingMessage,
  type Receipt,
  refused,
  toReadiness,
} from "../adapter.ts";
import { isTestedVersion, peerToken, sessionOfPeer } from "./registry.ts";

/** Maximum time to connect, which happens at once unless the socket's owner accepts nothing. */
const CONNECT_MS_MAX = 2_000;
/** Maximum time for a write, which takes milliseconds. A full buffer means that nobody reads. */
const WRITE_MS_MAX = 5_000;
/** Maximum time until the session hangs up, which it does 30 ms after it has read the line. */
const HANG_UP_MS_MAX = 1_000;
/** The longest line. Claude Code silently drops a connection beyond 1,048,576 characters. */
const LINE_CHARS_MAX = 1_000_000;

export interface NativeOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Claude Code's configuration folders, e.g. `~/.claude`. */
  readonly config_dirs: readonly string[];
  /** The newest release that the adapter was tested with. */
  readonly tested_version: string;
}

export function createNativeTransport(options: NativeOptions): AgentTransport {
  return {
    name: "native",
    check: (peer, outgoing) => {
      const target = prepareTarget(options, peer, outgoing);
      return Promise.resolve(toReadiness(typeof target === "string" ? target : undefined));
    },
    deliver: (peer, outgoing) => deliver(options, peer, outgoing),
  };
}

interface Target {
  readonly path: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

function prepareTarget(
  { config_dirs, tested_version }: NativeOptions,
  peer: AgentPeer,
  outgoing: OutgoingMessage,
): Target | Reason {
  if (peer.agent_pid === null) return "no_process";
  const session = sessionOfPeer(config_dirs, peer);
  if (!session) return "no_session";
  const registered = peer.runtime_session_id ?? session.sessionId;
  if (session.sessionId !== registered) return "session_changed";
  if (!isTestedVersion(session, tested_version)) return "version_unproved";
  if (isStopped(session.pid)) return "suspended";
  const checked = checkSocket(session.messagingSocketPath ?? "/");
  if (checked.state === "missing") return "no_socket";
  if (checked.state === "refused") {
    return checked.code === "no_socket" ? "no_socket" : "foreign_socket";
  }
  const { path } = checked;
  const line = userLine(outgoing.framed);
  if (line.length > LINE_CHARS_MAX) return "too_large";
  // The token is optional on Linux, where any token or none is accepted.
  const token = peerToken(config_dirs, session);
  const auth = token === undefined ? "" : `${JSON.stringify({ type: "auth", token })}\n`;
  return { path, bytes: new TextEncoder().encode(auth + line) };
}

/** A line with an outdated `session_id` is silently dropped, so this one has none. */
function userLine(content: string): string {
  return `${JSON.stringify({ type: "user", message: { role: "user", content } })}\n`;
}

async function deliver(
  options: NativeOptions,
  peer: AgentPeer,
  outgoing: OutgoingMessage,
): Promise<Receipt> {
  const target = prepareTarget(options, peer, outgoing);
  if (typeof target === "string") return refused(target);
  const connection = await connect(options, target.path);
  if (typeof connection === "string") return refused(connection);
  try {
    return await write(connection, target.bytes, options.clock);
  } catch (error) {
    const { delivery_id } = outgoing;
    options.log.warn("A session's socket failed after writing began", { delivery_id, error });
    return { state: "unclear", reason: "write_failed" };
  } finally {
    connection.close();
  }
}

/** Connects, or returns a refusal, which is definite because nothing was sent. */
async function connect(
  { clock, log }: NativeOptions,
  path: string,
): Promise<Deno.UnixConn | Reason> {
  const connecting = Deno.connect({ transport: "unix", path });
  try {
    const connection = await timeout(clock, CONNECT_MS_MAX, connecting);
    if (connection) return connection;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "no_socket";
    if (!(error instanceof Deno.errors.ConnectionRefused)) {
      log.warn("Cannot connect to a session's socket", { path, error });
    }
    return "connection_refused";
  }
  // A connection that opens too late is closed, because nobody waits for it any more.
  void connecting.then((lateConnection) => lateConnection.close(), () => undefined);
  return "connect_timeout";
}

async function write(
  connection: Deno.UnixConn,
  bytes: Uint8Array<ArrayBuffer>,
  clock: Clock,
): Promise<Receipt> {
  const written = await timeout(clock, WRITE_MS_MAX, writeAll(connection, bytes));
  if (!written) return { state: "unclear", reason: "write_timeout" };
  await connection.closeWrite();
  await timeout(clock, HANG_UP_MS_MAX, waitForHangUp(connection));
  return { state: "sent" };
}

async function writeAll(connection: Deno.UnixConn, bytes: Uint8Array): Promise<true> {
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
  return true;
}

/**
 * Waits until the session closes the connection. If we closed it first, the line could be lost,
 * because a reader that sees the end may stop reading.
 */
async function waitForHangUp(connection: Deno.UnixConn): Promise<true> {
  const ignored = new Uint8Array(1_024);
  while (await connection.read(ignored) !== null);
  return true;
}
