/** Faults in the relay: access tokens, codes, refresh tokens, and the tunnels of daemons. */

import type { Target } from "./target.ts";

const GRANTS = ["tests/relay/oauth", "tests/relay/mcp"];
const TUNNEL = ["tests/relay/daemons/tunnel_test.ts", "tests/relay/daemons"];

export const RELAY_TARGETS: readonly Target[] = [
  {
    file: "relay/app/run_mark.ts",
    tests: ["tests/relay/app/run_mark_test.ts"],
    faults: [
      [
        "the grants of an earlier copy are valid",
        "return isNew ? 0 : revokeAll(tx);",
        "return 0;",
      ],
      [
        "a kill between the database and the file revokes every grant",
        "if (this.#isInFile || (inFile !== undefined && inFile === marks?.mark_before)) return;",
        "if (this.#isInFile) return;",
      ],
      [
        "a change leaves the mark as it is",
        "if (this.#isInFile) db.transactNow((tx) => this.#renewMark(tx));",
        "",
      ],
    ],
  },
  {
    file: "relay/oauth/refusals.ts",
    tests: ["tests/relay/app/shutdown_moments_test.ts"],
    faults: [
      [
        "an app that asks while the relay stops gets an internal error, which is logged",
        'if (isProblem(thrown, "shutting_down")) return new OAuthRefusal("shutting_down");',
        "",
      ],
    ],
  },
  {
    file: "relay/app/relay.ts",
    tests: ["tests/relay/app/shutdown_moments_test.ts"],
    faults: [
      [
        "a request that waits for a machine while the relay stops is logged as an error",
        'this.#shutdown.abort(new Problem("shutting_down", {}));',
        "this.#shutdown.abort();",
      ],
    ],
  },
  {
    file: "relay/oauth/grant_store.ts",
    tests: GRANTS,
    faults: [
      [
        "an expired access token is valid",
        "where t.token_hash = :token_hash and t.expires_at > :now\n",
        "where t.token_hash = :token_hash and :now > 0\n",
      ],
      [
        "a token of a revoked grant is valid",
        "and t.expires_at > :now\n    and g.state = 'active'",
        "and t.expires_at > :now\n",
      ],
    ],
  },
  {
    file: "relay/oauth/grants.ts",
    tests: [...GRANTS, "tests/relay/app/clock_steps_test.ts"],
    faults: [
      [
        "what was issued lasts longer when the clock is set back",
        "this.#deps.db.transactNow((tx) => rows.limitLifetimes(tx, latest));",
        "",
      ],
      [
        "a code is exchanged twice",
        'rows.codes.update(tx, { ...found, state: codeMachine.step(found.state, "exchanged") });',
        "",
      ],
      [
        "a code that is used twice revokes nothing",
        'end(tx, grant, "replayed");\n        return "replayed_code";',
        'return "replayed_code";',
      ],
      [
        "any verifier fits a code",
        'if (!isVerifier(code_verifier, found.code_challenge)) return "wrong_verifier";',
        "",
      ],
      [
        "an app exchanges the code of another app",
        'if (grant.client_id !== client.client_id) return "wrong_code";',
        "",
      ],
      [
        "a refresh token that is used twice revokes nothing",
        'end(tx, grant, "replayed");\n        return "replayed_refresh";',
        'return "replayed_refresh";',
      ],
      [
        "a refresh extends a grant",
        "return { ...grant, scope };",
        "return { ...grant, scope, expires_at: now + GRANT_MS };",
      ],
    ],
  },
  {
    file: "relay/oauth/routes.ts",
    tests: GRANTS,
    faults: [[
      "an app must name the resource in each exchange",
      'refuseOtherResource(params.get("resource") ?? resource, resource);',
      'refuseOtherResource(params.get("resource"), resource);',
    ]],
  },
  {
    file: "relay/oauth/clients.ts",
    tests: ["tests/relay/oauth/clients_test.ts"],
    faults: [[
      "one redirect URI that is not allowed refuses all",
      "const allowed = requested.filter((uri) => redirectProblem(uri) === undefined);",
      "const allowed = requested.every((uri) => !redirectProblem(uri)) ? [...requested] : [];",
    ]],
  },
  {
    file: "relay/oauth/scopes.ts",
    tests: ["tests/relay/oauth"],
    faults: [
      [
        "an unknown scope is refused",
        "if (!requested.has(READ)) return undefined;",
        "if (!requested.has(READ) || requested.size > 2) return undefined;",
      ],
      [
        "a person allows more than the app has requested",
        "return chosen === ALL ? requested : chosen;",
        "return chosen;",
      ],
    ],
  },
  {
    file: "relay/oauth/consent/consent.ts",
    tests: ["tests/relay/oauth/consent"],
    faults: [
      [
        "a person cannot allow reading only",
        "grants.approve({ ...form, scope, namespace });",
        "grants.approve({ ...form, namespace });",
      ],
      [
        "the relay leads to an address that a stranger has registered",
        "return isTrusted ? this.#redirect(answer) : refusalPage(refusal, answer);",
        "return isTrusted || answer ? this.#redirect(answer) : refusalPage(refusal, answer);",
      ],
    ],
  },
  {
    file: "relay/web/cors.ts",
    tests: ["tests/relay/app/cors_test.ts"],
    faults: [[
      "a page of any site may call every route of OAuth",
      "oauth\\/(register|token|revoke)",
      "oauth\\/.*",
    ]],
  },
  {
    file: "relay/mcp/routes.ts",
    tests: ["tests/relay/mcp/access_test.ts"],
    faults: [[
      "/mcp/ is not served",
      'const PATHS = ["/mcp", "/mcp/"] as const;',
      'const PATHS = ["/mcp"] as const;',
    ]],
  },
  {
    file: "daemon/features/messages/routes.ts",
    tests: ["tests/relay/daemons/handover_files_test.ts"],
    faults: [[
      "hand-overs pass the relay without relay.allow_admin",
      "admin_refused && attachments.get(id)?.content_type === HANDOFF_TYPE",
      "admin_refused && attachments.get(id)?.content_type === undefined",
    ]],
  },
  {
    file: "relay/daemons/machine_registry.ts",
    tests: TUNNEL,
    faults: [
      ["two tunnels of one daemon stay open", '    superseded?.end("superseded");', ""],
      [
        "the end of an older tunnel disconnects the newer one",
        "if (daemons?.get(daemon_id) !== link) return;",
        "if (!daemons) return;",
      ],
      [
        "one secret learns which machines another one had",
        "return `${namespace} ${daemon_id}`;",
        "return `${namespace.slice(64)} ${daemon_id}`;",
      ],
    ],
  },
  {
    file: "relay/daemons/daemon_link.ts",
    tests: TUNNEL,
    faults: [
      [
        "a request that a lost daemon may have taken is said not to have arrived",
        "const may_have_been_delivered = error.taken;",
        "const may_have_been_delivered = false;",
      ],
      [
        "a request waits for good for its daemon",
        "if (deadline > now) continue;",
        "if (deadline > 0) continue;",
      ],
    ],
  },
  {
    file: "kit/net/keep_alive.ts",
    tests: TUNNEL,
    faults: [
      [
        "a connection that passes nothing is kept",
        'if (this.#unanswered >= unanswered_max) return "gone";',
        "",
      ],
    ],
  },
];
