/** Codecs of connections: bodies, forms, event streams, the tunnel's packing, chat messages. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { Refusal } from "kit/core/problem.ts";
import { decodeUtf8, parseJson } from "kit/http/body.ts";
import { Frame as TunnelFrame } from "kit/net/tunnel/frames.ts";
import { contentLengthOf, requestHeaders, responseHeaders } from "kit/net/tunnel/headers.ts";
import { packMessage, unpackMessage } from "kit/net/tunnel/packing.ts";
import { toHeaders } from "kit/telemetry/collector.ts";
import { partsOf } from "../../../daemon/features/messages/attachments/multipart.ts";
import { refuseRepeatedKeys } from "protocol/asks/body_keys.ts";
import { Inbound } from "../../../daemon/features/messages/websocket/frames.ts";
import { filterEvents } from "../../../relay/shares/guest_stream.ts";
import { parseEvents } from "../../../cli/client/event_stream.ts";
import { parseCommand } from "../../../surfaces/chat/commands.ts";
import { parseChoice, splitText } from "../../../surfaces/chat/rendering.ts";
import { parseFrame, toPress, toWrittenMessage } from "../../../surfaces/slack/envelopes.ts";
import { toAsk, toMessage, toReply } from "../../../clients/typescript/messages.ts";
import { parseDraft, parseTemplates } from "../../../dashboard/components/compose/kept.ts";
import { readWhen } from "../../../dashboard/components/time/when.ts";
import { damagedText, hostileJson, hostileText } from "../hostile.ts";
import { parser, type Target } from "../target.ts";
import { readSlackText } from "../../../surfaces/slack/incoming.ts";

const BODIES = [
  '{"from_peer":"web","to_peer":"api","text":"Hi"}',
  '{"a":{"b":[1,2]},"To_Peer":null}',
];
const FORM =
  '--b\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhello\r\n--b--\r\n';
const EVENTS = [
  'id: 7\nevent: ask\ndata: {"peer_id":"peer-1"}\n\n',
  ': keep-alive\n\nevent: ready\ndata: {"last": 3}\n\n',
];
const FRAME = {
  type: "ask",
  delivery_id: "qd-1",
  correlation_id: "ask-1",
  text: "Hi",
  from_peer: "a",
};
const MODES = ["now", "in", "at", "recurring"] as const;

async function* inPieces(text: string, size: number): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}

/** Runs a reader, which may throw only a refusal for its caller. */
async function orRefused(read: () => unknown): Promise<void> {
  try {
    await read();
  } catch (error) {
    assert.ok(error instanceof Refusal, error instanceof Error ? error.stack : String(error));
  }
}

const sized = (samples: readonly string[]) =>
  fc.tuple(damagedText(samples), fc.integer({ min: 1, max: 4000 }));

export const STREAM_PARSERS: readonly Target[] = [
  parser("JSON bodies", damagedText(BODIES), async (text) => {
    await orRefused(() => {
      parseJson(text);
      refuseRepeatedKeys(text); // It reads what has been parsed.
    });
  }),
  parser("UTF-8", fc.uint8Array({ maxLength: 60 }), (bytes) => {
    const text = decodeUtf8(new Uint8Array(bytes));
    if (text !== undefined) assert.ok(text.isWellFormed());
  }),
  parser("forms", sized([FORM]), async ([text, size]) => {
    await orRefused(async () => {
      for await (const { bytes } of partsOf(inPieces(text, size), "b")) {
        for await (const chunk of bytes) assert.ok(chunk.length <= text.length * 3 + 8);
      }
    });
  }),
  parser("event streams", sized(EVENTS), async ([text, size]) => {
    for await (const { type } of parseEvents(inPieces(text, size))) {
      assert.equal(typeof type, "string");
    }
  }),
  parser("event streams of guests", sized(EVENTS), async ([text, size]) => {
    const passed = ReadableStream.from(inPieces(text, size)).pipeThrough(filterEvents("peer-1"));
    const shown = await new Response(passed).text().catch((error) => {
      if (error instanceof Error && error.name === "StreamError") return "";
      throw error;
    });
    assert.doesNotMatch(shown, /event: (?:inbox_item|inbox_updated|surface_pushed)/);
  }),
  parser("packed messages", fc.uint8Array({ maxLength: 300 }), (bytes) => {
    const items = unpackMessage(new Uint8Array(bytes).buffer);
    if (!Array.isArray(items)) return assert.ok(items.length > 0);
    assert.deepEqual(unpackMessage(packMessage(items).buffer), items);
  }),
  parser("frames", hostileJson, (value) => {
    for (const schema of [TunnelFrame, Inbound]) {
      const read = schema.safeParse(value);
      assert.ok(read.success || read.error.issues.length > 0);
    }
  }),
  parser("headers of the tunnel", fc.array(fc.tuple(hostileText, hostileText)), (pairs) => {
    const named = [...pairs, ...pairs.map(([, value]) => ["Content-Length", value] as const)];
    const length = contentLengthOf(named);
    assert.ok(length === undefined || length === Infinity || Number.isSafeInteger(length));
    for (const [name] of [...requestHeaders(named), ...responseHeaders(named)]) {
      assert.ok(!["cookie", "set-cookie", "authorization"].includes(name), name);
    }
  }),
  parser("headers of telemetry", damagedText(["authorization=Bearer x,a=b"]), async (text) => {
    await orRefused(() => toHeaders(text));
  }),
  parser(
    "messages of a chat",
    damagedText(["/show inb-1", "/read@bot", "a:1:inb-1", "k:inb-2"]),
    (text) => {
      parseCommand(text, "/");
      const option = parseChoice(text)?.option;
      assert.ok(option === undefined || option >= 0 && option < 100);
      const parts = splitText(text, 4096);
      for (const part of parts) assert.ok(part.length <= 4096 && part.length > 0);
    },
  ),
  parser(
    "frames of Slack",
    damagedText([
      '{"type":"hello","num_connections":1}',
      '{"type":"disconnect","reason":"warning"}',
      '{"envelope_id":"1","type":"events_api","payload":{"event":{"type":"message","channel":"D1",' +
      '"ts":"1732112345.000200","text":"<@U1> &amp; <https://a.test|b>"}}}',
      '{"envelope_id":"2","type":"interactive","payload":{"type":"block_actions","user":{"id":"U1"},' +
      '"channel":{"id":"D1"},"message":{"ts":"1732112345.000200"},"actions":[{"action_ts":"1.0"}]}}',
    ]),
    (text) => {
      const frame = parseFrame(text);
      if (!frame || !("envelope_id" in frame)) return;
      assert.ok(frame.envelope_id.length > 0);
      readSlackText(toWrittenMessage(frame)?.text ?? text);
      const press = toPress(frame);
      assert.ok(press === undefined || press.actions.length > 0);
    },
  ),
  parser(
    "frames at a client",
    fc.record({ frame: fc.constant(FRAME), value: fc.oneof(hostileText, fc.json()) }),
    ({ frame, value }) => {
      for (const [name] of Object.entries(frame)) {
        const read = { ...frame, [name]: value } as never;
        for (const convert of [toMessage, toAsk, toReply]) convert(read);
      }
    },
  ),
  parser(
    "what a browser kept",
    damagedText(['{"text":"a","mode":"ask","files":[]}', '[{"name":"a"}]']),
    (text) => {
      assert.equal(typeof parseDraft(text, 0).text, "string");
      assert.ok(Array.isArray(parseTemplates(text)));
    },
  ),
  parser(
    "times in the dashboard",
    fc.tuple(fc.constantFrom(...MODES), hostileText),
    ([mode, text]) => {
      const when = readWhen({ mode, span: text, local: text, cron: text, timezone: "UTC" }, 0);
      if (when.kind === "once") assert.ok(Number.isFinite(when.at));
    },
  ),
];
