/** The verdicts that the self-test derives from results, and the file that keeps them. */

import assert from "node:assert/strict";
import { join } from "node:path";
import {
  mergeVerdict,
  type Result,
  saveVerdict,
  toVerdict,
} from "../../../tools/selftest/verdicts.ts";
import { parseVerdicts, VERDICTS_FILE } from "protocol/agents/selftest.ts";

const TESTED_AT = Date.parse("2026-11-21T12:00:00Z");

function result(more: Partial<Result>): Result {
  return {
    agent: "claude-code",
    version: "2.1.329",
    scenario: "idle",
    transport: "native",
    result: "passed",
    ms: 100,
    detail: null,
    ...more,
  };
}

const FULL_RUN = { at: TESTED_AT, isComplete: true } as const;
const FAILED = { result: "failed", ms: null, detail: "The draft is gone" } as const;

Deno.test("a failure degrades its own transport only", () => {
  const verdict = toVerdict([
    result({}),
    result({ scenario: "draft", ...FAILED }),
    result({ scenario: "by pane", transport: "pane" }),
    result({ scenario: "all", transport: "hook", result: "not tested", ms: null }),
  ], FULL_RUN);
  assert.deepEqual(verdict, {
    version: "2.1.329",
    at: TESTED_AT,
    transports: {
      native: { degraded: true, why: "draft: The draft is gone" },
      pane: { degraded: false, why: null },
    },
  });
});

Deno.test("an agent that could not be started yields no verdict", () => {
  const start = result({ scenario: "start", transport: null, ...FAILED });
  assert.equal(toVerdict([start], FULL_RUN), undefined);
  assert.equal(toVerdict([result({ result: "not tested" })], FULL_RUN), undefined);
  assert.equal(toVerdict([], FULL_RUN), undefined);
});

Deno.test("a partial run clears no transport, but a failure degrades it", () => {
  const part = { at: TESTED_AT, isComplete: false };
  assert.equal(toVerdict([result({})], part), undefined);
  const verdict = toVerdict([result(FAILED), result({ transport: "pane" })], part);
  assert.deepEqual(verdict?.transports, {
    native: { degraded: true, why: "idle: The draft is gone" },
  });
});

Deno.test("an unknown transport yields no verdict", () => {
  assert.equal(toVerdict([result({ transport: "none", ...FAILED })], FULL_RUN), undefined);
});

Deno.test("an untested transport keeps its verdict, and a pass clears a failure", () => {
  const tested = (transports: object) => ({ version: "1", at: TESTED_AT, transports });
  const known = {
    agents: {
      codex: tested({ native: { degraded: true, why: "idle: deaf" } }),
      gemini: tested({ pane: { degraded: true, why: "draft: gone" } }),
    },
  };
  const passed = {
    version: "2",
    at: TESTED_AT + 1,
    transports: { pane: { degraded: false, why: null } },
  };
  assert.deepEqual(mergeVerdict(known, "gemini", passed).agents, {
    codex: known.agents.codex,
    gemini: passed,
  });
  assert.deepEqual(mergeVerdict(known, "codex", passed).agents.codex?.transports, {
    ...known.agents.codex.transports,
    ...passed.transports,
  });
});

Deno.test("verdicts of an older release, which calls transports `rungs`, are still read", () => {
  const file = {
    agents: {
      codex: {
        version: "0.169.0",
        at: "2026-11-21T12:00:00.000Z",
        rungs: {
          native: { degraded: true, why: "idle: deaf" },
          pane: { degraded: false, why: null },
        },
      },
    },
  };
  assert.deepEqual(parseVerdicts(JSON.stringify(file)), {
    agents: {
      codex: {
        version: "0.169.0",
        at: TESTED_AT,
        transports: {
          native: { degraded: true, why: "idle: deaf" },
          pane: { degraded: false, why: null },
        },
      },
    },
  });
});

Deno.test("verdicts are saved in the state directory with mode 0600", () => {
  const dir = Deno.makeTempDirSync({ prefix: "mesh-verdicts-" });
  try {
    const env = { MESH_STATE: join(dir, "state") };
    const path = join(dir, "state", VERDICTS_FILE);
    const verdict = toVerdict([result({})], FULL_RUN);
    assert(verdict);
    saveVerdict(env, "claude-code", verdict);
    assert.deepEqual(parseVerdicts(Deno.readTextFileSync(path)), {
      agents: { "claude-code": verdict },
    });
    assert.equal((Deno.statSync(path).mode ?? 0) & 0o777, 0o600);
    for (const invalid of ["", "{", '{"agents": 3}']) {
      Deno.writeTextFileSync(path, invalid);
      saveVerdict(env, "claude-code", verdict);
      assert.equal(
        parseVerdicts(Deno.readTextFileSync(path))?.agents["claude-code"]?.at,
        TESTED_AT,
      );
    }
  } finally {
    Deno.removeSync(dir, { recursive: true });
  }
});
