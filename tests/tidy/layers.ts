/** The layers, lowest first: an import points to the same layer or to a lower one. */

/** The folders that hold sources. A file outside of them is one of `ENTRY_POINTS`. */
export const LAYERS: readonly string[] = [
  "kit/core",
  "kit/data",
  "kit/http",
  "kit/telemetry",
  "kit/net",
  "kit/host",
  "protocol",
  "dashboard/files",
  "daemon/data",
  "daemon/host",
  "daemon/features/agents",
  "daemon/features/peers",
  "daemon/features/origins",
  "daemon/features/budgets",
  "daemon/features/messages",
  "daemon/features/asks",
  "daemon/features/inbox",
  "daemon/features/notifications",
  "daemon/features/hooks",
  "daemon/features/lifecycle",
  "daemon/features/leases",
  "daemon/features/spawn",
  "daemon/features/limits",
  "daemon/features/jobs",
  "daemon/features/wakes",
  "daemon/features/schedules",
  "daemon/features/subscriptions",
  "daemon/features/transcripts",
  "daemon/features/changes",
  "daemon/features/proofs",
  "daemon/features/files",
  "daemon/features/joint_checks",
  "daemon/features/recall",
  "daemon/features/digest",
  "daemon/features/usage",
  "daemon/features/reviews",
  "daemon/features/breakers",
  "daemon/features/handoffs",
  "daemon/features/blame",
  "daemon/features/relay",
  "daemon/machines",
  "daemon/api/mcp",
  "daemon/api",
  "daemon/app",
  "relay/web",
  "relay/daemons",
  "relay/sign_in",
  "relay/mcp",
  "relay/oauth",
  "relay/shares",
  "relay/app",
  "dashboard/parts",
  "dashboard/state",
  "dashboard/components",
  "dashboard/views",
  "dashboard/app",
  "dashboard/gallery",
  "cli/client",
  "cli/output",
  "cli/screen",
  "cli/command",
  "cli/programs",
  "cli/acp",
  "cli/setup",
  "cli/doctor",
  "surfaces",
  "tools/selftest",
  "tools/demo",
  "cli/commands",
  "cli/live",
  "clients/typescript",
  "packaging",
];

/** The only files outside of the layers and of the folders of `tests/`. */
export const ENTRY_POINTS: readonly string[] = ["main.ts", "cli.ts", "tests/run.ts"];

/** The programs that each program may import from. */
// deno-fmt-ignore
export const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  kit:       ["kit"],
  protocol:  ["kit", "protocol"],
  daemon:    ["kit", "protocol", "daemon", "dashboard"],
  relay:     ["kit", "protocol", "relay", "dashboard"],
  dashboard: ["kit", "protocol", "dashboard"],
  cli:       ["kit", "protocol", "cli", "daemon", "relay", "dashboard", "surfaces", "tools"],
  surfaces:  ["kit", "protocol", "surfaces", "cli", "daemon"],
  tools:     ["kit", "protocol", "tools", "cli", "daemon"],
  packaging: ["kit", "packaging", "clients", "cli", "daemon", "dashboard"],
  clients:   ["clients"],
};

/** The folders of other programs that a program may import, besides `kit` and `protocol`. */
export const SHARED: Readonly<Record<string, readonly string[]>> = {
  daemon: ["dashboard/files/"],
  relay: ["dashboard/files/"],
  dashboard: [],
  cli: [
    "daemon/host/",
    "daemon/features/agents/",
    "daemon/machines/nats/",
    "daemon/app/",
    "relay/app/main.ts",
    "surfaces/",
    "tools/",
  ],
  surfaces: ["daemon/host/", "cli/client/", "cli/command/", "cli/output/"],
  tools: ["daemon/host/", "daemon/features/agents/", "cli/"],
  packaging: [
    "dashboard/files/",
    "clients/typescript/package.json",
    "cli/client/",
    "cli/commands/generated/",
    "daemon/host/",
    "daemon/features/agents/settings_files/",
  ],
};

/** Folders of tests that mirror no source: they test a whole program, or the repository. */
export const TEST_KINDS: readonly string[] = [
  "tests/bench",
  "tests/crash",
  "tests/e2e",
  "tests/fuzz",
  "tests/golden",
  "tests/golden_files",
  "tests/mutation",
  "tests/panes",
  "tests/regex",
  "tests/runner",
  "tests/shape",
  "tests/apps",
  "tests/freeze",
  "tests/soak",
  "tests/spec",
  "tests/storm",
  "tests/support",
  "tests/tidy",
];

/** The index of a file's layer; undefined for a file outside of the layers. */
export function layerOf(path: string): number | undefined {
  const found = LAYERS.findIndex((layer) => path.startsWith(`${layer}/`));
  return found < 0 ? undefined : found;
}
