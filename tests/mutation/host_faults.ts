/** Faults in the programs around the daemon: its service, files, terminals, hooks, installer. */

import type { Target } from "./target.ts";

const SERVICE = "tests/e2e/install/service_test.ts";

const SESSIONS = "tests/daemon/host/tmux/session_groups_test.ts";
const SCRIPT = "tests/cli/programs/hook_script_test.ts";
const SCRIPT_LIMITS = "tests/cli/programs/hook_script_limits_test.ts";
const FIRST_DIALOG = "tests/daemon/features/spawn/first_dialog_test.ts";

export const HOST_TARGETS: readonly Target[] = [
  {
    file: "daemon/host/sockets/sockets.ts",
    tests: ["tests/daemon/host/sockets/sockets_test.ts"],
    faults: [[
      "who once held a connection holds it for good",
      "if (known ? holds(known, inode) : this.#holders.has(inode)) return known?.pid;",
      "if (this.#holders.has(inode)) return known?.pid;",
    ], [
      "on macOS a child calls as the agent that started it",
      'if (line.startsWith("p")) pid = Number(line.slice(1));',
      'if (line.startsWith("p")) pid ??= Number(line.slice(1));',
    ]],
  },
  {
    file: "daemon/host/liveness_cache.ts",
    tests: ["tests/daemon/host/processes_test.ts"],
    faults: [[
      "a process keeps a parent that has ended",
      "if (known && this.isAlive(known.pid, known.started)) return known.pid;",
      "if (known) return known.pid;",
    ]],
  },
  {
    file: "daemon/host/tmux/session_names.ts",
    tests: [SESSIONS],
    faults: [
      [
        "each session of a group has a circle of its own",
        "ofGroup || session_group || session",
        "session",
      ],
      [
        "a renamed session is another circle",
        "this.#names.get(key) || ofGroup",
        "ofGroup",
      ],
    ],
  },
  {
    file: "daemon/host/tmux/tmux.ts",
    tests: [SESSIONS],
    faults: [
      [
        "a pane is listed once for each session that shows it",
        "panes: uniquePanes(this.#sessionNames.nameAll(listed))",
        "panes: this.#sessionNames.nameAll(listed)",
      ],
    ],
  },
  {
    file: "daemon/host/tmux/terminals.ts",
    tests: [SESSIONS],
    faults: [
      [
        "a semicolon at the end of an argument ends the command",
        'return text.replace(/;$/, "\\\\;");',
        "return text;",
      ],
    ],
  },
  {
    file: "daemon/features/agents/missing_panes.ts",
    tests: [SESSIONS],
    faults: [
      [
        "a pane that is not there counts as a transport",
        'if (state === "missing") this.#missing.add(key);',
        "",
      ],
    ],
  },
  {
    file: "daemon/features/spawn/registrations.ts",
    tests: [FIRST_DIALOG],
    faults: [
      [
        "nobody is told of a spawned agent that waits at its first dialog",
        "this.waits.registered(spawn, peer_id);\n      const isSilent",
        "const isSilent",
      ],
      [
        "a dialog after the registration of a silent agent is not noticed",
        "const FIRST_DIALOG_MS_MAX = 60_000;",
        "const FIRST_DIALOG_MS_MAX = -1;",
      ],
      [
        "a spawned agent whose first dialog was answered awaits input for good",
        "for (const peer of this.#atFirstDialog()) await this.#checkDialog(peer);",
        "",
      ],
    ],
  },
  {
    file: "cli/client/daemon_process.ts",
    tests: [SERVICE],
    faults: [
      [
        "up and restart start the daemon beside its service",
        ": await found?.start() ?? null;",
        ': found ? "" : null;',
      ],
      [
        "down leaves a service that starts the daemon again",
        'await found?.stop("waiting");',
        "",
      ],
    ],
  },
  {
    file: "daemon/app/main.ts",
    tests: ["tests/crash/jobs_test.ts"],
    faults: [
      [
        "programs of a killed daemon go on for good",
        "started.endLeft(clock, log)",
        "Promise.resolve()",
      ],
    ],
  },
  {
    file: "cli/doctor/daemon.ts",
    tests: ["tests/cli/doctor/doctor_command_test.ts"],
    faults: [
      [
        "a stopped daemon's doctor names no copy to go back to",
        "...diskSchemaFindings(machine), ...copyFindings(machine)",
        "...diskSchemaFindings(machine)",
      ],
    ],
  },
];

/** The hooks' script, the launcher's, and the installer. */
export const SCRIPT_TARGETS: readonly Target[] = [
  {
    file: "daemon/host/scripts/state.bash",
    tests: [SCRIPT],
    faults: [
      [
        "a payload is not read without a state directory",
        "fi\n[[ $state == /* ]] || state=",
        "fi\n[[ $state == /* ]] || exit 0",
      ],
    ],
  },
  {
    file: "daemon/host/scripts/find_daemon.bash",
    tests: [SCRIPT],
    faults: [
      [
        "a hook goes to the process that has taken the daemon's pid",
        '[[ $1 != [ZX] && ${20} == "$started" ]]',
        "[[ $1 != [ZX] ]]",
      ],
    ],
  },
  {
    file: "daemon/host/scripts/settle_shell.bash",
    tests: [SCRIPT, SCRIPT_LIMITS],
    faults: [
      ["a refused connection ends a script that runs in POSIX mode", "set +o posix", "true"],
      ["a limit of reads in the environment ends a wait for a decision", "unset TMOUT", "true"],
    ],
  },
  {
    file: "daemon/host/scripts/limit_time.bash",
    tests: [SCRIPT_LIMITS],
    faults: [
      ["a payload without an end keeps the agent waiting", 'kill -KILL "$$"', "true"],
    ],
  },
  {
    file: "packaging/mesh",
    tests: ["tests/packaging/launcher_test.ts"],
    faults: [
      [
        "the answer to --help of a command is that of all commands",
        "if [ $# -eq 1 ]; then",
        "if true; then",
      ],
      [
        "a version that cannot be written is lost without a word",
        'echo "@version" 2>/dev/null && exit ;;',
        'echo "@version" 2>/dev/null; exit ;;',
      ],
    ],
  },
  {
    file: "packaging/command.bash",
    tests: ["tests/packaging/command_script_test.ts"],
    faults: [
      [
        "a request without an answer is sent again",
        "export MESH_UNANSWERED=http://$host:$port",
        "true",
      ],
      [
        "a part of an answer is printed",
        "((${#output} == BASH_REMATCH[1])) || report_no_answer",
        "true",
      ],
      [
        "a token of another section is sent",
        "(daemon:$line(([ #][^$line]*)?$line)* +|daemon\\\\.)auth_token",
        " *(()())?auth_token",
      ],
      [
        "a setting in the environment is ignored",
        "*) run_mesh ;;\n  esac\ndone",
        "*) ;;\n  esac\ndone",
      ],
      [
        "a configuration that the daemon has not read is ignored",
        " && $config -ot $file ]]",
        " ]]",
      ],
    ],
  },
  {
    file: "daemon/api/command_lines.ts",
    tests: ["tests/daemon/api/command_lines_test.ts"],
    faults: [
      ["a page runs commands as a program", " || via !== undefined", ""],
      ["a command needs no token of its caller", 'raw.headers.get("authorization")', "null"],
    ],
  },
  {
    file: "daemon/features/agents/hooks/hook.bash",
    tests: [SCRIPT, SCRIPT_LIMITS],
    faults: [
      [
        "an answer that the agent does not read is an error",
        `printf '%s' "$answer"\nexit 0`,
        `printf '%s' "$answer"\n`,
      ],
      [
        "mesh outlives the script that the agent has ended",
        'exec "${mesh[@]}" hook',
        '"${mesh[@]}" hook',
      ],
      [
        "a variable with a line break adds a header",
        "[[ $header == *': ' || $header == *[!\\ -~]* ]] || head+=",
        "[[ $header == *': ' ]] || head+=",
      ],
      [
        "a part of an answer is printed",
        "*[Cc]ontent-[Ll]ength:*([\\ ])${#answer}$'\\r'* ]]",
        "*[Cc]ontent-[Ll]ength:* ]]",
      ],
      [
        "an answer that is no JSON is printed",
        "[[ $answer == '{'*'}' ]] || fail",
        "[[ -n $answer ]] || fail",
      ],
      [
        "a decision is awaited no longer than any answer",
        "seconds_max=$((BASH_REMATCH[1] + 2))",
        ":",
      ],
      [
        "a killed daemon leaves its marker for good",
        '[[ ! -e $marker ]] || rm -f "$marker"',
        "true",
      ],
    ],
  },
  {
    file: "daemon/features/agents/hooks/hook_script.ts",
    tests: [SCRIPT],
    faults: [
      [
        "the command of a mesh in a folder with spaces is split",
        '`mesh=(${mesh.map(shellQuote).join(" ")})`',
        '`mesh=(${mesh.join(" ")})`',
      ],
    ],
  },
  {
    file: "daemon/features/agents/pane_transport.ts",
    tests: ["tests/daemon/features/agents/pane_test.ts"],
    faults: [
      [
        "a message is typed into an agent that takes no prompt yet",
        "screen.isStarting?.(view)",
        "false",
      ],
    ],
  },
  {
    file: "packaging/install.ts",
    tests: ["tests/packaging/install_task_test.ts"],
    faults: [
      [
        "an installation removes the program that still runs",
        'before === undefined ? "" : dirname(before)',
        '""',
      ],
      [
        "the program of another launcher is removed",
        "if (!kept.includes(path) && !isInUse(path))",
        "if (!kept.includes(path))",
      ],
    ],
  },
];
