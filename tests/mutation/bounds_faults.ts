/** Faults in names among many peers, counts, bodies, streams, shutdown and programs. */

import type { Target } from "./target.ts";

export const BOUNDS_TARGETS: readonly Target[] = [
  {
    file: "daemon/features/peers/identity/naming.ts",
    tests: [
      "tests/daemon/features/peers/many_peers_test.ts",
      "tests/daemon/features/peers/identity/folder_names_test.ts",
    ],
    faults: [
      [
        "folders without a readable form have one name",
        '`folder-${sha256(folder, "hex").slice(0, DIGEST_LENGTH)}`',
        '"root"',
      ],
      [
        "a name with a number of its own counts as taken",
        "return suffix >= 2 && name === withSuffix(wanted, suffix) ? suffix : undefined;",
        "return suffix >= 2 ? suffix : undefined;",
      ],
      [
        "a long name gets a number that is taken",
        "prefix: part === name ? `${name}-` : part",
        "prefix: `${name}-`",
      ],
    ],
  },
  {
    file: "daemon/features/peers/registration.ts",
    tests: ["tests/daemon/features/peers/many_peers_test.ts"],
    faults: [
      ["any number of peers may be live", "live >= LIVE_PEERS_MAX", "live < 0"],
      ["any number of peers may have a record", "records >= PEER_RECORDS_MAX", "records < 0"],
    ],
  },
  {
    file: "daemon/features/messages/ledger/audit.ts",
    tests: ["tests/daemon/features/messages/ledger/audit_test.ts"],
    faults: [
      [
        "counts are those of all messages",
        "const params = { ...instants, ...range, peer_id, state };",
        "const params = { ...instants, ...range, peer_id: null, state: null };",
      ],
      [
        "messages of another peer are unaccounted",
        ".filter((message) => isInScope(message, { peer_id, state }));",
        ".filter(() => true);",
      ],
    ],
  },
  {
    file: "daemon/features/asks/multi_asks.ts",
    tests: ["tests/daemon/features/asks/many_test.ts"],
    faults: [
      [
        "a recipient that is named twice is asked twice",
        "if (!recipients.has(key)) recipients.set(key, { peer, to });",
        "recipients.set(`${recipients.size}`, { peer, to });",
      ],
      [
        "a refused recipient is listed by each of its names",
        "to instanceof Refusal ? subjectOf(to) ?? peer : to;",
        "to instanceof Refusal ? peer : to;",
      ],
    ],
  },
  {
    file: "kit/http/body_limiter.ts",
    tests: ["tests/kit/http/body_limiter_test.ts"],
    faults: [
      ["slow bodies never end", "if (now - arriving.startedAt < BODY_MS_MAX) return;", "return;"],
      [
        "bodies take any amount of memory together",
        "if (this.#total <= this.#totalBytesMax) break;",
        "break;",
      ],
      ["a body that has ended still counts", "    this.#total -= bytes;", ""],
    ],
  },
  {
    file: "kit/core/background.ts",
    tests: ["tests/daemon/app/shutdown_moments_test.ts"],
    faults: [
      ["a shutdown waits for nothing", "while (this.#running.size > 0 &&", "while (false &&"],
      ["what fails after a shutdown is an error", "if (this.#isClosed)", "if (false)"],
    ],
  },
  {
    file: "daemon/host/program_group.ts",
    tests: ["tests/daemon/host/program_limits_test.ts", "tests/daemon/host/program_group_test.ts"],
    faults: [
      [
        "a process of a sandbox outlives its time limit",
        "return { session: this.#session, mark: this.mark, descendants };",
        "return { session: this.#session, mark: this.mark };",
      ],
      ["a program is not in a session of its own", "detached: own_session,", "detached: false,"],
      [
        "what left the session goes on",
        "environmentOf(pid)?.get(MARK) === mark",
        "false",
      ],
      ["an open pipe is waited for", "await timeout(clock, OUTPUT_MS_MAX, read);", "await read;"],
    ],
  },
  {
    file: "kit/http/openapi.ts",
    tests: ["tests/kit/http/openapi_test.ts"],
    faults: [
      [
        "the description forbids the nulls that a route takes",
        'if (part === "body") jsonSchema[NULLABLE] = nullableFields(def.shape);',
        "",
      ],
      [
        "a body is required only if a field is",
        "required: refusesEmpty(body),",
        'required: Array.isArray(schema["required"]),',
      ],
    ],
  },
  {
    file: "protocol/jobs/contract.ts",
    tests: ["tests/daemon/api/described_bodies_test.ts"],
    faults: [["the description of a job has no rule between fields", ".meta(CONFLICTS)", ""]],
  },
  {
    file: "protocol/agents/contract.ts",
    tests: ["tests/daemon/api/described_bodies_test.ts"],
    faults: [[
      "the description of keys allows control characters",
      'typedText.regex(NO_CONTROLS, "no control characters")',
      'typedText.refine((text) => NO_CONTROLS.test(text), "no control characters")',
    ]],
  },
  {
    file: "protocol/api/mcp.ts",
    tests: ["tests/daemon/api/described_bodies_test.ts"],
    faults: [[
      "the description of MCP allows fields that are refused",
      "const JsonRpcMessage = z.strictObject({",
      "const JsonRpcMessage = z.object({",
    ]],
  },
  {
    file: "relay/shares/routes.ts",
    tests: ["tests/relay/shares/shares_test.ts"],
    faults: [[
      "the relay refuses null in an optional field of a share",
      "return readBodyOf(schema, input);",
      "return schema.parse(input);",
    ]],
  },
  {
    file: "kit/core/schema.ts",
    tests: ["tests/kit/http/openapi_test.ts"],
    faults: [[
      "a whole number in a query is described as a text without bounds",
      '.meta({ type: "integer", minimum, maximum })',
      "",
    ]],
  },
  {
    file: "kit/http/mcp_tools.ts",
    tests: ["tests/kit/http/mcp_tools_test.ts"],
    faults: [
      ["null is not left out", "if (value === null) return rest;", ""],
      [
        "any number that is too large is clamped",
        'issue.code === "too_big" && key.endsWith("_seconds")',
        'issue.code === "too_big"',
      ],
    ],
  },
  {
    file: "daemon/features/messages/attachments/store.ts",
    tests: ["tests/daemon/features/messages/attachments/attachments_test.ts"],
    faults: [
      [
        "a file of a queued message is deleted",
        "where state = 'queued' and ${CARRIES}",
        "where state = 'queued' and false",
      ],
      [
        "a file of an open ask is deleted",
        "where ask_state = 'open' and ${CARRIES}",
        "where ask_state = 'open' and false",
      ],
    ],
  },
];
