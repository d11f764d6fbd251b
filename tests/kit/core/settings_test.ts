/** Settings: defaults, sources, mistakes and secrets. */

import assert from "node:assert/strict";
import fc from "fast-check";
import * as z from "zod";
import { readSettings, Secret } from "kit/core/settings.ts";
import { parseYaml, readConfig, SETTINGS } from "../../../daemon/app/config.ts";
import { configPath, statePath } from "../../../daemon/host/paths.ts";

const HOME = { HOME: "/home/ada" };
const PATH = "/home/ada/.config/mesh/config.yaml";
const DAEMON_KEYS = Object.keys(SETTINGS).filter((key) => key.startsWith("daemon."))
  .map((key) => key.split(".")[1]);
const TOKEN = "0123456789abcdef";

function read(file: string | undefined, env: Record<string, string> = {}) {
  return readConfig({ ...HOME, ...env }, () => file);
}

/** The lines of the error, one per mistake, without its headline. */
function mistakes(file: string, env: Record<string, string> = {}): string[] {
  try {
    read(file, env);
  } catch (error) {
    assert.ok(error instanceof Error);
    const [headline, ...lines] = error.message.split("\n  ");
    assert.equal(headline, "Cannot read the configuration:");
    return lines;
  }
  return [];
}

Deno.test("without a configuration every setting has its default", () => {
  const config = read(undefined);
  assert.deepEqual([config["daemon.host"], config["daemon.port"]], ["127.0.0.1", 8377]);
  assert.equal(config["daemon.auth_token"], undefined);
  assert.deepEqual(Object.keys(config), Object.keys(SETTINGS));
});

Deno.test("the environment overrides the file, and a variable is the key in capitals", () => {
  const file = "daemon: {port: 9000, history_days: 7, allowed_hosts: [mesh.test]}";
  const env = { MESH_DAEMON__PORT: "9001", MESH_DAEMON__QUEUE__MAX_PER_PEER: "5" };
  const config = read(file, env);
  assert.deepEqual([config["daemon.port"], config["daemon.history_days"]], [9001, 7]);
  assert.equal(config["daemon.queue.max_per_peer"], 5);
  assert.deepEqual(config["daemon.allowed_hosts"], ["mesh.test"]);
});

Deno.test("an environment value is parsed as YAML: numbers, flags and lists", () => {
  const config = read("", {
    MESH_DAEMON__ALLOWED_HOSTS: "[a.test, b.test]",
    MESH_DAEMON__MCP__ENABLED: "false",
    MESH_HUMAN__NAME: "sam",
  });
  assert.deepEqual(config["daemon.allowed_hosts"], ["a.test", "b.test"]);
  assert.deepEqual([config["daemon.mcp.enabled"], config["human.name"]], [false, "sam"]);
});

Deno.test("an environment value that only looks like a number or a map is a text", () => {
  const config = read("", {
    MESH_DAEMON__AUTH_TOKEN: "1234567890123456",
    MESH_DAEMON__HOST: "::",
    MESH_HUMAN__NAME: "007",
  });
  assert.equal(config["daemon.auth_token"]?.reveal(), "1234567890123456");
  assert.deepEqual([config["daemon.host"], config["human.name"]], ["::", "007"]);
});

Deno.test("every mistake is reported at once: its key, the value and what is allowed", () => {
  const file = `
    daemon: {port: 70000, queue: {ttl_seconds: soon}, mcp: yes please, colour: red}
    human: {name: "two words"}
    kitchen: {}
  `;
  const lines = mistakes(file, { MESH_DAEMON__HISTORY_DAYS: "0", MESH_DAEMON__PORTS: "1" });
  // deno-fmt-ignore
  const expected: [key: string, found: RegExp, allowed: RegExp][] = [
    ["daemon.port",              /found 70000 \(.*config\.yaml\)/,            /0 to 65535/       ],
    ["daemon.queue.ttl_seconds", /found "soon"/,                              /seconds/          ],
    ["daemon.mcp",               /found "yes please"/,                        /enabled, allow_/  ],
    ["daemon.colour",            /unknown key, found in .*config\.yaml/,      /host, port, /     ],
    ["human.name",               /found "two words"/,                         /letters, digits/  ],
    ["kitchen",                  /unknown key, found in .*config\.yaml/,      /daemon,.* human/    ],
    ["daemon.history_days",      /found 0 \(MESH_DAEMON__HISTORY_DAYS\)/,     /1 to 3650/        ],
    ["daemon.ports",             /unknown key, found in MESH_DAEMON__PORTS/,  /mesh config/      ],
  ];
  for (const [key, found, allowed] of expected) {
    const line = lines.find((line) => line.startsWith(`${key}: `)) ?? `nothing of ${key}`;
    assert.match(line, found);
    assert.match(line.split("allowed: ")[1] ?? line, allowed);
  }
  assert.equal(lines.length, expected.length, lines.join("\n"));
});

Deno.test("an unknown section, key or variable is answered with the one that was meant", () => {
  const file = "deamon: {port: 9}\ndaemon: {prot: 9, queue: {max_per_per: 5}}\nhuman.nam: sam";
  const env = { MESH_DEAMON__PORT: "9", MESH_DAEMON_HOST: "::1", MESH_SPAWN_ID: "spawn-1" };
  const meant = mistakes(file, env).map((line) => {
    return [line.split(":")[0], /Did you mean (\S+)\?$/.exec(line)?.[1]];
  });
  assert.deepEqual(meant, [
    ["deamon", "daemon"],
    ["daemon.prot", "daemon.port"],
    ["daemon.queue.max_per_per", "daemon.queue.max_per_peer"],
    ["human.nam", "human.name"],
    ["deamon.port", "MESH_DAEMON__PORT"],
    ["daemon_host", "MESH_DAEMON__HOST"],
  ]);
});

Deno.test("a key of Object.prototype is unknown", () => {
  for (const key of ["constructor", "toString", "hasOwnProperty"]) {
    assert.match(mistakes(`${key}: 1`).join(), /unknown key/, key);
  }
});

Deno.test("a secret is not shown in errors, JSON or text", () => {
  const short = "hunter→2";
  const lines = mistakes(`daemon: {auth_token: ${short}}`);
  assert.match(lines.join(), /^daemon\.auth_token: found a value .*; allowed: .*ASCII/);
  assert.ok(!lines.join().includes(short));
  const token = read(`daemon: {auth_token: ${TOKEN}}`)["daemon.auth_token"];
  assert.equal(token?.reveal(), TOKEN);
  for (const shown of [JSON.stringify({ token }), String(token), Deno.inspect(token)]) {
    assert.ok(!shown.includes(TOKEN), shown);
  }
  assert.equal(JSON.stringify(token), `"[hidden]"`);
});

Deno.test("a host that is not loopback needs a token", () => {
  for (const host of ["0.0.0.0", "192.168.1.5", "mesh.test", "::", "127.evil.test"]) {
    assert.match(mistakes(`daemon: {host: "${host}"}`).join(), /without daemon\.auth_token/, host);
    assert.equal(read(`daemon: {host: "${host}", auth_token: ${TOKEN}}`)["daemon.host"], host);
  }
  for (const host of ["localhost", "127.0.0.1", "127.8.9.1", "::1", "[::1]"]) {
    assert.equal(read(`daemon: {host: "${host}"}`)["daemon.host"], host);
  }
});

Deno.test("a file that is not YAML, or not a map, is named in the error", () => {
  assert.match(mistakes("daemon: [").join(), /config\.yaml: not YAML/);
  assert.match(mistakes("daemon: {}\n---\nhuman: {}").join(), /not YAML: found 2 documents/);
  assert.match(mistakes("human: {}\nhuman: {}").join(), /not YAML/);
  assert.match(mistakes("just words").join(), /config\.yaml: found "just words"/);
  assert.deepEqual(mistakes("# only a comment"), []);
});

Deno.test("a value that contains itself is named in the error", () => {
  assert.deepEqual(mistakes("daemon: &a [*a]"), [
    "daemon: found a value that contains itself; allowed: a section with " +
    [...new Set(DAEMON_KEYS)].join(", "),
  ]);
});

Deno.test("a map of the environment that is not YAML is named in the error", () => {
  const [line = ""] = mistakes("", { MESH_SPAWN__COMMANDS: "`" });
  assert.match(line, /^spawn\.commands: found "`" \(MESH_SPAWN__COMMANDS\); allowed: a map/);
});

Deno.test("the paths of file and state follow XDG, or MESH_CONFIG and MESH_STATE", () => {
  assert.equal(configPath(HOME), PATH);
  assert.equal(configPath({ ...HOME, XDG_CONFIG_HOME: "/xdg" }), "/xdg/mesh/config.yaml");
  assert.equal(configPath({ ...HOME, MESH_CONFIG: "/mine.yaml" }), "/mine.yaml");
  assert.equal(statePath(HOME), "/home/ada/.local/state/mesh");
  assert.equal(statePath({ ...HOME, XDG_STATE_HOME: "/xdg" }), "/xdg/mesh");
  assert.equal(statePath({ ...HOME, MESH_STATE: "/mine" }), "/mine");
});

const TABLE = {
  "a.port": z.number().int().describe("a port").default(1),
  "a.b.words": z.array(z.string()).describe("a list of words").default([]),
  "secret": z.string().min(3).transform((text) => new Secret(text)).optional(),
};

Deno.test("every configuration is read or refused with one error", () => {
  const key = fc.constantFrom("a", "b", "port", "words", "secret", "other");
  const file = fc.oneof(fc.jsonValue(), fc.dictionary(key, fc.dictionary(key, fc.jsonValue())));
  const name = fc.constantFrom("MESH_A__PORT", "MESH_A__B__WORDS", "MESH_A__", "MESH_X__Y");
  const env = fc.dictionary(fc.oneof(name, fc.string()), fc.string());
  fc.assert(fc.property(file, env, (file, env) => {
    try {
      const options = { file, file_name: "file", env, parse: parseYaml };
      const { "a.port": port, "a.b.words": words } = readSettings(TABLE, options);
      assert.ok(Number.isInteger(port) && Array.isArray(words));
    } catch (error) {
      assert.match(String(error), /^Error: Cannot read the configuration:\n {2}.+/);
    }
  }));
});

Deno.test("a setting without a section is read from the file and from its variable", () => {
  for (const value of ["peers", "human", "off"] as const) {
    assert.equal(read(`transcripts: ${value}`).transcripts, value);
    assert.equal(read("transcripts: peers", { MESH_TRANSCRIPTS: value }).transcripts, value);
  }
  assert.deepEqual(mistakes("transcripts: all"), [
    `transcripts: found "all" (${PATH}); allowed: human, peers, off`,
  ]);
  assert.deepEqual(mistakes("", { MESH_OTHER: "1", MESH_TRANSCRIPTS: "all" }), [
    'transcripts: found "all" (MESH_TRANSCRIPTS); allowed: human, peers, off',
  ]);
});
