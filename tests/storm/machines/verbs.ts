/** Every verb of a storm on machines, one row each: how often it is chosen, and what it does. */

import type { MachinesVerb } from "./machines_storm.ts";
import * as answers from "./verbs/answers.ts";
import * as crashes from "./verbs/crashes.ts";
import * as messages from "./verbs/messages.ts";
import * as network from "./verbs/network.ts";
import * as peers from "./verbs/peers.ts";

// deno-fmt-ignore
export const MACHINES_VERBS: readonly MachinesVerb[] = [
  { name: "ask",                    weight: 30, run: (storm) => messages.send(storm, "ask") },
  { name: "notify",                 weight: 16, run: (storm) => messages.send(storm, "notify") },
  { name: "pull ask",               weight: 6,  run: (storm) => messages.send(storm, "ask", { reply_delivery: "pull" }) },
  { name: "follow-up",              weight: 10, run: messages.followUp },
  { name: "broadcast",              weight: 5,  run: messages.broadcast },
  { name: "burst",                  weight: 5,  run: messages.burst },
  { name: "ack",                    weight: 20, run: (storm) => answers.answer(storm, "ack") },
  { name: "decline",                weight: 6,  run: (storm) => answers.answer(storm, "decline") },
  { name: "cancel",                 weight: 10, run: answers.cancel },
  { name: "ask and cancel at once", weight: 4,  run: answers.askAndCancel },
  { name: "answer and cancel",      weight: 6,  run: answers.answerAndCancel },
  { name: "wait",                   weight: 8,  run: answers.wait },
  { name: "inbox reply",            weight: 4,  run: answers.inboxReply },
  { name: "read",                   weight: 20, run: peers.read },
  { name: "receipt",                weight: 24, run: peers.receipt },
  { name: "drop",                   weight: 4,  run: peers.drop },
  { name: "connect",                weight: 12, run: (storm) => peers.connect(storm, true) },
  { name: "connect without receipts", weight: 3, run: (storm) => peers.connect(storm, false) },
  { name: "a peer leaves",          weight: 2,  run: peers.leave },
  { name: "slow agents go on",      weight: 8,  run: peers.releaseSlow },
  { name: "some turns",             weight: 6,  run: ({ clock }) => clock.settle() },
  { name: "a second",               weight: 30, run: (storm) => storm.tick() },
  { name: "ten seconds",            weight: 12, run: (storm) => storm.tick(10) },
  { name: "two minutes",            weight: 3,  run: (storm) => storm.tick(24, 5000) },
  { name: "an hour",                weight: 2,  run: (storm) => storm.tick(12, 300_000) },
  { name: "a day or two",           weight: 1,  run: (storm) => storm.tick(storm.chance.pick([24, 48]), 3_600_000) },
  { name: "a machine is cut off",   weight: 10, run: (storm) => network.setReachable(storm, false) },
  { name: "a machine is back",      weight: 14, run: (storm) => network.setReachable(storm, true) },
  { name: "a link freezes",         weight: 5,  run: network.freeze },
  { name: "links thaw",             weight: 6,  run: network.thaw },
  { name: "batches are held up",    weight: 5,  run: network.holdUp },
  { name: "batches go on",          weight: 8,  run: network.resume },
  { name: "a batch is repeated",    weight: 4,  run: network.repeat },
  { name: "the bus loses its store", weight: 3, run: network.loseStore },
  { name: "the stream is full",     weight: 3,  run: (storm) => network.setFull(storm, true) },
  { name: "the stream has room",    weight: 6,  run: (storm) => network.setFull(storm, false) },
  { name: "calls are not answered", weight: 2,  run: (storm) => network.setSilent(storm, true) },
  { name: "calls are answered",     weight: 3,  run: (storm) => network.setSilent(storm, false) },
  { name: "a lease lapses",         weight: 4,  run: network.lapse },
  { name: "a clock is set",         weight: 3,  run: network.setClock },
  { name: "a machine is copied",    weight: 3,  run: crashes.copy },
  { name: "a daemon restarts",      weight: 3,  run: (storm) => storm.anyMachine().restart() },
  { name: "a daemon is killed",     weight: 8,  run: crashes.kill },
  { name: "a crash at a commit",    weight: 14, run: crashes.crashAtCommit },
  { name: "a commit fails",         weight: 5,  run: crashes.failCommit },
];
