/** Requirements of section 11 of the contract: ids, runs of a daemon, and event streams. */

import type { Requirement } from "./requirement.ts";

// deno-fmt-ignore
export const CONTRACT_11: readonly Requirement[] = [
  ["c11.ids.once",          "built", "A daemon id gives no id twice, also after its database was restored, copied or rolled back"],
  ["c11.ids.reused",        "built", "A repeat of an id with other content is refused `id_reused`, and its sender is told"],
  ["c11.run.bus",           "built", "A second live run of a daemon id takes no part in the bus (`identity_in_use`)"],
  ["c11.run.relay",         "relay", "The relay refuses a second live run of a daemon id (`identity_in_use`)"],
  ["c11.blocking.expiry",   "built", "Blocking questions have `expires_at` in every record and event that shows them"],
  ["c11.over.option",       "built", "A reply with an `option_id` to a question that is closed is 410 `already_closed` with its outcome"],
  ["c11.over.text",         "built", "A text to a closed permission or choice opens a new ask only after the person has confirmed it"],
  ["c11.over.there",        "built", "What was decided in the agent's terminal is `allowed_there`, `denied_there` or `ended_there`, by the terminal"],
  ["c11.stream.headers",    "built", "Event streams send `X-Accel-Buffering: no` and `Cache-Control: no-store, no-transform`"],
];
