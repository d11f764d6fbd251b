/** One command of kitty's remote control, over the socket on which kitty listens. */

import type { Clock } from "kit/core/clock.ts";
import { messageOf, tryJson } from "kit/core/text.ts";
import { timeout } from "kit/core/timeout.ts";
import * as z from "zod";
import { type Answer, ANSWER_MS_MAX, failure } from "../tmux/connection.ts";
import { socketPathOf } from "../terminal_addresses.ts";
import { checkTerminal } from "../trusted_socket.ts";

/** kitty refuses a client that calls itself newer than kitty is. 0.26 is the oldest tested. */
const PROTOCOL_VERSION = [0, 26, 0];
/** kitty closes the connection at a longer command. */
export const COMMAND_BYTES_MAX = 65_536;
/** A window of 10,000 coloured cells takes about 200 kB. */
export const ANSWER_BYTES_MAX = 8_388_608;

const BEGIN = new TextEncoder().encode("\x1bP@kitty-cmd");
const END = new TextEncoder().encode("\x1b\\");

const KittyAnswer = z.object({
  ok: z.boolean(),
  data: z.unknown().optional(),
  error: z.string().optional(),
});

interface RemoteCommand {
  readonly cmd: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/**
 * Sends a command and returns the data of kitty's answer. After `lost` and `timeout`, the command
 * may have run; after `error`, kitty refused it.
 */
export async function callKitty(
  path: string,
  command: RemoteCommand,
  { clock, answer_ms_max = ANSWER_MS_MAX }: {
    readonly clock: Clock;
    readonly answer_ms_max?: number;
  },
): Promise<Answer<{ data: unknown }>> {
  const sent = commandBytes(command);
  if (sent.length > COMMAND_BYTES_MAX) return failure("queue_full", "It is too long for kitty");
  let connection: Deno.UnixConn;
  try {
    const opening = Deno.connect({ transport: "unix", path });
    const opened = await timeout(clock, answer_ms_max, opening);
    if (!opened) {
      // Nothing was sent. If the connection still opens later, it is closed.
      void opening.then(close, () => undefined);
      return failure("closed", `kitty takes no connection in ${answer_ms_max} ms`);
    }
    connection = opened;
  } catch (error) {
    // A kitty that is only busy takes no further connection, too.
    const { ConnectionRefused, NotFound } = Deno.errors;
    const isGone = error instanceof ConnectionRefused || error instanceof NotFound;
    return failure(
      isGone ? "no_server" : "closed",
      `Cannot connect to ${path}: ${messageOf(error)}`,
    );
  }
  try {
    const answered = await timeout(clock, answer_ms_max, exchange(connection, sent));
    return answered ?? failure("timeout", `kitty did not answer in ${answer_ms_max} ms`);
  } finally {
    close(connection);
  }
}

function commandBytes({ cmd, payload }: RemoteCommand): Uint8Array {
  const text = JSON.stringify({ cmd, version: PROTOCOL_VERSION, payload });
  return concat([BEGIN, new TextEncoder().encode(text), END]);
}

async function exchange(
  connection: Deno.UnixConn,
  sent: Uint8Array,
): Promise<Answer<{ data: unknown }>> {
  const received: Uint8Array[] = [];
  let size = 0;
  try {
    for (let at = 0; at < sent.length;) at += await connection.write(sent.subarray(at));
    const chunk = new Uint8Array(65_536);
    for (;;) {
      const count = await connection.read(chunk);
      if (count === null) return failure("lost", "kitty closed the connection");
      received.push(chunk.slice(0, count));
      size += count;
      if (size > ANSWER_BYTES_MAX) return failure("lost", "The answer of kitty is too long");
      if (endsInEnd(received)) return readAnswer(concat(received));
    }
  } catch (error) {
    return failure("lost", messageOf(error));
  }
}

/** The end may come in two parts. */
function endsInEnd(received: readonly Uint8Array[]): boolean {
  const tail = concat(received.slice(-2));
  return END.every((byte, at) => tail[tail.length - END.length + at] === byte);
}

/** An answer of another form comes from another program, which may have done anything. */
function readAnswer(bytes: Uint8Array): Answer<{ data: unknown }> {
  const text = new TextDecoder().decode(bytes.subarray(BEGIN.length, bytes.length - END.length));
  const parsed = KittyAnswer.safeParse(tryJson(text));
  if (!parsed.success) return failure("lost", "The answer is not kitty's");
  const { ok, data, error } = parsed.data;
  return ok ? { ok, data } : failure("error", error ?? "kitty refused the command");
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Closing twice is no error: a connection also closes when its read fails. */
function close(connection: Deno.UnixConn): void {
  try {
    connection.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}

/** Any command would do; the answer of this command shows nothing that runs in the windows. */
const HARMLESS = { cmd: "get-colors", payload: {} };

type KittyAccess =
  | { readonly state: "allowed" }
  | { readonly state: "untrusted" | "refused"; readonly reason: string };

/** Checks that a kitty can be used as a terminal, without looking at its windows. */
export async function accessTo(address: string, clock: Clock): Promise<KittyAccess> {
  const checked = checkTerminal(address);
  if (checked.state === "refused") return { state: "untrusted", reason: checked.reason };
  const answer = await callKitty(socketPathOf(address), HARMLESS, { clock });
  return answer.ok ? { state: "allowed" } : { state: "refused", reason: answer.message };
}
