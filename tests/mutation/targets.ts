/** All faults, by the files that they are put into. */

import { BOUNDS_TARGETS } from "./bounds_faults.ts";
import { CORE_TARGETS, TIME_TARGETS } from "./core_faults.ts";
import { DATA_TARGETS } from "./data_faults.ts";
import { DISPATCH_TARGETS } from "./dispatch_faults.ts";
import { MACHINES_TARGETS } from "./machines_faults.ts";
import { FREEZE_TARGETS } from "./freeze_faults.ts";
import { HOST_TARGETS, SCRIPT_TARGETS } from "./host_faults.ts";
import { IDENTITY_TARGETS } from "./identity_faults.ts";
import { MACHINE_TARGETS } from "./machine_faults.ts";
import { MESSAGE_TARGETS } from "./message_faults.ts";
import { RELAY_TARGETS } from "./relay_faults.ts";
import { SETTINGS_TARGETS } from "./settings_faults.ts";
import { SPEAKER_TARGETS } from "./speaker_faults.ts";
import { WORK_TARGETS } from "./work_faults.ts";
import type { Target } from "./target.ts";

export const TARGETS: readonly Target[] = [
  ...MESSAGE_TARGETS,
  ...DISPATCH_TARGETS,
  ...CORE_TARGETS,
  ...WORK_TARGETS,
  ...DATA_TARGETS,
  ...RELAY_TARGETS,
  ...MACHINE_TARGETS,
  ...MACHINES_TARGETS,
  ...TIME_TARGETS,
  ...BOUNDS_TARGETS,
  ...SETTINGS_TARGETS,
  ...FREEZE_TARGETS,
  ...HOST_TARGETS,
  ...IDENTITY_TARGETS,
  ...SPEAKER_TARGETS,
  ...SCRIPT_TARGETS,
];
