/** Every verb of a relay's storm, one row each: how often it is chosen, and what it does. */

import * as calls from "./call_verbs.ts";
import * as faults from "./fault_verbs.ts";
import type { RelayStorm, RelayVerb } from "./relay_storm.ts";
import type { RemoteDaemon } from "./remote_daemon.ts";

// deno-fmt-ignore
export const RELAY_VERBS: readonly RelayVerb[] = [
  { name: "ask an agent",           weight: 24, run: (storm) => calls.send(storm, "ask_agent") },
  { name: "send a message",         weight: 14, run: (storm) => calls.send(storm, "send_message") },
  { name: "send with a key",        weight: 14, run: calls.sendWithKey },
  { name: "repeat with a key",      weight: 14, run: calls.repeatWithKey },
  { name: "fetch a reply",          weight: 20, run: calls.fetchReply },
  { name: "list requests",          weight: 5,  run: calls.listRequests },
  { name: "list machines",          weight: 3,  run: calls.listMachines },
  { name: "an agent answers",       weight: 20, run: calls.answer },
  { name: "some turns",             weight: 10, run: ({ clock }) => clock.settle() },
  { name: "a second",               weight: 24, run: (storm) => storm.tick(1) },
  { name: "ten seconds",            weight: 8,  run: (storm) => storm.tick(10) },
  { name: "a minute",               weight: 3,  run: (storm) => storm.tick(61) },
  { name: "a tunnel is held up",    weight: 10, run: (storm) => change(storm, ({ tunnel }) => tunnel?.holdUp()) },
  { name: "a tunnel goes on",       weight: 12, run: (storm) => change(storm, ({ tunnel }) => tunnel?.resume()) },
  { name: "a tunnel is cut",        weight: 8,  run: (storm) => change(storm, ({ tunnel }) => tunnel?.cut()) },
  { name: "a link freezes",         weight: 5,  run: faults.freeze },
  { name: "a frame is repeated",    weight: 3,  run: (storm) => change(storm, ({ tunnel }) => tunnel?.repeat(storm.chance.pick(["daemon", "relay"]))) },
  { name: "a daemon restarts",      weight: 3,  run: (storm) => storm.chance.pick(storm.daemons).restart() },
  { name: "a daemon crashes",       weight: 5,  run: faults.crash },
  { name: "a crash at a commit",    weight: 8,  run: faults.crashAtCommit },
  { name: "a commit fails",         weight: 6,  run: faults.failCommit },
  { name: "the relay restarts",     weight: 2,  run: (storm) => storm.restartRelay({ crashes: false }) },
  { name: "the relay crashes",      weight: 2,  run: (storm) => storm.restartRelay({ crashes: true }) },
  { name: "the clock jumps",        weight: 4,  run: faults.jump },
];

async function change(storm: RelayStorm, work: (daemon: RemoteDaemon) => void): Promise<void> {
  work(storm.chance.pick(storm.daemons));
  await storm.clock.settle();
}
