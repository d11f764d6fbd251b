/** Requirements of section 11 of the contract: ids, names, runs, searches, speakers, streams. */

import type { Requirement } from "./requirement.ts";

// deno-fmt-ignore
export const CONTRACT_11: readonly Requirement[] = [
  ["c11.ids.once",          "built", "A daemon id gives no id twice, also after its database was restored, copied or rolled back"],
  ["c11.ids.reused",        "built", "A repeat of an id with other content is refused `id_reused`, and its sender is told"],
  ["c11.ids.owned",         "built", "An id of a peer belongs to the machine that made it, whoever announces it first"],
  ["c11.ids.renewed",       "built", "With a new identity, the peers of a copied machine get ids of their own"],
  ["c11.names.reserved",    "built", "No peer, tag or sender without a record has a reserved name, or one that looks so (`reserved_name`)"],
  ["c11.names.marks",       "built", "What reads like the daemon's mark is no mark, wherever it stands in a text"],
  ["c11.names.folders",     "built", "Names of folders in other scripts are transliterated for the default name"],
  ["c11.run.bus",           "built", "A second live run of a daemon id takes no part in the bus (`identity_in_use`)"],
  ["c11.run.relay",         "relay", "The relay refuses a second live run of a daemon id (`identity_in_use`)"],
  ["c11.search.languages",  "built", "Searches and routing find words of any language, glued words and single characters"],
  ["c11.speak.itself",      "built", "A peer's process, and programs below it, act in the peer's name"],
  ["c11.speak.certificate", "built", "A birth certificate that comes along proves its peer"],
  ["c11.speak.person",      "built", "A person's page and terminal act in the name of any peer"],
  ["c11.speak.another",     "built", "Another registered peer is refused `not_your_identity`, and nothing is stored"],
  ["c11.speak.child",       "built", "A child that is a peer speaks as itself or not at all"],
  ["c11.speak.unproved",    "built", "Without a proof, an act in the name of a peer with a process or a session is marked `unverified`, and drains no queue"],
  ["c11.speak.lookalike",   "built", "A sender without a record whose name looks like that of a peer with a process or a session is marked `unverified`"],
  ["c11.speak.clients",     "built", "Peers without a process and a session, and senders without a record, need no proof"],
  ["c11.speak.routes",      "built", "Each route with a field that names a peer says whether that peer acts"],
  ["c11.blocking.expiry",   "built", "Blocking questions have `expires_at` in every record and event that shows them"],
  ["c11.over.option",       "built", "A reply with an `option_id` to a question that is closed is 410 `already_closed` with its outcome"],
  ["c11.over.text",         "built", "A text to a closed permission or choice opens a new ask only after the person has confirmed it"],
  ["c11.over.there",        "built", "What was decided in the agent's terminal is `allowed_there`, `denied_there` or `ended_there`, by the terminal"],
  ["c11.oauth.resource",     "relay", "At /oauth/token an absent resource is that of the code or grant; another one is invalid_target"],
  ["c11.oauth.registration", "relay", "Registration keeps the redirect URIs that are allowed and returns them, and answers any authentication with none"],
  ["c11.oauth.scopes",       "relay", "Unknown scopes beside agents:read are left out"],
  ["c11.oauth.read-only",    "relay", "Consent offers the requested access and, where writing was asked for, read only (access=read|write)"],
  ["c11.oauth.cors",         "relay", "Any page may call discovery, registration, tokens, revocation and /mcp, and nothing else"],
  ["c11.oauth.mcp-slash",    "relay", "/mcp/ is /mcp"],
  ["c11.oauth.errors",       "relay", "An authorization's error is redirected to loopback and to allowed clients; else a page names it and links there"],
  ["c11.stream.headers",    "built", "Event streams send `X-Accel-Buffering: no` and `Cache-Control: no-store, no-transform`"],
];
