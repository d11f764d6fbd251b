/** Builds what starts agents, reads their sessions, and hands their work over. */

import type { Backend } from "protocol/agents/contract.ts";
import { AGENTS } from "../../features/agents/registry.ts";
import { RegistrationLocations } from "../../features/spawn/expected_registration.ts";
import { SPAWN_LOG_ENTRIES_MAX, SpawnLogRetention } from "../../features/spawn/log_retention.ts";
import { Leases } from "../../features/leases/leases.ts";
import { Restarts } from "../../features/spawn/restarts/restarts.ts";
import { Forks } from "../../features/spawn/forks.ts";
import { Resumptions } from "../../features/spawn/resumptions.ts";
import { Spawns } from "../../features/spawn/spawns.ts";
import { MINUTE_MS } from "kit/core/duration.ts";
import { Wakes } from "../../features/wakes/wakes.ts";
import type { openLifecycle } from "./agents.ts";
import type { Foundation } from "./foundation.ts";
import type { AskFeatures } from "./asks.ts";
import type { openLimits } from "./limits.ts";
import { SessionReading } from "../../features/transcripts/session_reading.ts";
import { Transcripts } from "../../features/transcripts/transcripts.ts";
import type { CheckRunner } from "../../features/jobs/check_runner.ts";
import { Proofs } from "../../features/proofs/proofs.ts";
import { Changes } from "../../features/changes/changes.ts";
import { FileUses } from "../../features/files/file_uses.ts";
import { Branches } from "../../features/files/branches.ts";
import { Overlaps } from "../../features/files/overlaps.ts";
import { JointChecks } from "../../features/joint_checks/joint_checks.ts";
import { JointReports } from "../../features/joint_checks/joint_reports.ts";
import { Trials } from "../../features/joint_checks/trials.ts";
import { TokenCounting } from "../../features/usage/counting.ts";
import { PriceTable } from "../../features/usage/prices.ts";
import { UsageReports } from "../../features/usage/report.ts";
import { AgentWork } from "../../features/usage/work.ts";
import { Usage } from "../../features/transcripts/usage.ts";
import { memoryShare, type ProgramLimits } from "../../host/program_limits.ts";
import type { Config } from "../config.ts";
import { Blame } from "../../features/blame/blame.ts";
import { ReportedCommits } from "../../features/blame/commits.ts";
import { BudgetCards } from "../../features/breakers/budget_cards.ts";
import { Loops } from "../../features/breakers/loops.ts";
import type { Interrupts } from "../../features/lifecycle/interrupts.ts";
import { Handoffs } from "../../features/handoffs/handoffs.ts";
import { Switches } from "../../features/handoffs/switches.ts";

/** The commands without `spawn.commands`: the program of each agent, which is started if installed. */
const PROGRAMS = Object.fromEntries(
  AGENTS.flatMap(({ id, programs: [program] }) => program === undefined ? [] : [[id, [program]]]),
);
/** The folder of agents without `spawn.allowed_paths`: the user's home, with all folders inside it. */
const HOME = "~";

/** Spawns, restarts, forks and resumptions. */
export function openSpawns(foundation: Foundation, lower: AskFeatures) {
  const { config, ctx, effects, identity, platform, shutdownSignal, history_ms } = foundation;
  const { machine, paneObserver, processes, terminals, hooks, ports } = platform;
  const leases = new Leases(ctx, {
    machine,
    processes,
    range: config["leases.ports"],
    ports,
  });
  const settings = {
    commands: config["spawn.commands"] ?? PROGRAMS,
    profiles: config["spawn.profiles"],
    allowed_paths: config["spawn.allowed_paths"] ?? [HOME],
    any_path_for_human: config["spawn.allowed_paths"] === undefined,
    env: config["spawn.env"],
    circle_boundary: config["daemon.circle_boundary"],
  };
  const deps = {
    ...lower,
    terminals,
    settings,
    folders: { allowed: settings.allowed_paths, home: terminals.home },
    machine,
    paneObserver,
    processes,
    hooks,
    leases,
    sessionFilesOf: (backend: Backend) => platform.sessionFilesOf(backend),
    shutdownSignal,
    effects: effects.spawn,
  };
  const spawns = new Spawns(ctx, deps);
  const restarts = new Restarts(ctx, deps, spawns.launcher);
  const forks = new Forks(ctx, deps, spawns);
  const resumptions = new Resumptions(ctx, deps, spawns, {
    readers: config.transcripts,
    secrets: [identity.hook_token, ...secretsOf(config)],
  });
  const limits = { history_ms, entries_max: SPAWN_LOG_ENTRIES_MAX };
  const spawnLog = new SpawnLogRetention(
    ctx,
    limits,
    (peer_id) => lower.directory.canReturn(peer_id),
  );
  const registrationLocations = new RegistrationLocations({
    circle_boundary: config["daemon.circle_boundary"],
    machine,
    missingPanes: foundation.missingPanes,
    paneOf: (socket, pane_id) => platform.paneOf(socket, pane_id),
  });
  return { leases, spawns, restarts, forks, resumptions, spawnLog, registrationLocations };
}

/** The waking of agents that have ended. */
export function openWakes(
  { config, ctx, platform, shutdownSignal }: Foundation,
  lower: SpawnFeatures & Pick<LifecycleFeatures, "linking"> & Pick<LimitFeatures, "limits">,
) {
  const wakes = new Wakes(ctx, {
    ...lower,
    terminals: platform.terminals,
    shutdownSignal,
    policy: config["daemon.wake"],
    idle_ms: config["daemon.wake_idle_minutes"] * MINUTE_MS,
  });
  return { wakes };
}

export type SpawnFeatures = AskFeatures & ReturnType<typeof openSpawns>;

type LifecycleFeatures = ReturnType<typeof openLifecycle>;
type LimitFeatures = ReturnType<typeof openLimits>;

/** Variables whose values may be secrets, by their names. */
const SECRET_NAME = /key|token|secret|passw|credential|auth/i;

/** The reading of agents' session files. */
export function openTranscripts(
  { config, ctx, effects, identity, platform, ports }: Foundation,
  { budgets }: AskFeatures,
) {
  const transcripts = new Transcripts(ctx, {
    machine: platform.machine,
    readers: config.transcripts,
    secrets: [identity.hook_token, ...secretsOf(config)],
    sessionFilesOf: (backend) => platform.sessionFilesOf(backend),
  });
  const sessionReading = new SessionReading(ctx, {
    budgets,
    effects: effects.transcripts,
    ports: ports.transcripts,
    transcripts,
  });
  return { sessionReading, transcripts, usage: new Usage(ctx, transcripts) };
}

/** The reading of what changed in folders. */
export function openChanges(
  { config, ctx, identity, platform, shutdownSignal }: Foundation,
  { transcripts }: Pick<ReturnType<typeof openTranscripts>, "transcripts">,
) {
  const changes = new Changes(ctx, {
    git: platform.git,
    transcripts,
    folders: {
      allowed: config["spawn.allowed_paths"] ?? [HOME],
      home: platform.terminals.home,
    },
    secrets: [identity.hook_token, ...secretsOf(config)],
    shutdownSignal,
  });
  return { changes };
}

/** The settings of reviews. */
export function reviewSettings({ config, identity, platform, shutdownSignal }: Foundation) {
  return {
    folders: {
      allowed: config["spawn.allowed_paths"] ?? [HOME],
      home: platform.terminals.home,
    },
    machine: platform.machine,
    secrets: [identity.hook_token, ...secretsOf(config)],
    shutdownSignal,
  };
}

/** The checks of answers. */
export function openProofs(
  foundation: Foundation,
  lower: AskFeatures & { readonly checkRunner: CheckRunner },
) {
  const { config, ctx, history_ms, identity, platform, ports, shutdownSignal } = foundation;
  const { git, send, terminals } = platform;
  const proofs = new Proofs(ctx, {
    ...lower,
    git,
    history_ms,
    ports: ports.proofs,
    relay_admin: config["relay.allow_admin"],
    readable: { allowed: config["spawn.allowed_paths"] ?? [HOME], home: terminals.home },
    secrets: [identity.hook_token, ...secretsOf(config)],
    send,
    shutdownSignal,
  });
  return { proofs };
}

/** The use of files by agents, and where their lines came from. */
export function openFiles(
  { config, ctx, effects, meters, platform, shutdownSignal }: Foundation,
  { notifications, origins, sessionReading }: LowerFeatures,
) {
  const { git, machine } = platform;
  const isOn = config["files.overlaps"] === "tell";
  const overlaps = new Overlaps(ctx, {
    notifications,
    isOn,
    found: (kind) => meters.overlapFound(kind),
  });
  const branches = new Branches(ctx, { git, machine, overlaps, shutdownSignal });
  const fileUses = new FileUses(ctx, { branches, effects: effects.files, overlaps });
  const blame = new Blame(ctx, {
    git,
    sessionReading,
    reads_sessions: config.transcripts !== "off",
    folders: {
      allowed: config["spawn.allowed_paths"] ?? [HOME],
      home: platform.terminals.home,
    },
    shutdownSignal,
  });
  return { fileUses, blame, reportedCommits: new ReportedCommits(ctx, { origins }) };
}

/** The limits on the programs of checks. */
export function checkLimitsOf(config: Config): ProgramLimits {
  return {
    memory_bytes_max: config["jobs.check_memory_bytes_max"] ?? memoryShare(),
    written_bytes_max: config["jobs.check_written_bytes_max"],
  };
}

/** The joining and checking of work trees, which is off without a check. */
export function openJointChecks(
  { config, ctx, identity, platform, shutdownSignal }: Foundation,
  lower: LowerFeatures,
) {
  const { git, joining_folder: folder, machine, programs, terminals } = platform;
  const check_name = config["joint_checks.check"];
  const disk_bytes_max = config["joint_checks.disk_bytes_max"];
  const limits = { ...checkLimitsOf(config), disk_bytes_max };
  const check = check_name === undefined ? undefined : config["jobs.checks"][check_name];
  const reports = new JointReports(ctx, {
    ...lower,
    check_name: check_name ?? "",
    secrets: [identity.hook_token, ...secretsOf(config)],
  });
  const jointChecks = new JointChecks(ctx, {
    check_name,
    trials: check && new Trials({ check, programs, folder, limits, log: ctx.log, shutdownSignal }),
    reports,
    folders: { allowed: config["spawn.allowed_paths"] ?? [], home: terminals.home },
    folder,
    git,
    machine,
    shutdownSignal,
  });
  return { jointChecks };
}

/** The counting of tokens, and its reports. */
export function openUsage(
  { config, ctx, meters }: Foundation,
  { budgets, charges, sessionReading, transcripts }: LowerFeatures,
) {
  const prices = config["usage.prices"];
  const table = new PriceTable(prices);
  const agentWork = new AgentWork(ctx, budgets);
  const tokenCounting = new TokenCounting(ctx, {
    budgets,
    charges,
    work: agentWork,
    table,
    currency: prices?.currency,
    meter: meters,
  });
  const usageReports = new UsageReports(ctx, {
    sessionReading,
    transcripts,
    prices,
    table,
  });
  return { agentWork, tokenCounting, usageReports };
}

/** The stops of work that goes too far: the cards of spent budgets, and the search for loops. */
export function openBreakers(
  { config, ctx, meters }: Foundation,
  lower: LowerFeatures & { readonly interrupts: Interrupts },
) {
  const action = config["breakers.loops"];
  const found = (kind: string) => meters.loopFound(kind);
  return {
    budgetCards: new BudgetCards(ctx, lower),
    loops: new Loops(ctx, { ...lower, action, found }),
  };
}

/** The secrets of the configuration, which an agent may have come across. */
function secretsOf(config: Config): string[] {
  const secrets = [
    config["daemon.auth_token"],
    config["relay.secret"],
    config["surfaces.telegram.token"],
    config["telemetry.headers"],
  ];
  const variables = [
    config["spawn.env"],
    ...Object.values(config["spawn.profiles"]).map(({ env }) => env),
  ].flatMap((env) => Object.entries(env ?? {}));
  const webhook = config["routing.webhook"];
  return [
    ...secrets.flatMap((secret) => secret?.reveal() ?? []),
    ...variables.filter(([name]) => SECRET_NAME.test(name)).map(([, value]) => value),
    ...webhook === undefined ? [] : [webhook],
  ];
}

type LowerFeatures =
  & SpawnFeatures
  & Pick<ReturnType<typeof openTranscripts>, "sessionReading" | "transcripts">;

/** The hand-over of a peer's work. */
export function openHandoffs(foundation: Foundation, lower: LowerFeatures) {
  const { config, ctx, identity, platform, shutdownSignal } = foundation;
  const handoffs = new Handoffs(ctx, {
    ...lower,
    git: platform.git,
    secrets: [identity.hook_token, ...secretsOf(config)],
    machine: platform.machine,
    shutdownSignal,
  });
  const switches = new Switches(ctx, { ...lower, handoffs });
  return { handoffs, switches };
}
