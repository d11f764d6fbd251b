/** The text of a push: what the daemon encrypts and the service worker shows. */

/** A button of a notification, which answers a question with one of its options. */
export interface PushAction {
  readonly option_id: string;
  readonly title: string;
}

export interface PushPayload {
  /** - `close`: its item is over, and `title` says so in place of the earlier notification. */
  readonly kind: "item" | "close" | "test";
  readonly push_id: string;
  /** Valid for reports about this push only. */
  readonly token: string;
  /** Null for a test. */
  readonly item_id: string | null;
  /** The ask or the item: a later notification of the same subject replaces the earlier one. */
  readonly subject: string;
  readonly title: string;
  readonly body: string;
  /** Empty if the notification does not show the whole question. */
  readonly actions: readonly PushAction[];
  /** Stands for the sign-in under which the device subscribed; null on the daemon's own page. */
  readonly account: string | null;
  /** When the item was made, in milliseconds. */
  readonly at: number;
}

/** Reports of a device about a push. */
export const REPORTS = ["displayed", "chosen", "dismissed"] as const;

/** Ends the subject of a notification that says that an answer was not accepted. */
export const REFUSAL = " refused";
