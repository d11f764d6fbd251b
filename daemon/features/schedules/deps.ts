/** What schedules need from other features. */

import type { Sender } from "../peers/directory.ts";
import type { Address } from "../peers/schemas.ts";
import type { Schedule } from "./contract.ts";

/** A message in the form that asks and notifications accept. */
export interface ScheduledMessage {
  readonly from_peer: string;
  readonly to_peer: string;
  readonly text: string;
  readonly circle?: string;
}

/** How a request came in. */
export interface ScheduleContext {
  readonly proven_human: boolean;
  readonly traceparent?: string | undefined;
}

export interface ScheduleDeps {
  readonly directory: {
    sender(argument: string, scope?: { circle?: string | undefined }): Sender;
    resolve(argument: string, scope: { circle?: string | undefined; caller: Sender }): Address;
    /** A peer by its exact id, in any state. */
    address(peer_id: string): Address | undefined;
  };
  /** Opens an ask or sends a notify, and returns its id. Throws a `Problem` on a refusal. */
  readonly senders: Readonly<
    Record<Schedule["kind"], (message: ScheduledMessage, requestContext: ScheduleContext) => string>
  >;
  /** Sends a notify from the daemon. */
  notify(to_peer: string, text: string): void;
  /** How long a settled schedule is kept. */
  readonly history_ms: number;
}
