/** The modules of the commands: each module is loaded when one of its commands runs. */

import type { Command, CommandSpec } from "../command/command.ts";

/** In the order of the command table. */
export const MODULES = {
  daemon: async () => (await import("./daemon/daemon.ts")).DAEMON_COMMANDS,
  config: async () => (await import("./daemon/config.ts")).CONFIG_COMMANDS,
  open: async () => (await import("./daemon/open.ts")).OPEN_COMMANDS,
  doctor: async () => [(await import("../doctor/doctor_command.ts")).DOCTOR],
  selftest: async () => [(await import("../../tools/selftest/selftest_command.ts")).SELFTEST],
  peer_list: async () => [(await import("./peer_list.ts")).PEERS],
  asks: async () => (await import("./asks.ts")).ASK_COMMANDS,
  peers: async () => (await import("./peers.ts")).PEER_COMMANDS,
  peer_settings: async () => (await import("./peer_settings.ts")).PEER_SETTING_COMMANDS,
  questions: async () => (await import("./questions.ts")).QUESTION_COMMANDS,
  search: async () => (await import("./search.ts")).SEARCH_COMMANDS,
  digest: async () => [(await import("./inbox/digest.ts")).DIGEST],
  inbox: async () => (await import("./inbox/inbox.ts")).INBOX_COMMANDS,
  jobs: async () => (await import("./jobs.ts")).JOB_COMMANDS,
  schedules: async () => (await import("./schedules.ts")).SCHEDULE_COMMANDS,
  spawn: async () => (await import("./spawn.ts")).SPAWN_COMMANDS,
  starting: async () => (await import("./sessions/starting.ts")).STARTING_COMMANDS,
  handoff: async () => (await import("./sessions/handoff.ts")).HANDOFF_COMMANDS,
  machines: async () => (await import("./machines/machines.ts")).MACHINE_COMMANDS,
  shares: async () => (await import("./shares.ts")).SHARE_COMMANDS,
  devices: async () => (await import("./devices.ts")).DEVICE_AND_PUSH_COMMANDS,
  upload: async () => [(await import("./upload.ts")).UPLOAD_COMMAND],
  attach: async () => [(await import("./attach.ts")).ATTACH_COMMAND],
  wait: async () => [(await import("./waiting/wait_command.ts")).WAIT_COMMAND],
  when: async () => (await import("./waiting/when.ts")).WHEN_COMMANDS,
  screens: async () => (await import("./screens.ts")).SCREEN_COMMANDS,
  sessions: async () => (await import("./sessions/transcripts.ts")).SESSION_COMMANDS,
  changes: async () => (await import("./changes.ts")).CHANGES_COMMANDS,
  reviews: async () => [(await import("./sessions/reviews.ts")).REVIEW],
  who: async () => [(await import("./holdings/who.ts")).WHO],
  leases: async () => (await import("./holdings/leases.ts")).LEASE_COMMANDS,
  landing: async () => [(await import("./holdings/landing.ts")).LANDING],
  usage: async () => [(await import("./sessions/usage.ts")).USAGE],
  limits: async () => (await import("./sessions/limits.ts")).LIMIT_COMMANDS,
  policy: async () => (await import("./origins/policy.ts")).POLICY_COMMANDS,
  blame: async () => [(await import("./origins/blame.ts")).BLAME],
  budgets: async () => [(await import("./sessions/budgets.ts")).BUDGETS],
  run: async () => (await import("./run/run.ts")).RUN_COMMANDS,
  programs: async () => (await import("./program_commands.ts")).PROGRAM_COMMANDS,
} as const satisfies Readonly<Record<string, () => Promise<readonly Command[]>>>;

/** A command of the table without its `run` function. `deno task gen` writes the table. */
export interface TableEntry extends CommandSpec {
  readonly module: keyof typeof MODULES;
}

/** The command of an entry, with its `run` function. */
export async function loadCommand({ module, usage }: TableEntry): Promise<Command> {
  const command = (await MODULES[module]()).find((command) => command.usage === usage);
  if (!command) throw new Error(`The table of commands is out of date: ${usage}`);
  return command;
}
