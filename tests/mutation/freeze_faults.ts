/** Faults in links and programs that freeze, and in addresses with passwords. */

import type { Target } from "./target.ts";

const LOCAL = ["tests/freeze/local_programs_test.ts"];

export const FREEZE_TARGETS: readonly Target[] = [
  {
    file: "kit/net/tunnel/multiplexed.ts",
    tests: ["tests/kit/net/tunnel/closing_test.ts"],
    faults: [
      [
        "a tunnel waits for its end",
        "now - this.#closing_since >= CLOSE_MS_MAX",
        "now < this.#closing_since",
      ],
    ],
  },
  {
    file: "kit/net/outgoing/http_client.ts",
    tests: ["tests/freeze/outgoing_test.ts"],
    faults: [["a lost connection is used again", "http2: false,", "http2: true,"]],
  },
  {
    file: "daemon/features/agents/codex/app_server.ts",
    tests: LOCAL,
    faults: [["the end waits for the server", "this.#socket.terminate()", "undefined"]],
  },
  {
    file: "daemon/host/tmux/connection.ts",
    tests: LOCAL,
    faults: [
      [
        "the end waits for the server",
        "this.#child.stdout.pipeThrough(new TextDecoderStream(), { signal });",
        "this.#child.stdout.pipeThrough(new TextDecoderStream());",
      ],
    ],
  },
  {
    file: "cli/acp/agent_process.ts",
    tests: ["tests/cli/acp/agent_process_test.ts", ...LOCAL],
    faults: [
      [
        "an agent that ends by itself leaves its processes",
        "await timeout(this.#clock, END_MS_MAX, this.#group.child.status);",
        "if (await timeout(this.#clock, END_MS_MAX, this.#group.child.status)) return;",
      ],
      [
        "the end waits until the agent reads",
        "this.#writer.close().catch(() => undefined);",
        "await this.#writer.close().catch(() => undefined);",
      ],
    ],
  },
  {
    file: "cli/programs/mcp_proxy.ts",
    tests: LOCAL,
    faults: [
      [
        "the end waits until the agent reads",
        "this.#inFlight.forEach((controller) => controller.abort());\n    " +
        "await timeout(systemClock, FINISH_MS_MAX, all);",
        "this.#inFlight.forEach((controller) => controller.abort());\n    await all;",
      ],
    ],
  },
  {
    file: "cli/client/local_http.ts",
    tests: LOCAL,
    faults: [
      [
        "a call waits until it is connected",
        "return await Promise.race([exchange(connecting, request), aborted]);",
        "return await exchange(connecting, request);",
      ],
    ],
  },
  {
    file: "cli/client/uploads.ts",
    tests: LOCAL,
    faults: [
      [
        "an upload waits for ever",
        "return await Promise.race([sending, stalled]);",
        "return await sending;",
      ],
    ],
  },
  {
    file: "clients/typescript/connection.ts",
    tests: ["tests/freeze/web_sockets_test.ts"],
    faults: [
      [
        "the end waits for the daemon",
        "socket.terminate && setTimeout(",
        "undefined && setTimeout(",
      ],
    ],
  },
  {
    file: "daemon/app/daemon.ts",
    tests: ["tests/daemon/app/frozen_shutdown_test.ts"],
    faults: [
      [
        "a shutdown waits for a frozen program",
        "await timeout(features.ctx.clock, WORK_MS_MAX, Promise.all(work));",
        "await Promise.all(work);",
      ],
    ],
  },
  {
    file: "kit/core/settings.ts",
    tests: ["tests/kit/core/credentials_test.ts"],
    faults: [
      [
        "the password of an address is shown",
        'typeof part === "string" ? hideCredentials(part) : part',
        "part",
      ],
    ],
  },
  {
    file: "kit/core/text.ts",
    tests: ["tests/kit/core/credentials_test.ts"],
    faults: [
      [
        "the query of an address is shown",
        '.replaceAll(/([?&][^=&#?\\s]*=)[^&#\\s]*/g, "$1[hidden]")',
        "",
      ],
    ],
  },
];
