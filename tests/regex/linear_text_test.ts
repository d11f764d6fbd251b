/** Code that reads text of others takes linear time, beyond its regular expressions. */

import assert from "node:assert/strict";
import { randomIds, systemClock } from "kit/core/clock.ts";
import { matchesPattern, Splitter } from "kit/core/text.ts";
import { clean } from "../../cli/output/terminal.ts";
import { columnWidths } from "../../cli/output/table.ts";
import { splitText } from "../../surfaces/chat/rendering.ts";
import { parseEvents } from "../../cli/client/event_stream.ts";
import type { AgentPeer, OutgoingMessage } from "../../daemon/features/agents/adapter.ts";
import { maskSecrets } from "../../daemon/features/agents/sessions/secrets.ts";
import { memberAt, prepend, rootOf } from "../../daemon/features/agents/settings_files/jsonc.ts";
import { PaneTransport } from "../../daemon/features/agents/pane_transport.ts";
import { claudeScreen } from "../../daemon/features/agents/claude_code/claude_code.ts";
import { genericScreen } from "../../daemon/features/agents/generic/generic.ts";
import { withoutPlaceholder } from "../../daemon/features/agents/screens.ts";
import { refuseRepeatedKeys } from "protocol/asks/body_keys.ts";
import { partsOf } from "../../daemon/features/messages/attachments/multipart.ts";
import { cleanFilename, toContentDisposition } from "kit/http/filenames.ts";
import { idsIn, printable } from "../../daemon/features/messages/framing.ts";
import { snippetOf, toSearch } from "../../daemon/features/messages/log/search_terms.ts";
import { quotedAttribute } from "protocol/messages/frame_markers.ts";
import { TmuxServers } from "../../daemon/host/tmux/tmux.ts";
import { filterEvents } from "../../relay/shares/guest_stream.ts";
import { silent } from "../support/host/private_tmux.ts";
import { cpuMs, growthIn } from "./growth.ts";
import { readSlackText } from "../../surfaces/slack/incoming.ts";

const ID = "notif-3f9c04d1a2b7";
const ESC = "\u001b";

/** Repeated parts of inputs; many are slow for code that searches for an end that never comes. */
const PUMPS = [
  ...[" ", "\n", " \n", "\t", "a", "[", "[mesh", "[mesh] ", "[mesh] @", "[mesh] <peer-message "],
  ...['[mesh] <peer-message id="', "<peer-message ", "</peer-message>", "\\", '"', '\\"', "/*"],
  ...["//", "{", '{"a":', "[[", ".", ". ", "-", "*", "\r", "\r\n", "\r\n--b", ": ", "data: x\n"],
  ...["token=", 'token="', "token='", 'token=\\"', 'token:" + ', "://a:@"],
  ...["\u200d", "\u202e", "\u{e0041}", "🦊", "👩‍💻", "é\u0301", "\ud83d", `${ESC}[7m${ESC}[2mx`, "&"],
];

const outgoingFields = { delivery_id: ID, proof_id: ID, kind: "notify", human: false } as const;
const addressee: AgentPeer = {
  peer_id: "peer-1",
  backend: "generic",
  tmux_socket: null,
  pane_id: null,
  metadata: {},
  agent_pid: null,
  agent_started: null,
  runtime_session_id: null,
  turn_state: null,
};

function transport(screen: typeof genericScreen) {
  const ctx = { clock: systemClock, log: silent };
  return new PaneTransport({
    ...ctx,
    terminalServers: new TmuxServers({
      ...ctx,
      ids: randomIds,
      state_dir: "/none",
      search_path: "",
    }),
    screen,
  });
}

async function* inPieces(text: string, size: number): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function readAll(what: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of what);
}

async function readForm(text: string, size: number): Promise<void> {
  for await (const { bytes } of partsOf(inPieces(text, size), "b")) await readAll(bytes);
}

const search = toSearch('"a a" foo*') ?? assert.fail("a search");

const WORK: Record<string, (text: string) => unknown> = {
  "a message in its frame": printable,
  "an attribute": quotedAttribute,
  "the ids in a prompt": idsIn,
  "the ids in a prompt behind a frame": (text) => idsIn(`[mesh] <peer-message id="x">${text}`),
  "a message for a pane, on one line": (text) =>
    transport(genericScreen).check(addressee, {
      ...outgoingFields,
      framed: `[mesh] ${ID}${text}b`,
    }),
  "a message for a pane": (text) =>
    transport(claudeScreen).check(addressee, { ...outgoingFields, framed: `[mesh] ${ID}${text}b` }),
  "a screen": (text) => {
    const view = { above: [], lines: text.split("\n"), cursor_x: 0, cursor_y: 0 };
    return [genericScreen, claudeScreen].map((
      screen,
    ) => [screen.composerEmpty(view), screen.dialogOpen(view), screen.composerHolds(view, text)]);
  },
  "a screen's placeholder": (text) => withoutPlaceholder([text]),
  "the name of a file": cleanFilename,
  "the disposition of a file": (text) => toContentDisposition(text.toWellFormed()),
  "the keys of a body": refuseRepeatedKeys,
  "the name of a tool": (text) => matchesPattern("*a*a*b*a", text),
  "secrets in a text": (text) => maskSecrets(`${text}\\"token="${text}`, []),
  "a snippet": (text) => snippetOf(search, [text]),
  "a configuration with comments": (text) => rootOf(`{"a":${text}`),
  "an edit of a configuration with comments": (text) => prepend(`{${text}`, 0, '"a": 1'),
  "a member before a comment": (text) => memberAt(`{"a":1${text}`, { ...rootOf('{"a":1}') }, ["a"]),
  "a chat's messages": (text) => splitText(text, 4000),
  "what a person wrote in Slack": (text) => readSlackText(`<${text}|${text}>${text}`),
  "a cell of a table": (text) => columnWidths([["a", clean(text)]], { columns: 80 }),
  "an event stream, a few characters at a time": (text) => readAll(parseEvents(inPieces(text, 16))),
  "a shared stream, a few characters at a time": (text) =>
    readAll(ReadableStream.from(inPieces(text, 8)).pipeThrough(filterEvents("peer-1"))),
  "a form": (text) =>
    readForm(`--b\r\ncontent-disposition: form-data; name=x\r\n\r\n${text}`, 4096),
  "a form, a character at a time": (text) => readForm(`--b\r\nx: ${text}`, 1),
  "lines, a character at a time": (text) => {
    const lines = new Splitter("\n", 0);
    for (const char of text) lines.push(char);
  },
};

for (const [what, work] of Object.entries(WORK)) {
  Deno.test(`${what} is read in linear time`, async () => {
    for (const pump of PUMPS) {
      const run = async (length: number) => {
        const text = pump.repeat(Math.ceil(length / pump.length));
        const started_ms = cpuMs();
        try {
          await work(text);
        } catch (error) {
          // Refusals are in time, too; a stack overflow is not one.
          assert.ok(!(error instanceof RangeError), `${JSON.stringify(pump)}: ${error}`);
        }
        return cpuMs() - started_ms;
      };
      assert.equal(await growthIn(run), undefined, JSON.stringify(pump));
    }
  });
}

Deno.test("the text for a pane is computed once per message", async () => {
  let read = 0;
  const outgoing: OutgoingMessage = {
    ...outgoingFields,
    get framed() {
      read++;
      return `[mesh] ${ID} ${" ".repeat(1000)}b`;
    },
  };
  const pane = transport(genericScreen);
  for (let look = 0; look < 5; look++) await pane.check(addressee, outgoing);
  assert.equal(read, 1);
});

Deno.test("a splitter cuts as split does, in whatever pieces the text comes", () => {
  const texts = ["a\n\nb\n\n\nc", "\n\n\n\n", "", "x", "a\r\n\r\nb\n\r\nc\r\n"];
  for (const text of texts) {
    for (const size of [1, 2, 3, 100]) {
      for (const [separator, overlap] of [["\n\n", 1], ["\n", 0]] as const) {
        const splitter = new Splitter(separator, overlap);
        const parts: string[] = [];
        for (let at = 0; at < text.length; at += size) {
          parts.push(...splitter.push(text.slice(at, at + size)));
        }
        assert.deepEqual(parts, text.split(separator).slice(0, -1), `${text} by ${size}`);
        assert.equal(splitter.length, text.split(separator).at(-1)?.length);
      }
    }
  }
});
