/** The CLI's output and event stream: widths, tables, cleaning, JSON and reconnecting. */

import assert from "node:assert/strict";
import type { Clock } from "kit/core/clock.ts";
import { clean, styled } from "../../../cli/output/terminal.ts";
import { columnWidths, displayWidth, truncate } from "../../../cli/output/table.ts";
import {
  parseEvents,
  SILENCE_MS_MAX,
  type StreamEvent,
  watchEvents,
} from "../../../cli/client/event_stream.ts";
import { capturedTerminal, instantClock } from "../../support/cli/captured_output.ts";

Deno.test("widths count cells: two for wide characters and emoji, none for marks", () => {
  // deno-fmt-ignore
  const rows: [string, number][] = [
    ["",          0],
    ["plain",     5],
    ["größe",     5],
    ["e\u0301",   1],
    ["日本語",      6],
    ["한글",       4],
    ["ａｂ",       4],
    ["🚀",        2],
    ["👩‍💻",        2],
    ["🇩🇪",        2],
    ["✓",         1],
    ["a\u200db",  2],
  ];
  for (const [text, width] of rows) assert.equal(displayWidth(text), width, JSON.stringify(text));
});

Deno.test("long text is cut with an ellipsis, and never inside a character", () => {
  assert.equal(truncate("abcdef", 6), "abcdef");
  assert.equal(truncate("abcdefg", 6), "abcde…");
  assert.equal(truncate("日本語の", 6), "日本…");
  assert.equal(truncate("👩‍💻👩‍💻👩‍💻", 5), "👩‍💻👩‍💻…");
  assert.equal(truncate("abc", 0), "");
});

Deno.test("the widest columns shrink first, and all columns fit the terminal", () => {
  const line = ["id-1", "x".repeat(90), "y".repeat(40)];
  for (const columns of [200, 80, 40, 20]) {
    const widths = columnWidths([line], { columns });
    const total = widths.reduce((sum, width) => sum + width, 0) + 2 * (widths.length - 1);
    assert.ok(total <= columns, `${total} > ${columns}`);
  }
  assert.deepEqual(columnWidths([line], { columns: 80 }), [4, 36, 36]);
  assert.deepEqual(columnWidths([line], { columns: undefined }), [4, 90, 40]);
  assert.deepEqual(columnWidths([line], { columns: 80, essential: [true, false, true] }), [
    4,
    32,
    40,
  ]);
});

Deno.test("table columns are aligned, also with wide characters", () => {
  const { terminal, lines } = capturedTerminal({ columns: 24 });
  const rows = [["日本", "short"], ["api", "a text that is too long"]];
  terminal.printTable(rows, { NAME: ([name = ""]) => name, TEXT: ([, text = ""]) => text });
  assert.equal(lines.out, "NAME  TEXT\n日本  short\napi   a text that is to…\n");
});

Deno.test("an empty table prints its empty text", () => {
  const { terminal, lines } = capturedTerminal();
  terminal.printTable([], {}, { empty: "No peers yet" });
  assert.equal(lines.out, "No peers yet\n");
});

Deno.test("control characters, escapes and direction changes are removed from text", () => {
  const evil = "a\u001b[2Jb\u009b31mc\u0007d\u202ee\u2066f\r\ng\u007f\u0000";
  assert.equal(clean(evil), "abcdef g");
  const { terminal, lines } = capturedTerminal({ colours: true });
  terminal.print(evil, styled("red", evil));
  assert.equal(lines.out, "abcdef g\u001b[31mabcdef g\u001b[0m\n");
});

Deno.test("JSON output escapes the characters that control terminals", () => {
  const { terminal, lines } = capturedTerminal();
  const answer = { text: "a\u001b[2J\u009b31m\u202e\u2028日本" };
  terminal.printJson(answer, 0);
  assert.deepEqual(JSON.parse(lines.out), answer);
  assert.doesNotMatch(lines.out.trimEnd(), /[\p{Cc}\p{Bidi_Control}\p{Zl}]/u);
});

Deno.test("colours are printed only on terminals", () => {
  const { terminal, lines } = capturedTerminal({ colours: false });
  terminal.print(styled("green", "up"));
  assert.equal(lines.out, "up\n");
});

async function* bytes(...chunks: string[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield new TextEncoder().encode(chunk);
}

Deno.test("stream frames are parsed across chunks; comments are skipped", async () => {
  const events = await Array.fromAsync(
    parseEvents(
      bytes(": hi\n\nid: 7\nevent: a", 'sk\ndata: {"x":', "1}\n\r", "\ndata: a\ndata: b\n\n"),
    ),
  );
  assert.deepEqual(events, [
    { id: "7", type: "ask", data: { x: 1 } },
    { id: undefined, type: "message", data: "a\nb" },
  ]);
});

Deno.test("a broken stream resumes after the last received event", async () => {
  const asked: (string | null)[] = [];
  const notices: string[] = [];
  const over = new AbortController();
  const parts = [`event: ready\ndata: {"last":4}\n\n`, `id: 5\nevent: ask\ndata: {}\n\n`];
  const get = (path: string, init?: { headers?: Record<string, string> }) => {
    asked.push(`${path} ${init?.headers?.["last-event-id"] ?? "-"}`);
    return Promise.resolve(new Response(parts[asked.length - 1] ?? "id: 6\ndata: {}\n\n"));
  };
  const clock = clockWithoutSilence();
  const received: StreamEvent[] = [];
  const watching = {
    daemon: { get },
    clock,
    signal: over.signal,
    query: { replay: "1" },
    onConnectionChange: (what: string) => void notices.push(what),
  };
  for await (const event of watchEvents(watching)) {
    received.push(event);
    if (event.id === "6") over.abort();
  }
  assert.deepEqual(asked, [
    "/events/stream?replay=1 -",
    "/events/stream 4",
    "/events/stream 5",
  ]);
  assert.deepEqual(received.map(({ id, type }) => id ?? type), ["ready", "5", "6"]);
  assert.deepEqual(notices, ["lost", "resumed", "lost", "resumed"]);
});

/** Its pauses take no time, and its limit of silence never passes. */
function clockWithoutSilence(): Clock {
  const instant = instantClock();
  return {
    ...instant,
    setTimer: (ms, callback) => {
      if (ms < SILENCE_MS_MAX) return instant.setTimer(ms, callback);
      return () => undefined;
    },
  };
}
