/** Stored messages: starts, lists, searches, histories, audits and backups. */

import { temporary } from "../../../support/programs/child.ts";
import { meshArguments } from "../../../support/programs/program.ts";
import { pause, residentMb } from "../../../support/programs/process_facts.ts";
import { medianOf } from "../../report/figures.ts";
import { seedPeers } from "../../parts/starts.ts";
import { fillMessages } from "../fill/messages.ts";
import { COMMON_WORD, RARE_WORD } from "../fill/texts.ts";
import { Growths, type PartMeasurements, type Scale, sizesUpTo } from "../report/growth.ts";
import { ProbedDaemon } from "./under_probe.ts";

const LONG_AGO = "2000-01-01T00:00:00Z";

export async function messages(scale: Scale): Promise<PartMeasurements> {
  using state = temporary();
  await seedPeers(state.path);
  const path = `${state.path}/mesh.db`;
  const growths = new Growths("stored messages");
  let size_mb = 0, memory_mb = 0;
  for (const count of sizesUpTo(scale.messages, scale)) {
    fillMessages(path, { count, count_max: scale.messages });
    size_mb = Deno.statSync(path).size / 2 ** 20;
    growths.add("start to /health", { n: count, ms: await startMs(state.path, scale) });
    await using at = await ProbedDaemon.start(state.path);
    for (const [what, work] of await operations(at)) {
      growths.add(what, { n: count, ...await at.measure(scale.rounds, work) });
    }
    const backup = await at.measure(1, () => backUp(state.path));
    growths.add("mesh backup", { n: count, ...backup });
    memory_mb = residentMb(at.daemon.pid);
  }
  return {
    growth: growths.all(),
    singles: [
      { what: `database of ${scale.messages} messages`, value: size_mb, unit: "MB" },
      { what: "memory of its daemon after these operations", value: memory_mb, unit: "MB" },
    ],
  };
}

async function startMs(state: string, { rounds }: Scale): Promise<number> {
  const took: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    await using at = await ProbedDaemon.start(state);
    if (round > 0) took.push(at.daemon.start_ms);
  }
  return medianOf(took);
}

/** Reads of clients, by their names in the report. */
async function operations(at: ProbedDaemon): Promise<[string, () => Promise<void>][]> {
  const newest = JSON.parse(await at.get("/messages?limit=50&kind=ask")).messages[20];
  const { message_id, from_peer_id: peer, to_peer_id: other } = newest;
  const get = (path: string) => async () => void await at.get(path);
  return [
    ["nothing, for comparison", () => pause(20)],
    ["list: newest page", get("/messages?limit=50")],
    ["list: a peer's page", get(`/messages?limit=50&peer=${peer}`)],
    ["list: two peers' page", get(`/messages?limit=50&peer=${peer}&with=${other}`)],
    ["list: a state that none has", get("/messages?limit=50&state=failed")],
    ["search: common word", get(`/messages?limit=50&q=${COMMON_WORD}`)],
    ["search: rare word", get(`/messages?limit=50&q=${RARE_WORD}`)],
    ["search: common word, no match", get(`/messages?limit=50&q=${COMMON_WORD}&state=failed`)],
    ["one message", get(`/messages/${message_id}`)],
    ["one trace", get(`/traces/${message_id}`)],
    ["asks: a peer's page", get(`/asks?peer_id=${peer}`)],
    ["history of 1,000 asks", get(`/asks/history?peer_id=${peer}&since=${LONG_AGO}`)],
    ["deliveries, with the audit of all", get("/deliveries")],
    ["events: newest type", get("/events?type=ask&limit=100")],
    ["events: a type that none has", get("/events?type=peer_removed&limit=100")],
    ["metrics", get("/metrics")],
    ["peers", get("/peers")],
    ["doctor of a peer", get(`/peers/${peer}/doctor`)],
  ];
}

async function backUp(state: string): Promise<void> {
  const file = `${state}/${crypto.randomUUID()}.backup`;
  const args = meshArguments(["backup", file]);
  const env = { MESH_STATE: state, MESH_CONFIG: "/none" };
  const { success, stderr } = await new Deno.Command(Deno.execPath(), { args, env }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  Deno.removeSync(file);
}
