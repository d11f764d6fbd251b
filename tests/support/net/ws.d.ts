/** The class of the package `ws`, as programs pass it to the TypeScript client. */

import type { SocketClass } from "../../../clients/typescript/connection.ts";

export const WebSocket: SocketClass;
