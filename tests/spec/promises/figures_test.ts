/** The figures in the tables of limits are those of the code. */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { PAGE_MS, TICKET_MS } from "../../../daemon/api/pages/pages.ts";
import { SHARE_SECONDS_MAX } from "protocol/shares.ts";
import { ANSWER_BYTES_MAX as KITTY_BYTES_MAX } from "../../../daemon/host/kitty/remote_control.ts";
import { COMMANDS_MAX, KITTIES_MAX } from "../../../daemon/host/kitty/kitty.ts";
import { IDLE_MS_MAX, SERVERS_MAX } from "../../../daemon/host/tmux/tmux.ts";
import { PROBE_MS } from "../../../daemon/machines/links/outgoing_link.ts";
import { LATENCY_MS_MAX } from "../../../daemon/machines/calls/pings.ts";
import { HOLD_MS } from "../../../daemon/machines/run_claim.ts";
import { CALL_AGE_MS_MAX, CALLS_AT_ONCE_MAX } from "../../../daemon/machines/calls/call_server.ts";
import { CALL_BYTES_MAX } from "../../../daemon/machines/calls/bounds.ts";
import { LEASE_MS } from "../../../daemon/machines/directory/machine_directory.ts";
import { RENEW_MS, SEEN_MS } from "../../../daemon/machines/directory/own_entry.ts";
import { FILE_BYTES_MAX } from "../../../daemon/machines/files/transfers.ts";
import {
  BATCH_BYTES_MAX,
  BATCH_ENTRIES_MAX,
  ENTRY_BYTES_MAX,
} from "../../../daemon/machines/links/batch.ts";
import { ENTRY_MS_MAX } from "../../../daemon/machines/links/incoming_link.ts";
import { ENTRY_MS_MAX as ENTRY_SHOWN_MS_MAX } from "../../../daemon/machines/nats/names.ts";
import { MACHINES_MAX } from "../../../daemon/machines/trust/machine_trust.ts";
import { SHARED_PEERS_MAX } from "../../../daemon/features/peers/remote/shared_peers.ts";
import {
  BATCH_MS_MAX,
  DEFAULT_LIMITS,
  DIRECTORY_ENTRY_BYTES_MAX,
  FILE_MS_MAX,
} from "../../../daemon/machines/nats/store.ts";
import { PING_MS } from "../../../daemon/machines/nats/connection.ts";
import { openRateLimits } from "../../../relay/app/rate_limits.ts";
import {
  ANSWER_BYTES_MAX,
  ANSWER_MS_MAX as APP_ANSWER_MS_MAX,
} from "../../../relay/daemons/daemon_client.ts";
import { CODES_EACH_MAX, CODES_MAX } from "../../../relay/sign_in/devices.ts";
import * as registry from "../../../relay/daemons/machine_registry.ts";
import { ANSWER_MS_MAX } from "../../../relay/daemons/proxy.ts";
import {
  ADDRESS_BODY_BYTES_MAX,
  BODY_MS_MAX,
  TOTAL_BODY_BYTES_MAX,
} from "kit/http/body_limiter.ts";
import * as frames from "kit/net/tunnel/frames.ts";
import { IN_FLIGHT_MAX } from "../../../relay/mcp/routes.ts";
import { MESSAGE_BYTES_MAX } from "../../../relay/mcp/ask_and_send.ts";
import { SHARES_EACH_MAX, VIEWERS_MAX } from "../../../relay/shares/shares.ts";
import { STEPS } from "../../crash/clock/clock_steps.ts";
import { FakeClock } from "../../support/clock.ts";
import { sources } from "../../tidy/sources.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** The first and the second cell of each row of the table that begins with these headings. */
function tableOf(page: string, ...headings: readonly string[]): Record<string, string> {
  const lines = Deno.readTextFileSync(`${ROOT}docs/${page}`).split("\n");
  const cells = lines.map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));
  const first = cells.findIndex((row) => headings.every((heading, at) => row[at] === heading));
  const rows = cells.slice(first + 2);
  return Object.fromEntries(rows.slice(0, rows.findIndex((row) => row.length === 0)));
}

const count = (number: number) => number.toLocaleString("en-US");
function size(bytes: number): string {
  const [unit, text] = bytes >= 2 ** 30
    ? [2 ** 30, "GiB"]
    : bytes >= 2 ** 20
    ? [2 ** 20, "MiB"]
    : [2 ** 10, "KiB"];
  return `${Math.floor(bytes / unit)} ${text}`;
}
const seconds = (ms: number) => `${ms / 1000} s`;
const days = (ms: number) => `${ms / 86_400_000} days`;

const REMOTE = { transport: "tcp", hostname: "192.0.2.1", port: 50_000 } as const;
type Limits = ReturnType<typeof openRateLimits>;

/** The number of requests that a limit allows at once, and in the minute after that. */
async function rateOf(
  take: (limits: Limits, request: Request, attempt: number) => number | undefined,
): Promise<string> {
  const clock = new FakeClock();
  const limits = openRateLimits({ clock, proxy: { mode: "direct" } });
  const request = new Request("https://relay.test/");
  const allowed = () => {
    let attempts = 0;
    while (take(limits, request, attempts) === undefined) attempts++;
    return count(attempts);
  };
  const burst = allowed();
  await clock.advance(60_000);
  return `${burst}, then ${allowed()} a minute`;
}

Deno.test("the limits in docs/relay.md are those of the relay", async () => {
  const { DAEMONS_MAX, DAEMONS_OF_ADDRESS_MAX, DAEMONS_OF_SECRET_MAX } = registry;
  const person = await rateOf(({ login }, request) => login.take(request, REMOTE));
  assert.equal(person, await rateOf(({ register }, request) => register.take(request, REMOTE)));
  assert.deepEqual(tableOf("relay.md", "what", "maximum", "beyond it"), {
    "daemons of one relay; of one secret": `${count(DAEMONS_MAX)}; ${DAEMONS_OF_SECRET_MAX}`,
    "daemons of one address": count(DAEMONS_OF_ADDRESS_MAX),
    "requests under way to one daemon": count(frames.STREAMS_MAX),
    "head of a request or an answer": size(frames.HEAD_BYTES_MAX),
    "body of a request": `${size(frames.REQUEST_BYTES_MAX)}, and the daemon's own limit`,
    "unread bytes of one body, in one direction": size(frames.STREAM_WINDOW_BYTES),
    "unread bytes of all bodies of a daemon": size(frames.HELD_BYTES_MAX),
    "unanswered request bodies that one end has read": `${size(frames.READ_BYTES_MAX)}; ` +
      `a body counts up to ${size(frames.READ_BYTES_EACH_MAX)}`,
    "answers that wait for the other end": size(frames.WAITING_BYTES_MAX),
    "bytes held for all daemons together": `${size(registry.TOTAL_HELD_BYTES_MAX)}, ` +
      "checked once a second",
    "bytes that one end does not read": `${size(frames.UNSENT_BYTES_MAX)}; ` +
      size(frames.UNTAKEN_BYTES_MAX),
    "pings of one end": `${frames.PINGS_RECEIVED_MAX} in ${seconds(frames.PING_EVERY_MS)}`,
    "silence": `two pings, ${seconds(frames.PING_EVERY_MS)} each`,
    "runs of one daemon id": `1; a silent one has ${seconds(registry.PROBE_MS_MAX)} to answer`,
    "answer of a machine to a browser": `${seconds(ANSWER_MS_MAX)} to its head`,
    "answer of a machine to an app or a guest": `${
      seconds(APP_ANSWER_MS_MAX)
    } plus the requested wait, ${size(ANSWER_BYTES_MAX)}`,
    "dials of one address": await rateOf(({ dials }, request) =>
      dials.withSecret.take(request, REMOTE)
    ),
    "dials of one address without a secret": await rateOf(({ dials }, request) =>
      dials.withoutSecret.take(request, REMOTE)
    ),
    "signing in; getting new secrets, of one address": `${person} each`,
    "codes of one secret; of the relay": `${CODES_EACH_MAX}; ${count(CODES_MAX)}, for five minutes`,
    "decisions about apps, of one session": await rateOf(({ consents }, request) =>
      consents.take(request, REMOTE, "session")
    ),
    "decisions about apps, of one address": await rateOf(({ consents }, request, attempt) =>
      consents.take(request, REMOTE, String(attempt))
    ),
    "looking at shares, of one address": await rateOf(({ shareVisits }, request) =>
      shareVisits.take(request, REMOTE)
    ),
    "making shares, of one address": await rateOf(({ shareCreations }, request) =>
      shareCreations.take(request, REMOTE)
    ),
    "token exchanges of one connection": await rateOf(({ exchanges }) => exchanges.acquire("x")),
    "unanswered bodies of one address": `${size(ADDRESS_BODY_BYTES_MAX)}, ` +
      `${seconds(BODY_MS_MAX)} to arrive`,
    "bodies that are arriving, of all addresses": size(TOTAL_BODY_BYTES_MAX),
  });
});

Deno.test("the limits in docs/machines.md are those of the daemon", () => {
  const { batches_bytes, files_bytes, directory_bytes } = DEFAULT_LIMITS;
  const { "pauses before connecting or publishing again": _, ...limits } = tableOf(
    "machines.md",
    ...["what", "maximum", "beyond it"],
  );
  assert.deepEqual(limits, {
    "machines that one machine knows": count(MACHINES_MAX),
    "peers that a machine announces": count(SHARED_PEERS_MAX),
    "a machine's entry in the directory": `${size(DIRECTORY_ENTRY_BYTES_MAX)}; ` +
      `the bus shows it ${seconds(ENTRY_SHOWN_MS_MAX)}`,
    "age of the last sign of life of a machine": `${seconds(LEASE_MS)}; ` +
      `a heartbeat comes each ${seconds(RENEW_MS)}`,
    "a message with all its fields": `${size(ENTRY_BYTES_MAX)} as JSON`,
    "one batch": `${BATCH_ENTRIES_MAX} messages and reports, ${size(BATCH_BYTES_MAX)}`,
    "waiting for a machine, here or at the bus": days(ENTRY_MS_MAX),
    "all batches at the bus": size(batches_bytes),
    "all files at the bus": `${size(files_bytes)}, for ${days(FILE_MS_MAX)}`,
    "one file": size(FILE_BYTES_MAX),
    "the directory at the bus": size(directory_bytes),
    "a call to another machine (`--machine`, the inbox)": `${size(CALL_BYTES_MAX)} each way`,
    "the age of a call": `${seconds(CALL_AGE_MS_MAX)}, by the clock of the called machine`,
    "calls that a machine executes at a time": String(CALLS_AT_ONCE_MAX),
  });
  assert.equal(BATCH_MS_MAX, ENTRY_MS_MAX);
  assert.deepEqual(PROBE_MS, { first: 30_000, max: 3_600_000 });
});

Deno.test("the figures in the texts of the pages are those of the code", () => {
  const texts: readonly (readonly [page: string, text: string])[] = [
    ["security.md", `valid for ${days(PAGE_MS)}`],
    ["security.md", `valid once, for ${TICKET_MS / 1000} seconds`],
    ["security.md", `knows at most ${SERVERS_MAX} servers`],
    ["security.md", `idle clients end after ${{ 10: "ten" }[IDLE_MS_MAX / 60_000]} minutes`],
    ["security.md", `at most ${KITTY_BYTES_MAX / 2 ** 20} MiB of an answer`],
    ["security.md", `at most ${COMMANDS_MAX} waiting commands for each kitty`],
    ["security.md", `and knows at most ${KITTIES_MAX}`],
    ["relay.md", `(at most ${days(SHARE_SECONDS_MAX * 1000)})`],
    ["relay.md", `at most ${SHARES_EACH_MAX} shares, and each share at most ${VIEWERS_MAX} guests`],
    ["relay.md", `may have ${IN_FLIGHT_MAX} calls under way`],
    ["relay.md", `A message has 1 to ${count(MESSAGE_BYTES_MAX)} bytes`],
    ["machines.md", `A machine is \`offline\` ${seconds(LEASE_MS)} after its last sign`],
    ["machines.md", `a heartbeat of some hundred bytes every ${seconds(RENEW_MS)}`],
    ["machines.md", `every ${{ 10: "ten" }[SEEN_MS / 60_000]} minutes if its peers were active`],
    ["machines.md", `a latency for ${seconds(LATENCY_MS_MAX)}`],
    ["machines.md", `noticed within ${seconds(3 * PING_MS)}`],
    ["machines.md", `stopped for longer than ${{ 10: "ten" }[HOLD_MS / 1000]} seconds`],
    ["machines.md", `at most ${count(SHARED_PEERS_MAX)} peers`],
    ["machines.md", `A file may have ${size(FILE_BYTES_MAX)}`],
    ["machines-security.md", `entries older than ${days(ENTRY_MS_MAX)} are refused`],
    ["machines-security.md", `older than ${seconds(CALL_AGE_MS_MAX)}`],
    ["machines-security.md", `until ${seconds(LEASE_MS)} after the last heartbeat or new entry`],
    ["machines-security.md", `${days(BATCH_MS_MAX)} at most`],
  ];
  const missing = texts.filter(([page, text]) => {
    const written = Deno.readTextFileSync(`${ROOT}docs/${page}`).replaceAll(/\s+/g, " ");
    return !written.toLowerCase().includes(text.toLowerCase());
  });
  assert.deepEqual(missing, []);
});

Deno.test("each text that docs/machines.md has of a screen is one of the program's", () => {
  const programs = sources().filter(({ path }) => /^(?:cli|daemon|kit|protocol)\//.test(path));
  const texts = Object.keys(tableOf("machines.md", "the screen says", "why"))
    .flatMap((cell) => /^`(.+?)`/.exec(cell)?.[1] ?? []);
  assert.ok(texts.length > 10);
  const missing = texts.filter((text) => {
    const parts = text.split("…").map((part) =>
      part.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")
    );
    const written = new RegExp(parts.join("[^;]{0,160}?").replaceAll(" ", "\\s+"));
    const joined = (code: string) => code.replaceAll(/["`] \+\s+["`]|\\(?=")/g, "");
    return !programs.some(({ code }) => written.test(joined(code)));
  });
  assert.deepEqual(missing, []);
});

/** The options of `deno task crash`, with the test file that runs a short form of each. */
const CRASH_TESTS = {
  "--kills": "crash_test.ts",
  "--wakes": "wakes/wake_kills_test.ts",
  "--points": "power_loss/power_loss_test.ts",
  "--faults": "disk/disk_faults_test.ts",
  "--reconnects": "network/reconnect_storm_test.ts",
  "--steps": "clock/clock_steps.ts",
  "--seconds": "suspended_test.ts",
  "--seeds": "machines/machine_storm_test.ts",
} as const;

Deno.test("the options of deno task crash are those of docs/faults.md, with their numbers", () => {
  const options = tableOf("faults.md", "option", "what it does");
  const read = (path: string) => Deno.readTextFileSync(`${ROOT}tests/crash/${path}`);
  const run = read("run.ts");
  const [, parts = ""] = /known: \[([^\]]+)\]/.exec(run) ?? [];
  assert.equal(options["`PART…`"], `only these parts: ${parts.replaceAll('"', "`")}`);
  const used = [...run.matchAll(/args\.number\("(\w+)", ([\d_]+)\)/g)]
    .map(([, name, fallback]) => ["", `--${name}`, fallback]);
  assert.deepEqual(used.map(([, name]) => name).sort(), Object.keys(CRASH_TESTS).sort());
  for (const [name, path] of Object.entries(CRASH_TESTS)) {
    const [, long = "", short = ""] = /\(([\d,]+); (\d+).* in the tests\)$/.exec(
      options[`\`${name} N\``] ?? "",
    ) ?? assert.fail(`docs/faults.md has no row for ${name}`);
    const fallback = used.find(([, known]) => known === name)?.[2] ?? "";
    assert.equal(long, count(Number(fallback.replaceAll("_", ""))), name);
    if (name === "--steps") assert.equal(short, String(STEPS.length), name);
    else assert.match(read(path), new RegExp(`^const .*= \\[?${short}\\b`, "m"), name);
  }
});
