/**
 * Divides the test files into batches: one process runs a batch, and each file is in one batch. The
 * files of a batch share their modules, and a browser.
 */

export interface Batch {
  readonly files: readonly string[];
  /** True if the batch never runs beside another exclusive batch. */
  readonly exclusive: boolean;
}

/** Files in a batch: many enough for few processes, few enough that all lanes end together. */
const FILES_PER_BATCH = 16;
/** The same for tests of whole programs, which take longer. */
const E2E_FILES_PER_BATCH = 6;

/**
 * Tests that start real agents: one at a time, beside the other tests. An agent keeps more than one
 * core busy as it starts; with two at once, Codex left a message in its composer. The tests of
 * Claude Code pass beside any others.
 */
const AGENT_SUPPORT = ["lab", "codex_lab", "opencode_lab", "agent_harness", "installed_agents"];
const AGENT_IMPORT = new RegExp(
  `from "(?:\\.\\./)+support/e2e/(?:${AGENT_SUPPORT.join("|")})\\.ts"`,
);
/** Tests that make the npm package, in one folder. */
const PACKAGE_BUILD = /\b(?:InstalledPackage|makePackage)\b/;
const CLAUDE = /\/claude_\w+_test\.ts$/;

/** The slowest files start first: one that starts last keeps a core idle. */
const LONGEST = [
  /linear_\w+_test/,
  /storm_test|fuzz_test|recurring_test|year_test/,
  /^tests\/(?:e2e|crash|panes)\//,
];
const E2E_RANK = LONGEST.length - 1;

/** The batches of these files, in the order to start them; `read` returns the text of a file. */
export function batchesOf(files: readonly string[], read: (file: string) => string): Batch[] {
  const sorted = files.toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  const [exclusive, parallel] = partition(sorted, (file) => {
    const text = read(file);
    return PACKAGE_BUILD.test(text) || AGENT_IMPORT.test(text) && !CLAUDE.test(file);
  });
  const [long, others] = partition(parallel, (file) => rank(file) < E2E_RANK);
  const [e2e, short] = partition(others, (file) => rank(file) === E2E_RANK);
  const batch = (files: readonly string[], isExclusive = false) => ({
    files,
    exclusive: isExclusive,
  });
  return [
    ...groupsOf(E2E_FILES_PER_BATCH, exclusive).map((files) => batch(files, true)),
    ...long.map((file) => batch([file])),
    ...groupsOf(E2E_FILES_PER_BATCH, e2e).map((files) => batch(files)),
    ...groupsOf(FILES_PER_BATCH, short).map((files) => batch(files)),
  ];
}

function groupsOf(size: number, files: readonly string[]): string[][] {
  return Array.from(
    { length: Math.ceil(files.length / size) },
    (_, n) => files.slice(n * size, (n + 1) * size),
  );
}

/** The position among the slowest files; all other files come last. */
function rank(file: string): number {
  const found = LONGEST.findIndex((pattern) => pattern.test(file));
  return found < 0 ? LONGEST.length : found;
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
