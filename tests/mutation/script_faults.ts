/** Faults in what runs outside of the daemon: the hooks' script, the installer. */

import type { Target } from "./target.ts";

const SCRIPT = "tests/cli/programs/hook_script_test.ts";

export const SCRIPT_TARGETS: readonly Target[] = [
  {
    file: "daemon/features/agents/hooks/hook.bash",
    tests: [SCRIPT],
    faults: [
      [
        "a payload is not read without a state directory",
        "find_state || state=",
        "find_state || exit 0",
      ],
      [
        "a hook goes to the process that has taken the daemon's pid",
        '[[ ${fields[0]} != [ZX] && (-z $2 || ${fields[19]} == "$2") ]]',
        "[[ ${fields[0]} != [ZX] ]]",
      ],
      [
        "a variable with a line break adds a header",
        "[[ -z $2 || $2 == *[!\\ -~]* ]] || head+=",
        "[[ -z $2 ]] || head+=",
      ],
      [
        "a part of an answer is printed",
        "((${#answer} == BASH_REMATCH[1])) || fail",
        "((${#answer} <= BASH_REMATCH[1])) || fail",
      ],
      [
        "an answer that is no JSON is printed",
        "[[ $answer == '{'*'}' ]] || fail",
        "[[ -n $answer ]] || fail",
      ],
      [
        "a decision is awaited no longer than any answer",
        "limit_time $((decision_seconds + 2))",
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
