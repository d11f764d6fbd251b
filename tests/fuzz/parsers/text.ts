/** Parsers of what people write: durations, instants, patterns, names, addresses, searches. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { nextFire, patternProblem } from "kit/core/cron_pattern.ts";
import { parseDuration, parseFromNow } from "kit/core/duration.ts";
import { Instant, Name, Sender } from "kit/core/schema.ts";
import { readTrace } from "kit/http/traceparent.ts";
import { cleanFilename, cleanMediaType, toContentDisposition } from "kit/http/filenames.ts";
import { parseAddress } from "../../../daemon/host/sockets/netlink.ts";
import { toSearch } from "../../../daemon/features/messages/log/search_terms.ts";
import { idsIn, printable } from "../../../daemon/features/messages/framing.ts";
import { quotedAttribute } from "protocol/messages/frame_markers.ts";
import { instantOf, problemOf, When } from "protocol/schedules/when.ts";
import { parseIpAddress, parseRange } from "kit/net/ip_address.ts";
import { formatDuration } from "../../../cli/output/time.ts";
import { damagedText, hostileText } from "../hostile.ts";
import { parser, type Target } from "../target.ts";

const DURATIONS = ["10m", "in 2h", "1h30m", "2d", "90 min", "1 week 2 days", "0s", "3 hours"];
const INSTANTS = ["2026-11-23T09:00:00.000Z", "2026-02-28T23:59:60+14:00", "9999-12-31T23:59:59Z"];
const PATTERNS = [
  "* * * * *",
  "*/5 9-17 * * 1-5",
  "0 0 29 2 *",
  "@daily",
  "0 0 L * *",
  "0 0 * * 1#2",
];
const ADDRESSES = [
  "127.0.0.1",
  "::1",
  "2600:2d00:1::/64",
  "::ffff:1.2.3.4",
  "1.2.3.4/32",
  "fe80::1%1",
];
const TRACES = [
  `00-${"a".repeat(32)}-${"b".repeat(16)}-01`,
  `cc-${"a".repeat(32)}-${"b".repeat(16)}-ff-x`,
];
const FRAMED =
  '[mesh] <peer-message type="ask" id="ask-0123456789ab" from="@api">Hi</peer-message>';
const ZONES = ["UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe"];
const NOW = Date.parse("2026-11-23T09:00:00Z");
/** Every control character that may not reach a terminal. */
const CONTROL = /[^\P{Cc}\t\n]/u;

export const TEXT_PARSERS: readonly Target[] = [
  parser("durations", damagedText(DURATIONS), (text) => {
    for (const ms of [parseDuration(text), parseFromNow(text)]) {
      assert.ok(ms === undefined || Number.isFinite(ms) && ms >= 0, String(ms));
    }
  }),
  parser("printed durations", fc.integer({ min: 1, max: 400 * 86_400 }), (seconds) => {
    const printed = formatDuration(seconds * 1000);
    const again = parseDuration(printed);
    assert.ok(again !== undefined, `${printed} is printed and cannot be parsed`);
    assert.equal(formatDuration(again), printed);
  }),
  parser("instants", damagedText([...INSTANTS, ...DURATIONS]), (text) => {
    const instant = Instant.safeParse(text);
    if (instant.success) {
      assert.equal(Instant.parse(Instant.encode(instant.data)), instant.data);
    }
    const when = When.safeParse(text);
    if (!when.success) return assert.match(String(when.error.issues[0]?.message), /\S/);
    const problem = problemOf(instantOf(when.data, NOW), NOW);
    assert.ok(problem === undefined || problem.length > 0);
  }),
  parser(
    "cron patterns",
    fc.tuple(damagedText(PATTERNS), fc.constantFrom(...ZONES)),
    ([text, zone]) => {
      if (patternProblem(text) !== undefined) return;
      const at = nextFire(text, zone, NOW);
      assert.ok(at === undefined || at > NOW, `${text} fires at ${at}`);
    },
  ),
  parser("names", damagedText(["api", "web-codex", "a".repeat(64), "sam"]), (text) => {
    if (Name.safeParse(text).success) assert.equal(encodeURIComponent(text), text);
    if (Sender.safeParse(text).success) assert.doesNotMatch(text, /\p{Cc}/u);
  }),
  parser("addresses", damagedText(ADDRESSES), (text) => {
    const [kernel, strict] = [parseAddress(text), parseIpAddress(text)];
    // The daemon reads addresses as the runtime prints them, which are dotted or have colons.
    const isPrinted = !(text.includes(".") && text.includes(":"));
    if (strict && isPrinted) assert.ok(kernel, `${text} is an address to the relay alone`);
    const range = parseRange(text);
    if (range) assert.ok(range.length <= range.base.bits);
  }),
  parser("trace contexts", damagedText(TRACES), (text) => {
    const read = readTrace(text);
    if (read !== undefined) assert.equal(readTrace(read), read);
  }),
  parser("names of files", hostileText, (text) => {
    const name = cleanFilename(text);
    assert.ok(name.length > 0 && name.length <= 255, String(name.length));
    assert.doesNotMatch(name, /[/\\\p{Cc}]/u);
    assert.equal(cleanFilename(name), name);
    new Headers({ "content-disposition": toContentDisposition(name) });
    new Headers({ "content-type": cleanMediaType(text) });
  }),
  parser("searches", damagedText(['"a b" foo*', "port -test", "a OR b", "NEAR(a b)"]), (text) => {
    const search = toSearch(text);
    assert.ok(search === undefined || search.pattern instanceof RegExp);
  }),
  parser("framed messages", damagedText([FRAMED, "[mesh] @sam → @api: Hi"]), (text) => {
    const shown = printable(text);
    assert.doesNotMatch(shown, CONTROL);
    assert.equal(printable(shown), shown);
    for (const id of idsIn(text)) assert.equal(typeof id, "string");
    assert.doesNotMatch(quotedAttribute(text), /["<>\n]/);
  }),
];
