/** Requirements of subscriptions. */

import type { Requirement } from "./requirement.ts";

// deno-fmt-ignore
export const SUBSCRIPTIONS: readonly Requirement[] = [
  ["4.when.told",        "jobs", "A subscriber is told when a condition holds, with what was observed, by whom and when"],
  ["4.when.peer-states", "jobs", "A peer that is idle, working, blocked, online or offline is told, and the end of each turn"],
  ["4.when.failed",      "jobs", "A turn that an error ends is told, with the class of the error"],
  ["4.when.records",     "jobs", "The end of a job and of an ask is told"],
  ["4.when.files",       "jobs", "An edit of a file in a peer's folder is told, with its path and time; each scan is bounded"],
  ["4.when.recipient",   "jobs", "A message to another peer is sent in the subscriber's name"],
  ["4.when.rate",        "jobs", "One subscription sends at most one message a minute, and at most 100"],
  ["4.when.refusal",     "jobs", "A message that a limit refuses is sent later; any other refusal ends the subscription"],
  ["4.when.limit",       "jobs", "A peer has at most 20 active subscriptions"],
  ["4.when.removed",     "jobs", "Subscriptions end with their subscriber, and when they can never hold"],
  ["4.when.durable",     "jobs", "A restart loses no subscription, and tells nothing that it does not know"],
  ["4.when.circle",      "jobs", "Peers are found as for a notification"],
  ["4.when.refused",     "jobs", "What is no condition is refused with those that are allowed"],
  ["4.when.cli",         "jobs", "`mesh when` subscribes, lists, shows and cancels"],
  ["4.when.tool",        "jobs", "Agents subscribe, list and cancel with one tool"],
];
