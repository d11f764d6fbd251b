/** The pictures of the live view: their size, and what hostile texts can do to them. */

import assert from "node:assert/strict";
import { displayWidth } from "../../../../cli/output/table.ts";
import { renderLine } from "../../../../cli/output/terminal.ts";
import { draw } from "../../../../cli/live/render/frame.ts";
import type { Peer } from "../../../../cli/live/records.ts";
import { FIRST_VIEW, modelOf } from "../../../../cli/live/view.ts";
import { FakeClock } from "../../../support/clock.ts";
import { frameOf, rowsOf, viewAfter } from "../../../support/cli/live_pictures.ts";
import {
  ask,
  item,
  message,
  minute,
  peer,
  someRecords,
} from "../../../support/cli/live_records.ts";

const HOSTILE = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202eevil\u2066\u200b\r\n\x1bPq\x1b\\日本語👩‍💻🇩🇪é" +
  "x".repeat(5000);

function hostileRecords() {
  const records = someRecords();
  return {
    ...records,
    peers: records.peers.map((record) => ({
      ...record,
      name: HOSTILE + record.name,
      circle: HOSTILE,
      description: HOSTILE,
    })),
    inbox: {
      human: HOSTILE,
      human_peer_id: "peer-sam",
      asks: records.inbox?.asks ?? [],
      items: [item("db", 8, { from: HOSTILE, text: HOSTILE }), item("x", 1, { text: HOSTILE })],
    },
    messages: {
      hasMore: false,
      rows: [message("a", "b", 9, { from_peer_name: HOSTILE, text: HOSTILE })],
    },
  };
}

Deno.test("no row is wider than the terminal, and no frame higher, at any size", () => {
  const records = hostileRecords();
  const views = [["2"], ["3"], ["a"], ["j", "a"], ["2", "c"], ["?"], ["2", "x"], ["enter"], ["/"]];
  for (const columns of [1, 10, 60, 139, 140, 200]) {
    for (const height of [1, 5, 9, 10, 20]) {
      for (const keys of views) {
        const frame = frameOf(viewAfter(keys, records), columns, height, records);
        assert.ok(frame.rows.length <= height, `${frame.rows.length} of ${height} rows`);
        const widths = rowsOf(frame).map(displayWidth);
        assert.ok(Math.max(...widths) <= columns, `${columns} × ${height}, ${keys}: ${widths}`);
        assert.ok((frame.cursor?.column ?? 0) < columns, `cursor of ${keys} at ${columns}`);
      }
    }
  }
});

Deno.test("texts of agents bring no escape sequences and no hidden characters to the screen", () => {
  const records = hostileRecords();
  for (const keys of [[], ["a"], ["2", "c"], ["2", "x"]]) {
    const { rows } = frameOf(viewAfter(keys, records), 160, 30, records);
    const written = rows.flat().map(({ line }) => renderLine(line, { colours: true })).join("\n");
    // deno-lint-ignore no-control-regex -- It matches escape sequences.
    const plain = written.replaceAll(/\u001b\[\d+m/g, "");
    assert.doesNotMatch(plain, /(?!\n)\p{Cc}|[\u202a-\u202e\u2066-\u2069\u200b]/u);
    assert.match(plain, /evil/);
  }
});

Deno.test("signs and words show the selected row and each state, as colours do", () => {
  const rows = rowsOf(frameOf(FIRST_VIEW, 100, 30));
  assert.match(rows.join("\n"), /^▸ +2m blocked +db/m);
  for (const state of ["working", "awaiting input", "offline", "queued", "answered"]) {
    assert.match(rows.join("\n"), new RegExp(state));
  }
});

Deno.test("a peer's transport is shown even while it is degraded; only `none` is unreachable", () => {
  const shown = (transport: Peer["transport"], inbound_status: Peer["inbound_status"]) => {
    const records = someRecords({ peers: [{ ...peer("api"), transport, inbound_status }] });
    return rowsOf(frameOf(viewAfter(["2"], records), 120, 24, records)).join("\n");
  };
  for (const status of ["ok", "degraded", "pane_unsafe", "offline"] as const) {
    assert.match(shown("native", status), /^. api .*native/m);
    assert.doesNotMatch(shown("native", status), /no way in/);
  }
  assert.match(shown("none", "no_transport"), /no way in/);
});

Deno.test("a degraded peer says why, also in a narrow terminal", () => {
  const inbound_reason = "draft: The draft is gone (mesh selftest, 2.1.329)";
  const api = peer("api", { transport: "native", inbound_status: "degraded", inbound_reason });
  const records = someRecords({ peers: [api] });
  for (const columns of [60, 160]) {
    const rows = rowsOf(frameOf(viewAfter(["2"], records), columns, 24, records)).join("\n");
    assert.match(rows, /api .*degraded: The draft is/, String(columns));
    assert.doesNotMatch(rows, /no way in/);
  }
});

Deno.test("marks of Markdown are shown as styles, and the text that a person permits exactly", () => {
  const text = "May I use **bold**?\n\n- `one`";
  const options = [{ id: "allow", title: "Allow" }];
  const question = {
    kind: "choice",
    prompt: "rm **/*.log",
    options,
    scope: "tool_permission",
  } as const;
  const records = someRecords();
  const inbox = records.inbox && {
    ...records.inbox,
    asks: [ask("api", "sam", 9), ask("db", "sam", 8, { question })],
    items: [item("api", 9, { text }), item("db", 8, { text: "rm **/*.log", question })],
  };
  const given = { ...records, inbox };
  const screen = (keys: readonly string[]) =>
    rowsOf(frameOf(viewAfter(keys, given), 100, 30, given)).join("\n");
  assert.match(screen([]), /wait +api +May I use bold\?/);
  assert.match(screen(["a"]), /May I use bold\?\n\n• one/);
  assert.match(screen([]), /\[1 options\] rm \*\*\/\*\.log/);
  assert.match(screen(["j", "a"]), /db wrote ━+\nrm \*\*\/\*\.log/);
});

Deno.test("a peer of another machine is shown with its machine, and each footer names q and ?", () => {
  const remote = peer("api", { display_name: "api@buildbox", transport: "bus" });
  const records = someRecords({ peers: [remote] });
  for (const columns of [80, 160]) {
    const of = (keys: readonly string[]) =>
      rowsOf(frameOf(viewAfter(keys, records), columns, 24, records));
    assert.match(of(["2"]).join("\n"), /▸ api@buildbox/);
    for (const keys of [["1"], ["2"], ["3"], ["enter"], ["2", "enter"]]) {
      assert.match(of(keys).at(-1) ?? "", /\? keys {2}q quit$/, keys.join(" "));
    }
  }
});

Deno.test("the selected peer is visible in a long list, and the rest is counted", () => {
  const peers = Array.from({ length: 60 }, (_, at) => peer(`agent-${String(at).padStart(2, "0")}`));
  const records = someRecords({ peers });
  const keys = ["2", ...Array.from({ length: 41 }, () => "j")];
  const picture = rowsOf(frameOf(viewAfter(keys, records), 80, 24, records)).join("\n");
  assert.match(picture, /^▸ agent-41/m);
  const [, above, below] = /Peers 60 ━+ ↑(\d+) ↓(\d+)/.exec(picture) ?? [];
  const shown = picture.match(/^[▸ ] agent-/gm)?.length ?? 0;
  assert.equal(Number(above) + Number(below) + shown, 60);
});

Deno.test("a frame is valid until the next age changes, and for ever without ages", () => {
  const records = someRecords({ inbox: undefined, peers: [], open_asks: [] });
  const at = (now: string, rows: typeof records.messages.rows) => {
    const model = modelOf({ ...records, messages: { rows, hasMore: false } });
    return draw(FIRST_VIEW, model, { columns: 80, rows: 20 }, new FakeClock(now)).frame.valid_ms;
  };
  assert.equal(at("2030-01-01T00:00:10.400Z", [message("a", "b", 0)]), 600);
  assert.equal(at("2030-01-01T00:05:20Z", [message("a", "b", 0)]), 40_000);
  assert.equal(at(minute(1), []), undefined);
});
