/** `mesh usage --by`: the table, its notes, and the days. */

import assert from "node:assert/strict";
import { answeringDaemon } from "../../../support/cli/answering_daemon.ts";

const SUMS = {
  requests: 3,
  input_tokens: 1_200_000,
  cached_input_read_tokens: 900_000,
  cached_input_write_tokens: null,
  output_tokens: 40_000,
  reasoning_tokens: 500,
  incomplete: ["reasoning_tokens"],
  cost: 12.3,
  unpriced_tokens: 0,
};
const PARTLY = { ...SUMS, unpriced_tokens: 7 };
const UNPRICED = { ...SUMS, cost: null, unpriced_tokens: 7 };
const REPORT = {
  by: "job",
  from: "2026-11-22",
  to: "2026-11-28",
  timezone: "Europe/Berlin",
  rows: [
    { key: "work-0123456789ab", name: "Tidy up", ...SUMS },
    { key: null, name: null, ...UNPRICED },
  ],
  cut: false,
  total: PARTLY,
  prices: { currency: "EUR", as_of: "2026-11-01" },
  left_out: [{ peer_id: "peer-1", name: "web", reason: "its agent has not reported its session" }],
};

Deno.test("usage by job shows tokens, money, the total, and what is left out [4.usage.cli]", async () => {
  await using p = answeringDaemon({ "GET /usage": () => REPORT });
  const { out } = await p.mesh(["usage", "--by", "job"]);
  assert.match(out, /work-0123456789ab Tidy up .*1,200,000 +900,000 .*40,000 .*12.30 EUR\n/);
  assert.match(out, /\nnone .*no price\n/);
  assert.match(out, /\ntotal .*500\+ +12.30\+ EUR\n/);
  assert.match(out, /not recorded/);
  assert.match(out, /Prices as of 2026-11-01[^]*7 tokens have no price/);
  assert.match(out, /Without web: its agent has not reported its session\./);
  const json = await p.mesh(["usage", "--by", "job", "--json"]);
  assert.deepEqual(JSON.parse(json.out), REPORT);
});

Deno.test("the days of usage are dates, today, or a time ago [4.usage.cli]", async () => {
  const asked: string[] = [];
  await using p = answeringDaemon({
    "GET /usage": ({ route }) => {
      const query = new URL(route.slice("GET ".length), "http://daemon").searchParams;
      const { from, to, peer } = Object.fromEntries(query);
      asked.push([from, to, peer].join(" "));
      return { ...REPORT, rows: [] };
    },
  });
  const { out } = await p.mesh([
    "usage",
    "--by",
    "day",
    "--from",
    "2026-11-01",
    "--to",
    "2026-11-02",
  ]);
  assert.match(out, /^No tokens were recorded from 2026-11-22 to 2026-11-28\.\n/);
  await p.mesh(["usage", "api", "--by", "day", "--since", "3d"]);
  assert.equal(asked[0], "2026-11-01 2026-11-02 ");
  assert.match(asked[1] ?? "", /^\d{4}-\d\d-\d\d {2}api$/);
  for (
    const [args, message] of [
      [["--by", "week"], /"week" is not one of day, agent, model, job, chain/],
      [["--since", "7d"], /Days need --by/],
      [["--by", "day", "--since", "soon"], /--since: "soon" is not a day/],
      [["--by", "day", "--since", "7d", "--from", "7d"], /--from and --since are the same/],
    ] as const
  ) {
    const { code, err } = await p.mesh(["usage", ...args]);
    assert.equal(code, 2);
    assert.match(err, message);
  }
});
