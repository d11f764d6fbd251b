/** The requirements: sentences that the product must keep. Tests cite them by their ids. */

import { CONTRACT_1 } from "./requirements/contract_1.ts";
import { CONTRACT_11 } from "./requirements/contract_11.ts";
import { CONTRACT_3 } from "./requirements/contract_3.ts";
import { OAUTH } from "./requirements/oauth.ts";
import { RELAY_FEATURES } from "./requirements/relay_features.ts";
import { RELAY_TUNNEL } from "./requirements/relay_tunnel.ts";
import type { Requirement } from "./requirements/requirement.ts";
import { SCHEDULES } from "./requirements/schedules.ts";
import { SECTION_2 } from "./requirements/section_2.ts";
import { SECTION_3 } from "./requirements/section_3.ts";
import { SECTION_4 } from "./requirements/section_4.ts";
import { SECTION_6 } from "./requirements/section_6.ts";
import { SECTION_7 } from "./requirements/section_7.ts";
import { SECTION_8 } from "./requirements/section_8.ts";
import { SUBSCRIPTIONS } from "./requirements/subscriptions.ts";

export const REQUIREMENTS: readonly Requirement[] = [
  ...SECTION_2,
  ...SECTION_3,
  ...SECTION_4,
  ...SECTION_6,
  ...SECTION_7,
  ...SECTION_8,
  ...CONTRACT_1,
  ...CONTRACT_3,
  ...CONTRACT_11,
  ...SCHEDULES,
  ...SUBSCRIPTIONS,
  ...OAUTH,
  ...RELAY_FEATURES,
  ...RELAY_TUNNEL,
];
