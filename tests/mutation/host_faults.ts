/** Faults in the programs that surround the daemon: its service, its files, terminals. */

import type { Target } from "./target.ts";

const SERVICE = "tests/e2e/install/service_test.ts";

export const HOST_TARGETS: readonly Target[] = [
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
