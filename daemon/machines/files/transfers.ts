/** Names and limits of files on the bus, shared by uploads and downloads. */

import type { Context } from "../../data/context.ts";
import { sha256 } from "kit/host/node_library.ts";
import { type Bus, BusError } from "../bus.ts";
import type { MachineSeal } from "../trust/seal.ts";
import type { Attachments } from "../../features/messages/attachments/attachments.ts";

export interface MachineFilesDeps {
  readonly attachments: Attachments;
  /** The connection to the bus; undefined while there is none. */
  readonly bus: () => Bus | undefined;
  readonly seal: MachineSeal;
  /** Of this machine. */
  readonly daemon_id: string;
}

export type Transfers = Context & MachineFilesDeps;

/** A larger file does not cross machines, because a whole file is in memory while it does. */
export const FILE_BYTES_MAX = 64 << 20;
/** Maximum bytes that sealing adds to a file. */
export const SEAL_BYTES_MAX = 4096;
/** Maximum number of attempts for a file that the bus refuses to take or to hand out. */
export const ATTEMPTS_MAX = 3;

/** The name begins with the machine that stored the file, which the server compares. */
export function nameOnBus(daemon_id: string, object: string): string {
  return `${daemon_id}.${object}`;
}

/** The contexts of the seal: a sealed reason can never pass for a file. */
export const fileContext = (object: string) => `file ${object}`;
export const reasonContext = (object: string) => `missing file ${object}`;

export function mustGetBus(bus: () => Bus | undefined): Bus {
  const connected = bus();
  if (connected) return connected;
  throw new BusError("unreachable", "This machine is not connected to the bus", "no");
}

/** True if the connection broke, so that nothing is known about the file. */
export function isBroken({ reason }: BusError): boolean {
  return reason === "unreachable" || reason === "no_answer";
}

export function hashOf(bytes: Uint8Array): string {
  return sha256(bytes, "hex");
}
