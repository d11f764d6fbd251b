/** The cost of finding the peer behind a caller, among as many peers as a busy machine has. */

import { type Effort, type Figure, interleave } from "../report/figures.ts";
import { addPeer } from "../../support/daemon/peer_clients.ts";
import { SOCKET } from "../../support/host/fake_panes.ts";
import { world } from "../../support/world.ts";

const PEERS = 500;
/** Number of look-ups for each timed message of an effort. */
const LOOKUPS_EACH = 10;
/** Distance between the peers of two look-ups, so that no cache foresees the order. */
const STRIDE = 197;
/** Pids of a command, a shell and the tool's program, which are no peers. */
const BELOW_AGENT = [11, 12, 13];

/** Finds the peer of a hook, of a command in an agent's shell, and of a pane. */
export async function identities({ rounds, count }: Effort): Promise<Figure[]> {
  await using w = world();
  for (let n = 0; n < PEERS; n++) {
    w.processes.start(1_000 + n);
    const place = { pane_id: `%${n}`, tmux_socket: SOCKET };
    const process = n % 2 === 0 ? { agent_pid: 1_000 + n } : {};
    await addPeer(w, `peer-${n}`, { ...place, ...process, runtime_session_id: `s-${n}` });
  }
  const { identityLookup } = w.daemon;
  const withProcess = (n: number) => n - n % 2;
  const started = (pid: number) => w.processes.startTimeOf(pid) ?? "";
  const ways = {
    hook: (n: number) => {
      const pid = 1_000 + withProcess(n);
      const named = { session: `s-${withProcess(n)}`, backend: "sdk" };
      return identityLookup.peerOfSession(named, { agent: { pid, started: started(pid) } });
    },
    command: (n: number) =>
      identityLookup.peerOfProcesses([...BELOW_AGENT, 1_000 + withProcess(n)])?.peer,
    pane: (n: number) =>
      identityLookup.peerOfPane({ pane_id: `%${withProcess(n) + 1}`, tmux_socket: SOCKET }),
  };
  const timed = (find: (n: number) => unknown) => () =>
    Promise.resolve(microsecondsEach(count * LOOKUPS_EACH, find));
  const samples = await interleave(rounds, {
    hook: timed(ways.hook),
    command: timed(ways.command),
    pane: timed(ways.pane),
  });
  return Object.entries(samples).map(([what, ours]) => ({
    what: `identity: whose a ${what} is, ${PEERS} peers`,
    unit: "µs",
    ours,
    budget: { of: "value", max: 50 },
  }));
}

/** Microseconds of one look-up, which must find its peer. */
function microsecondsEach(rounds: number, find: (n: number) => unknown): number {
  const from = performance.now();
  for (let round = 0; round < rounds; round++) {
    if (!find(round * STRIDE % PEERS)) throw new Error("A peer was not found");
  }
  return (performance.now() - from) * 1000 / rounds;
}
