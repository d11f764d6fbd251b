/** The requirements: every sentence that the daemon must keep, which tests cite by its id. */

import { CONTRACT_1 } from "./spec/contract_1.ts";
import { CONTRACT_3 } from "./spec/contract_3.ts";
import { OAUTH } from "./spec/oauth.ts";
import { RELAY_ROOMS } from "./spec/relay_rooms.ts";
import { RELAY_TUNNEL } from "./spec/relay_tunnel.ts";
import type { Requirement } from "./spec/requirement.ts";
import { SCHEDULES } from "./spec/schedules.ts";
import { SECTION_2 } from "./spec/section_2.ts";
import { SECTION_3 } from "./spec/section_3.ts";
import { SECTION_4 } from "./spec/section_4.ts";
import { SECTION_6 } from "./spec/section_6.ts";
import { SECTION_7 } from "./spec/section_7.ts";
import { SECTION_8 } from "./spec/section_8.ts";

export const REQUIREMENTS: readonly Requirement[] = [
  ...SECTION_2,
  ...SECTION_3,
  ...SECTION_4,
  ...SECTION_6,
  ...SECTION_7,
  ...SECTION_8,
  ...CONTRACT_1,
  ...CONTRACT_3,
  ...SCHEDULES,
  ...OAUTH,
  ...RELAY_ROOMS,
  ...RELAY_TUNNEL,
];
