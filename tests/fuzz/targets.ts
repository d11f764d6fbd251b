/** Every target, in the order in which a round runs them. */

import { HOOKS } from "./daemon/hooks.ts";
import { DESCRIBED_REQUESTS, ROUTES } from "./daemon/routes.ts";
import { SOCKETS } from "./daemon/sockets.ts";
import { TOOLS } from "./daemon/tools.ts";
import { FILE_PARSERS } from "./parsers/files.ts";
import { SCREEN_PARSERS } from "./parsers/screens.ts";
import { STREAM_PARSERS } from "./parsers/streams.ts";
import { TEXT_PARSERS } from "./parsers/text.ts";
import { CHAT_UPDATES, HOOK_PROGRAM } from "./programs.ts";
import { RELAY_DESCRIBED_REQUESTS, RELAY_ROUTES } from "./relay/routes.ts";
import type { Target } from "./target.ts";

export const TARGETS: readonly Target[] = [
  ROUTES,
  DESCRIBED_REQUESTS,
  HOOKS,
  SOCKETS,
  TOOLS,
  RELAY_ROUTES,
  RELAY_DESCRIBED_REQUESTS,
  HOOK_PROGRAM,
  CHAT_UPDATES,
  ...TEXT_PARSERS,
  ...SCREEN_PARSERS,
  ...FILE_PARSERS,
  ...STREAM_PARSERS,
];
