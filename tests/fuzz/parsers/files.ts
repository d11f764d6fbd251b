/** Readers of files: configuration, our own state, transcripts and sessions of agents. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import fc from "fast-check";
import type { Boottime, Clock, Monotonic } from "kit/core/clock.ts";
import { parseSetting, readConfig } from "../../../daemon/app/config.ts";
import { resumeClaude } from "../../../daemon/features/agents/claude_code/transcripts.ts";
import { sessionOf } from "../../../daemon/features/agents/claude_code/registry.ts";
import { rolloutOf } from "../../../daemon/features/agents/codex/rollouts.ts";
import * as copilot from "../../../daemon/features/agents/copilot/sessions.ts";
import * as gemini from "../../../daemon/features/agents/gemini/sessions.ts";
import { parseVerdicts } from "protocol/agents/selftest.ts";
import { parseJson } from "../../../daemon/features/agents/settings_files/json_patch.ts";
import { rootOf } from "../../../daemon/features/agents/settings_files/jsonc.ts";
import { readRelayConfig } from "../../../relay/app/config.ts";
import { tokenIn } from "../../../clients/typescript/daemon.ts";
import { damagedText, hostileText } from "../hostile.ts";
import { parser, type Target } from "../target.ts";

const ID = "0e3f9c04-d1a2-4b7c-8d9e-0f1a2b3c4d5e";
const FOLDER = "/work/api";
const CONFIGS = [
  "daemon:\n  port: 9000\n  auth_token: 'a b'\nhuman: {name: sam}\n",
  "spawn:\n  commands: {codex: [codex, --yolo]}\n  allowed_paths: [~/work]\n",
  'daemon:\n  auth_token: "a \\"b\\" # c" # ours\n',
  "telemetry: {otlp: http://127.0.0.1:4318, sample: 0.5}\n",
  "daemon: &a [*a]\n",
  "jobs: {checks: {unit: {argv: [make], timeout_seconds: 5}}}\n",
];
const TRANSCRIPTS = {
  claude: [`{"type":"user","cwd":"${FOLDER}"}\n{"type":"assistant"}\n`],
  rollout: [`{"type":"session_meta","payload":{"id":"${ID}","cwd":"${FOLDER}"}}\n{}\n`],
  copilot: [
    '{"type":"session.start","timestamp":"2026-11-20T10:00:00Z",' +
    `"data":{"sessionId":"${ID}","context":{"cwd":"${FOLDER}"}}}\n` +
    '{"type":"user.message","timestamp":"2026-11-20T10:00:01Z","data":{"content":"Hi"}}\n' +
    '{"type":"assistant.message","timestamp":"2026-11-20T10:00:02Z","data":{"content":"Ho"}}\n',
  ],
  gemini: [
    `{"sessionId":"${ID}","kind":"main"}\n{"type":"user","content":"Hi"}\n` +
    '{"type":"gemini","content":[{"text":"Ho"}]}\n',
    `{"sessionId":"${ID}","messages":[{"type":"gemini","content":"Ho"}]}`,
  ],
  session: [`{"pid":7,"sessionId":"${ID}","cwd":"${FOLDER}","procStart":"5","status":"idle"}`],
};
const VERDICTS = ['{"agents":{"codex":{"version":"1","at":"2026-11-20T10:00:00Z","rungs":{}}}}'];
const RELAY_KEYS = [
  ...["RELAY_HOST", "RELAY_PORT", "RELAY_OAUTH_ISSUER", "RELAY_OAUTH_DB", "RELAY_TRUSTED_PROXIES"],
  ...["RELAY_OAUTH_PROXY_MODE", "RELAY_OAUTH_LB_FORWARDING_IP", "RELAY_TELEMETRY_OTLP"],
];
const JSON_FILES = ['{"hooks":{"Stop":[{"a":1}]}} // x', '{"a":[1,{"b":null}],"c":"\\u00e9"}'];
/** Errors that name the file, the key, what was found and what is allowed. */
const CONFIG_ERROR = /^Cannot read the configuration:\n {2}\S/;
const session = { runtime_session_id: ID, path: FOLDER };

/** Each input is written to a file of its own. */
const FILES = 60;

/** Runs `read` in a folder that holds one file with this text. */
function inFolder<T>(path: string, text: string, read: (folder: string) => T): T {
  const folder = Deno.makeTempDirSync({ prefix: "mesh-fuzz-" });
  try {
    Deno.mkdirSync(dirname(join(folder, path)), { recursive: true });
    Deno.writeTextFileSync(join(folder, path), text, { mode: 0o600 });
    return read(folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/** Time passes only while somebody waits. */
function hastyClock(): Clock {
  let now = 0;
  const sleep = (ms: number) => Promise.resolve(void (now += 20 * ms));
  const monotonic = () => now as Monotonic;
  const boottime = () => now as Boottime;
  return { now: () => now, monotonic, boottime, sleep, setTimer: () => () => undefined };
}

function assertResume(result: { ok: boolean; reason?: string }): void {
  assert.ok(result.ok || (result.reason ?? "").length > 0);
}

export const FILE_PARSERS: readonly Target[] = [
  parser("configuration", damagedText(CONFIGS), (text) => {
    try {
      const config = readConfig({ MESH_CONFIG: "/config.yaml" }, () => text);
      assert.ok(config["daemon.port"] >= 0);
    } catch (error) {
      assert.match(String(error instanceof Error && error.message), CONFIG_ERROR);
    }
  }),
  parser(
    "settings of the environment",
    fc.tuple(damagedText(["[a, b]", "true", "8"]), hostileText),
    ([text, other]) => {
      const env = { MESH_DAEMON__PORT: text, MESH_SPAWN__COMMANDS: other, MESH_HUMAN__NAME: other };
      try {
        readConfig({ MESH_CONFIG: "/none", ...env }, () => undefined);
      } catch (error) {
        assert.match(String(error instanceof Error && error.message), CONFIG_ERROR);
      }
    },
  ),
  parser(
    "values of `mesh config set`",
    damagedText(["12", "007", "[a]", "{a: b}", "null", "1e5"]),
    (text) => {
      try {
        const value = parseSetting(text);
        if (typeof value === "number") assert.equal(String(value), text);
      } catch (error) {
        assert.ok(error instanceof Error && error.message.length > 0);
      }
    },
  ),
  parser(
    "configuration of the relay",
    fc.dictionary(
      fc.constantFrom(...RELAY_KEYS),
      damagedText(["https://r.example", "direct", "8378", "10.0.0.0/8"]),
    ),
    (env) => {
      try {
        readRelayConfig(env);
      } catch (error) {
        assert.match(String(error instanceof Error && error.message), CONFIG_ERROR);
      }
    },
  ),
  parser("the token in a configuration", damagedText(CONFIGS), (text) => {
    const token = tokenIn(text);
    assert.ok(token === undefined || typeof token === "string");
  }),
  parser("transcripts of Claude Code", damagedText(TRANSCRIPTS.claude), (text) => {
    assertResume(inFolder(`projects/x/${ID}.jsonl`, text, (home) => resumeClaude([home], session)));
  }, FILES),
  parser("sessions of Claude Code", damagedText(TRANSCRIPTS.session), (text) => {
    const found = inFolder("sessions/7.json", text, (home) => sessionOf([home], 7, () => true));
    assert.ok(found === undefined || found.pid === 7);
  }, FILES),
  parser("rollouts of Codex", damagedText(TRANSCRIPTS.rollout), (text) => {
    const file = `sessions/2026/11/20/rollout-2026-${ID}.jsonl`;
    assertResume(
      inFolder(
        file,
        text,
        (home) => rolloutOf(home, { runtime_session_id: ID, path: FOLDER }, "resume"),
      ),
    );
  }, FILES),
  parser("records of Copilot CLI", damagedText(TRANSCRIPTS.copilot), async (text) => {
    const file = `session-state/${ID}/events.jsonl`;
    inFolder(file, text, (home) => {
      assertResume(copilot.resumeOf(home, session));
      Deno.writeTextFileSync(`${home}/session-state/${ID}/inuse.7.lock`, "7");
      new copilot.SessionRecords(home).activityOf(ID, 7);
    });
    const clock = hastyClock();
    const stopped = { id: ID, stopped_at: undefined };
    await inFolder(file, text, (home) => copilot.lastMessageOf(home, stopped, clock));
  }, FILES),
  parser("records of Gemini CLI", damagedText(TRANSCRIPTS.gemini), (text) => {
    const file = `tmp/api/chats/session-1-${ID.slice(0, 8)}.jsonl`;
    inFolder(file, text, (home) => {
      Deno.writeTextFileSync(`${home}/projects.json`, `{"projects":{"${FOLDER}":"api"}}`);
      assertResume(gemini.resumeOf(home, session));
      const last = gemini.lastModelText(home, session);
      assert.ok(last === undefined || typeof last === "string");
    });
  }, FILES),
  parser("projects of Gemini CLI", damagedText([`{"projects":{"${FOLDER}":"api"}}`]), (text) => {
    assertResume(inFolder("projects.json", text, (home) => gemini.resumeOf(home, session)));
  }, FILES),
  parser("results of the selftest", damagedText(VERDICTS), (text) => {
    const verdicts = parseVerdicts(text);
    assert.ok(verdicts === undefined || typeof verdicts.agents === "object");
  }),
  parser("settings files of agents", damagedText(JSON_FILES), (text) => {
    for (const read of [parseJson, rootOf]) {
      try {
        read(text);
      } catch (error) {
        assert.ok(error instanceof Error && !(error instanceof TypeError), String(error));
      }
    }
  }),
];
