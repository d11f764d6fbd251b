/** Divides the test files into batches: one process runs a batch, and each file is in one batch. */

export interface Batch {
  readonly files: readonly string[];
  /** Whether its tests use real programs: it never runs beside another such batch. */
  readonly exclusive: boolean;
}

/** A round runs all its batches before the next round begins. */
export interface Round {
  readonly name: string;
  readonly batches: readonly Batch[];
}

const END_TO_END = "tests/e2e/";

/** Files in a batch: many enough for few processes, few enough that all batches end together. */
interface Sizes {
  readonly exclusive: number;
  readonly parallel: number;
}

/**
 * Tests that run a real tmux, kill real daemons or start real agents. An agent keeps more than one
 * core busy as it starts; with two at once, Codex left a message in its composer.
 */
const EXCLUSIVE_FOLDERS = ["tests/crash/", "tests/panes/"];
const QUIET_SUPPORT = [
  "host/private_tmux",
  "e2e/lab",
  "e2e/codex_lab",
  "e2e/opencode_lab",
  "e2e/agent_harness",
  "e2e/installed_agents",
];
const EXCLUSIVE_IMPORT = new RegExp(
  `from "(?:\\.\\./)+support/(?:${QUIET_SUPPORT.join("|")})\\.ts"`,
);

/** The slowest files start first: one that starts last keeps a core idle. */
const LONGEST = [
  /linear_\w+_test/,
  /storm_test|recurring_test|year_test/,
  /e2e\/agents\/selftest_test/,
  /e2e\/(?:agents\/(?:jobs|copilot|opencode|gemini)|relay\/tunnel)_test/,
  /e2e\/(?:agents\/(?:codex\w*|opencode_pane|claude_ask)|conformance\/daemon_mcp|surfaces\/telegram)_test/,
];

/** The files of both rounds; `read` returns the text of a file. */
export function rounds(files: readonly string[], read: (file: string) => string): Round[] {
  const sorted = files.toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  const [end_to_end, in_process] = partition(sorted, (file) => file.startsWith(END_TO_END));
  const isExclusive = (file: string) =>
    EXCLUSIVE_FOLDERS.some((folder) => file.startsWith(folder)) ||
    EXCLUSIVE_IMPORT.test(read(file));
  const round = (name: string, files: readonly string[], sizes: Sizes): Round => {
    const [exclusive, parallel] = partition(files, isExclusive);
    return {
      name,
      batches: [
        ...batches(exclusive, sizes.exclusive, true),
        ...batches(parallel, sizes.parallel, false),
      ],
    };
  };
  return [
    round("in process", in_process, { exclusive: 4, parallel: 10 }),
    round("end to end", end_to_end, { exclusive: 1, parallel: 1 }),
  ];
}

/** The position among the slowest files; all other files come last. */
function rank(file: string): number {
  const found = LONGEST.findIndex((pattern) => pattern.test(file));
  return found < 0 ? LONGEST.length : found;
}

/** A slow file has a batch of its own. */
function batches(files: readonly string[], size: number, exclusive: boolean): Batch[] {
  const [short, long] = partition(files, (file) => rank(file) === LONGEST.length);
  const found: Batch[] = long.map((file) => ({ files: [file], exclusive }));
  for (let at = 0; at < short.length; at += size) {
    found.push({ files: short.slice(at, at + size), exclusive });
  }
  return found;
}

function partition(
  files: readonly string[],
  isFirst: (file: string) => boolean,
): [string[], string[]] {
  return [files.filter(isFirst), files.filter((file) => !isFirst(file))];
}

/** Every test file below a folder, by its path from `root`. */
export function testFiles(root: string, folder = "tests"): string[] {
  return [...Deno.readDirSync(`${root}/${folder}`)].flatMap(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    if (isDirectory) return testFiles(root, path);
    return name.endsWith("_test.ts") ? [path] : [];
  });
}
