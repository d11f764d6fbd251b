/** Names of the variables that decide how a process reaches external servers. */

import { AUTHORITY_VARIABLES } from "./authorities.ts";
import { PROXY_VARIABLES } from "./proxies.ts";

export const OUTGOING_VARIABLES: readonly string[] = [...PROXY_VARIABLES, ...AUTHORITY_VARIABLES];
