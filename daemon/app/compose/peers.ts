/** Builds the registry of peers, and the sockets and transports that reach them. */

import { AgentProcesses } from "../../features/peers/identity/agent_processes.ts";
import { AgentTransports } from "../../features/agents/transports.ts";
import { Steps } from "../../features/messages/ledger/steps.ts";
import { PeerReachability } from "../../features/messages/reachability.ts";
import { Sockets } from "../../features/messages/websocket/sockets.ts";
import { Budgets } from "../../features/budgets/budgets.ts";
import { Origins } from "../../features/origins/origins.ts";
import { Policies } from "../../features/origins/policies.ts";
import { Charges } from "../../features/budgets/charges.ts";
import { BudgetNotes } from "../../features/budgets/notes.ts";
import { MessageReading } from "../../features/budgets/reading.ts";
import { AgentPeers } from "../../features/peers/agent_peers.ts";
import { PeerChanges } from "../../features/peers/changes.ts";
import { Directory } from "../../features/peers/directory.ts";
import { IdentityLookup } from "../../features/peers/identity/identity_lookup.ts";
import { Peers } from "../../features/peers/peers.ts";
import { ProcessWatcher } from "../../features/peers/process_watcher.ts";
import { PeerProfiles } from "../../features/peers/profiles.ts";
import { RemotePeers } from "../../features/peers/remote/remote_peers.ts";
import { SupersededExecutions } from "../../features/peers/identity/superseded.ts";
import { Subagents } from "../../features/peers/subagents.ts";
import { PeerTurns } from "../../features/peers/turns.ts";
import { PeerWaits } from "../../features/peers/waits.ts";
import type { Foundation } from "./foundation.ts";

/** The chains of messages with their rules; budgets, and what is charged to them. */
function openBudgets(
  { config, ctx, meters, ports }: Foundation,
  lower: { readonly directory: Directory; readonly remotePeers: RemotePeers },
) {
  const policies = new Policies(ctx, {
    rules: config.policy,
    refused: () => meters.limitReached("policy_denied"),
  });
  const origins = new Origins(ctx, { ...lower, policies, ports: ports.origins });
  const budgets = new Budgets(ctx, {
    ...lower,
    origins,
    currency: config["usage.prices"]?.currency,
    day: config["budgets.day"],
    peers: config["budgets.peers"],
    counts_tokens: config.transcripts !== "off",
    ports: ports.budgets,
    refused: () => meters.limitReached("budget_spent"),
  });
  const charges = new Charges(ctx, { ...lower, budgets });
  return {
    origins,
    policies,
    budgets,
    budgetNotes: new BudgetNotes(ctx, { ...lower, budgets }),
    messageReading: new MessageReading(ctx, { budgets, charges, origins, ports: ports.budgets }),
    charges,
  };
}

/** The processes of agents, and the sockets and transports that reach peers. */
function openTransports(
  { ctx, effects, meters, platform, ports }: Foundation,
  budgetNotes: BudgetNotes,
) {
  const steps = new Steps(ctx, meters, effects.messages);
  return {
    agentProcesses: new AgentProcesses({
      db: ctx.db,
      processes: platform.processes,
      isUserFacing: (pid) => platform.callers.isUserFacing(pid),
      pid: platform.pid,
    }),
    transports: new AgentTransports(platform.adapters(), platform.knownFailures),
    steps,
    sockets: new Sockets(ctx, steps, { ports: ports.messages, budgetNotes }),
  };
}

/** The registry of peers, and the sockets and transports that reach them. */
export function openPeers(foundation: Foundation) {
  const { config, ctx, effects, identity, missingPanes, platform, ports } = foundation;
  const { machine, processes } = platform;
  const directory = new Directory(ctx, {
    daemon_id: identity.daemon_id,
    machine: platform.machines?.membership.name ?? machine,
    ...directorySettings(config),
  });
  const remotePeers = new RemotePeers(ctx);
  const opened = openBudgets(foundation, { directory, remotePeers });
  const lower = { ...opened, ...openTransports(foundation, opened.budgetNotes) };
  const agentPeers = new AgentPeers(ctx, machine);
  const reachability = new PeerReachability(ctx, { ...lower, agentPeers, missingPanes });
  const superseded = new SupersededExecutions();
  const waits = new PeerWaits(ctx, { effects: effects.peers, reachability, ports: ports.peers });
  const changes = new PeerChanges(ctx, effects.peers, waits);
  const shared = {
    agentProcesses: lower.agentProcesses,
    changes,
    circle_boundary: config["daemon.circle_boundary"],
    directory,
    machine,
    peerIds: platform.peerIds(identity.daemon_id),
    processes,
    reachability,
    effects: effects.peers,
    waits,
  };
  const peers = new Peers(ctx, { ...shared, superseded, ports: ports.peers });
  const profiles = new PeerProfiles(ctx, changes, peers);
  const turns = new PeerTurns(ctx, { ...shared, peers });
  return {
    ...lower,
    agentPeers,
    directory,
    identityLookup: new IdentityLookup(ctx.db, shared),
    remotePeers,
    reachability,
    superseded,
    peers,
    processWatcher: new ProcessWatcher(ctx, { ...shared, peers }),
    profiles,
    subagents: new Subagents(ctx, { ...shared, peers, turns }),
    turns,
    waits,
  };
}

export type PeerFeatures = ReturnType<typeof openPeers>;

function directorySettings(config: Foundation["config"]) {
  return { human_home: config["mesh.bus.human_home"], shared_circles: config["mesh.bus.allow"] };
}
