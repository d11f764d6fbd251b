/** Faults in what setup and the doctor make of the settings files of agents. */

import type { Target } from "./target.ts";

const SAMPLES = "tests/cli/setup/settings_samples_test.ts";
const OTHERS = "tests/cli/setup/other_programs_test.ts";
const UNUSABLE = "tests/cli/setup/unusable_files_test.ts";
const SWITCHES = "tests/cli/setup/switched_off_test.ts";

export const SETTINGS_TARGETS: readonly Target[] = [
  {
    file: "daemon/features/agents/settings_files/difference.ts",
    tests: ["tests/cli/setup/shown_changes_test.ts"],
    faults: [
      [
        "the shown changes hold the secrets of other programs",
        "ours ? maskValues(edits, ours) : edits",
        "edits",
      ],
      [
        "a value that has one word of ours is shown",
        "argv.every((word) => token.includes(word))",
        "argv.some((word) => token.includes(word))",
      ],
    ],
  },
  {
    file: "daemon/features/agents/settings_files/mesh_programs.ts",
    tests: ["tests/daemon/features/agents/settings_files/mesh_programs_test.ts", OTHERS],
    faults: [
      [
        "a hook is ours by its form",
        "return this.#known.has(JSON.stringify(command)) || this.#isMesh(command, WRAPPERS_MAX);",
        "return true;",
      ],
      [
        "a program is ours by its name",
        "return hasSignature(path) || isLauncher(path) || this.#startsMesh(path, depth);",
        'return path.endsWith("/mesh");',
      ],
      [
        "another program that exists is a former one of ours",
        "return isOurName && this.#pathOf(program) === undefined;",
        "return isOurName;",
      ],
    ],
  },
  {
    file: "daemon/features/agents/mcp_server_entry.ts",
    tests: [OTHERS, SAMPLES],
    faults: [
      [
        "another program's server is replaced in silence",
        "if (found !== undefined && !isMesh && !plan.replace) {",
        "if (false) {",
      ],
      [
        "what the user has added to our server is lost",
        "? { ...found, ...missingIn(found, members), command, args }",
        "? entry",
      ],
      [
        "a server that ours replaced does not come back",
        "const isForeign = replaced !== undefined && !programIn(replaced, plan);",
        "const isForeign = false;",
      ],
    ],
  },
  {
    file: "daemon/features/agents/install.ts",
    tests: [OTHERS, SAMPLES],
    faults: [
      [
        "the doctor reads settings in a stricter way than setup",
        'edit.format === "text" ? on.text(edit, text) : on.json(edit, parseJson(text))',
        'edit.format === "text" ? on.text(edit, text) : on.json(edit, JSON.parse(text || "{}"))',
      ],
      [
        "uninstalling brings an older mesh back",
        "if (before !== backup && isWithoutMesh(edit, backup) && isOurChange(edit, backup, before)) {",
        "if (before !== backup && isOurChange(edit, backup, before)) {",
      ],
      [
        "a file that its user created is removed",
        'edit.isCreated?.(before ?? "") ?? true',
        "true",
      ],
    ],
  },
  {
    file: "daemon/features/agents/settings_files/json_patch.ts",
    tests: [SAMPLES],
    faults: [
      [
        "of a key that is there twice, both values are changed",
        "const isRead = memberNode(node, name) === value;",
        "const isRead = true;",
      ],
    ],
  },
  {
    file: "daemon/features/agents/settings_files/text_file.ts",
    tests: [UNUSABLE, SAMPLES],
    faults: [
      ["bytes that are not UTF-8 are lost", "fatal: true, ignoreBOM: true", "ignoreBOM: true"],
      ["a byte order mark is lost", "fatal: true, ignoreBOM: true", "fatal: true"],
      [
        "a link to nothing is replaced",
        'throw fileRefusal(path, detail, "create that file, or remove the link");',
        "return path + detail.slice(detail.length);",
      ],
    ],
  },
  {
    file: "cli/setup/agents.ts",
    tests: [UNUSABLE],
    faults: [
      [
        "the outcome of a file that cannot be used is not told",
        'return { file: { path, outcome: "refused", error: refusal }, difference: "" };',
        "throw error;",
      ],
      [
        "an agent is half set up",
        'const isRefused = plan.some(({ file }) => file.outcome === "refused");',
        "const isRefused = false;",
      ],
    ],
  },
  {
    file: "daemon/features/agents/settings_files/json.ts",
    tests: [UNUSABLE],
    faults: [
      [
        "one file that cannot be used ends the whole setup",
        "return error instanceof FileRefusal ? messageOf(error) : undefined;",
        "return undefined;",
      ],
    ],
  },
  {
    file: "kit/host/file_errors.ts",
    tests: ["tests/cli/command/file_refusals_test.ts", UNUSABLE],
    faults: [
      [
        "a file that its user protected is written",
        "if (mode === undefined || (mode & 0o222) !== 0) continue;",
        "if (mode !== -1) continue;",
      ],
      [
        "an error of a file is a stack trace",
        "if (!reason || (path ===",
        "if (reason || (path ===",
      ],
    ],
  },
  {
    file: "daemon/features/agents/claude_code/setup.ts",
    tests: [SWITCHES],
    faults: [
      [
        "hooks that the user has switched off are not seen",
        '[disableAllHooks === true, "hooks", "disableAllHooks: true", fix];',
        '[false, "hooks", "disableAllHooks: true", fix];',
      ],
      ["managed settings are not read", "if (!isManaged) return [ofAll];", "return [ofAll];"],
    ],
  },
  {
    file: "daemon/features/agents/codex/setup.ts",
    tests: [SWITCHES],
    faults: [
      ["the former name of the switch is not known", '["hooks", "codex_hooks"]', '["hooks"]'],
    ],
  },
  {
    file: "daemon/features/agents/gemini/setup.ts",
    tests: [SWITCHES],
    faults: [
      [
        "a list of allowed servers without ours is not seen",
        "const isLeftOut = Array.isArray(at(path)) && !hasMesh(at(path));",
        "const isLeftOut = false;",
      ],
    ],
  },
  {
    file: "daemon/host/paths.ts",
    tests: ["tests/daemon/host/paths_test.ts"],
    faults: [
      [
        "a relative XDG folder is used",
        'return path.startsWith("/") ? path : undefined;',
        "return path || undefined;",
      ],
      [
        "a relative MESH_STATE is used",
        'if (path.startsWith("/")) return path;',
        "if (path) return path;",
      ],
    ],
  },
  {
    file: "daemon/features/agents/claude_code/starting.ts",
    tests: ["tests/daemon/features/agents/claude_code/starting_test.ts"],
    faults: [
      [
        "a session that has no tools waits for ever",
        "STARTING_MS_MAX = 10_000",
        "STARTING_MS_MAX = 1e9",
      ],
      [
        "a session that was cleared waits for its tools",
        '["startup", "resume", "fork"]',
        '["startup", "resume", "fork", "clear"]',
      ],
    ],
  },
  {
    file: "daemon/features/agents/claude_code/claude_code.ts",
    tests: ["tests/daemon/features/agents/claude_code/starting_test.ts"],
    faults: [
      [
        "a new session gets a message before its tools",
        "if (options.isStarting?.(peer)) return [whileStarting];",
        "",
      ],
    ],
  },
];
