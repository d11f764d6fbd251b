/** IP addresses, the rate limit key of a request, and token buckets. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { isWithin, mustParseRange, parseIpAddress } from "kit/net/ip_address.ts";
import {
  bucketOf,
  CDN,
  LOAD_BALANCER,
  type Proxy,
  UNKNOWN_ADDRESS,
} from "../../../relay/web/client_address.ts";
import { BUCKETS_MAX, RateLimiter } from "../../../relay/web/rate_limiter.ts";
import { FakeClock } from "../../support/clock.ts";
import { SwiftClock } from "../../support/swift_clock.ts";

const LB = "35.191.7.7";
const FORWARDING = "203.0.113.9";
const VISITOR = "198.51.100.4";
const FROM_CDN = "173.245.48.1";
const DIRECT: Proxy = { mode: "direct" };
const CLOUD: Proxy = { mode: "cloudlb", forwarding: mustRead(FORWARDING) };

function mustRead(text: string) {
  const address = parseIpAddress(text);
  assert.ok(address, text);
  return address;
}

// deno-fmt-ignore
const READS: readonly [text: string, same: string][] = [
  ["192.0.2.1",                 "192.0.2.1"],
  ["::ffff:192.0.2.1",          "192.0.2.1"],
  ["::FFFF:c000:201",           "192.0.2.1"],
  ["0:0:0:0:0:ffff:192.0.2.1",  "192.0.2.1"],
  ["2001:db8::1",               "2001:0db8:0:0:0:0:0:1"],
  ["::",                        "0:0:0:0:0:0:0:0"],
  ["1::",                       "1:0:0:0:0:0:0:0"],
  ["1:2:3:4:5:6:7::",           "1:2:3:4:5:6:7:0"],
  ["64:ff9b::192.0.2.1",        "64:ff9b::c000:201"],
];

for (const [text, same] of READS) {
  Deno.test(`${text} is the address ${same}`, () => {
    assert.deepEqual(parseIpAddress(text), mustRead(same));
  });
}

// deno-fmt-ignore
const NONE = [
  "", " ", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1.2.3.4:80", "0x7f.0.0.1", "1.2.3.4 ",
  ":", ":::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "12345::",
  "g::", "[::1]", "fe80::1%eth0", "1.2.3.4::", "::1.2.3.4:5", "1:2:3:4:5:6:7:1.2.3.4", "unknown",
];

for (const text of NONE) {
  Deno.test(`"${text}" is no address`, () => assert.equal(parseIpAddress(text), undefined));
}

Deno.test("an IPv4-mapped IPv6 address is its IPv4 address, and no text makes the parser throw", () => {
  fc.assert(fc.property(fc.ipV4(), (text) => {
    assert.deepEqual(parseIpAddress(`::ffff:${text}`), mustRead(text));
  }));
  fc.assert(fc.property(fc.ipV6(), (text) => assert.ok(parseIpAddress(text), text)));
  const parts = fc.constantFrom(":", "::", ".", "1", "ffff", "255", "g", "%", " ", "[", "]");
  fc.assert(fc.property(fc.array(parts, { maxLength: 20 }), (words) => {
    parseIpAddress(words.join(""));
  }));
});

Deno.test("a range contains its first and last address, but not their neighbours", () => {
  const range = mustParseRange("198.51.100.0/22");
  for (
    const [text, within] of [
      ["198.51.99.255", false],
      ["198.51.100.0", true],
      ["198.51.103.255", true],
      ["198.51.104.0", false],
      ["::198.51.100.0", false],
    ] as const
  ) {
    assert.equal(isWithin(mustRead(text), range), within, text);
  }
  assert.throws(() => mustParseRange("198.51.100.0/33"), {
    message: 'Invalid address range: "198.51.100.0/33"',
  });
  assert.throws(() => mustParseRange("here/8"));
});

Deno.test("all ranges of the providers are embedded", () => {
  assert.equal(LOAD_BALANCER.length, 4);
  assert.equal(CDN.length, 22);
  for (
    const text of ["35.191.255.255", "130.211.3.255", "2600:2d00:1:b029::5", "2600:2d00:1:1::1"]
  ) {
    assert.ok(LOAD_BALANCER.some((range) => isWithin(mustRead(text), range)), text);
  }
  for (const text of ["104.27.255.255", "2a06:98c7::1", "131.0.75.255"]) {
    assert.ok(CDN.some((range) => isWithin(mustRead(text), range)), text);
  }
});

const XFF = "x-forwarded-for";
const CF = "cf-connecting-ip";
type HeaderFields = Record<string, string>;

// deno-fmt-ignore
const BUCKETS: readonly [rule: string, proxy: Proxy, socket: string | undefined, headers: HeaderFields, bucket: string][] = [
  ["direct ignores forwarding headers",              DIRECT, LB,        { [XFF]: `${VISITOR}, ${FORWARDING}`, [CF]: "192.0.2.77" }, LB],
  ["an IPv4 address is a bucket",                    DIRECT, "192.0.2.1", {}, "192.0.2.1"],
  ["what is mapped into IPv6 counts as IPv4",        DIRECT, "::ffff:192.0.2.1", {}, "192.0.2.1"],
  ["an IPv6 /64 is a bucket",                        DIRECT, "2001:db8:1:2:3:4:5:6", {}, "20010db800010002/64"],
  ["a link-local socket names its interface",        DIRECT, "fe80::1%eth0", {}, "fe80000000000000/64"],
  ["a caller without an address has one, too",       DIRECT, undefined, {}, UNKNOWN_ADDRESS],
  ["the entry before the last is the source",        CLOUD,  LB,        { [XFF]: `${VISITOR},${FORWARDING}` }, VISITOR],
  ["whatever a visitor wrote before is not read",    CLOUD,  LB,        { [XFF]: `192.0.2.66, ${VISITOR}, ${FORWARDING}` }, VISITOR],
  ["an IPv6 front end is one",                       CLOUD,  "2600:2d00:1:b029::9", { [XFF]: `${VISITOR}, ${FORWARDING}` }, VISITOR],
  ["a mapped front end is one",                      CLOUD,  `::ffff:${LB}`, { [XFF]: `${VISITOR}, ${FORWARDING}` }, VISITOR],
  ["an IPv6 source is its /64",                      CLOUD,  LB,        { [XFF]: `2001:db8::9, ${FORWARDING}` }, "20010db800000000/64"],
  ["a socket elsewhere is itself the source",        CLOUD,  "192.0.2.5", { [XFF]: `${VISITOR}, ${FORWARDING}` }, "192.0.2.5"],
  ["another forwarding address falls back",          CLOUD,  LB,        { [XFF]: `${VISITOR}, 203.0.113.10` }, LB],
  ["a visitor cannot append the forwarding address", CLOUD,  LB,        { [XFF]: `${VISITOR}, ${FORWARDING}, 192.0.2.5, 203.0.113.10` }, LB],
  ["without the header it falls back",               CLOUD,  LB,        {}, LB],
  ["one entry alone falls back",                     CLOUD,  LB,        { [XFF]: FORWARDING }, LB],
  ["a malformed source falls back",                  CLOUD,  LB,        { [XFF]: `${VISITOR}:443, ${FORWARDING}` }, LB],
  ["an empty source falls back",                     CLOUD,  LB,        { [XFF]: `, ${FORWARDING}` }, LB],
  ["the CDN may name the visitor",                   CLOUD,  LB,        { [XFF]: `${FROM_CDN}, ${FORWARDING}`, [CF]: VISITOR }, VISITOR],
  ["nobody else may",                                CLOUD,  LB,        { [XFF]: `${VISITOR}, ${FORWARDING}`, [CF]: "192.0.2.77" }, VISITOR],
  ["the CDN without the name is the source",         CLOUD,  LB,        { [XFF]: `${FROM_CDN}, ${FORWARDING}` }, FROM_CDN],
  ["a malformed name leaves the source",             CLOUD,  LB,        { [XFF]: `${FROM_CDN}, ${FORWARDING}`, [CF]: "192.0.2.7, 192.0.2.8" }, FROM_CDN],
  ["the CDN past the load balancer proves nothing",  CLOUD,  FROM_CDN,  { [CF]: VISITOR }, FROM_CDN],
];

const PROXY = "172.30.83.2";
const TRUSTED: Proxy = {
  mode: "trusted",
  proxies: ["172.30.83.0/24", "10.9.0.0/16", "2001:db8:ffff::/48"].map(mustParseRange),
};

// deno-fmt-ignore
const BEHIND: typeof BUCKETS = [
  ["the last entry is the visitor",                  TRUSTED, PROXY, { [XFF]: VISITOR }, VISITOR],
  ["what the visitor wrote before it is ignored",    TRUSTED, PROXY, { [XFF]: `192.0.2.66, ${VISITOR}` }, VISITOR],
  ["a further trusted proxy is stepped over",        TRUSTED, PROXY, { [XFF]: `192.0.2.66, ${VISITOR}, 10.9.1.1` }, VISITOR],
  ["a socket elsewhere proves nothing",              TRUSTED, "192.0.2.5", { [XFF]: VISITOR }, "192.0.2.5"],
  ["a neighbour of the range proves nothing",        TRUSTED, "172.30.84.2", { [XFF]: VISITOR }, "172.30.84.2"],
  ["without a header the proxy is the visitor",      TRUSTED, PROXY, {}, PROXY],
  ["an empty header is no entry",                    TRUSTED, PROXY, { [XFF]: "" }, PROXY],
  ["a socket that is mapped into IPv6 is the proxy", TRUSTED, `::ffff:${PROXY}`, { [XFF]: VISITOR }, VISITOR],
  ["an entry that is mapped counts as IPv4",         TRUSTED, PROXY, { [XFF]: `::ffff:${VISITOR}` }, VISITOR],
  ["a mapped entry of a proxy is stepped over",      TRUSTED, PROXY, { [XFF]: `${VISITOR}, ::ffff:10.9.0.1` }, VISITOR],
  ["blanks and tabs around entries do not matter",   TRUSTED, PROXY, { [XFF]: ` 192.0.2.66 ,\t${VISITOR} ` }, VISITOR],
  ["the port of an entry does not matter",           TRUSTED, PROXY, { [XFF]: `${VISITOR}:54321` }, VISITOR],
  ["an IPv6 entry may stand in brackets",            TRUSTED, PROXY, { [XFF]: "[2001:db8::7]" }, "20010db800000000/64"],
  ["the port of an IPv6 entry does not matter",      TRUSTED, PROXY, { [XFF]: "[2001:db8::7]:443" }, "20010db800000000/64"],
  ["an IPv6 entry is its /64",                       TRUSTED, PROXY, { [XFF]: "2001:db8:1:2:3:4:5:6" }, "20010db800010002/64"],
  ["an IPv6 proxy is stepped over",                  TRUSTED, "2001:db8:ffff::1", { [XFF]: `${VISITOR}, 2001:db8:ffff::2` }, VISITOR],
  ["a malformed last entry leaves the proxy",        TRUSTED, PROXY, { [XFF]: `${VISITOR}, unknown` }, PROXY],
  ["a malformed entry ends the reading",             TRUSTED, PROXY, { [XFF]: `192.0.2.66, unknown, 10.9.0.1` }, "10.9.0.1"],
  ["an empty entry ends the reading",                TRUSTED, PROXY, { [XFF]: `192.0.2.66, , 10.9.0.1` }, "10.9.0.1"],
  ["a trailing comma is an empty entry",             TRUSTED, PROXY, { [XFF]: `${VISITOR},` }, PROXY],
  ["a port that is none is malformed",               TRUSTED, PROXY, { [XFF]: `${VISITOR}:x` }, PROXY],
  ["a zone is malformed",                            TRUSTED, PROXY, { [XFF]: "fe80::1%eth0" }, PROXY],
  ["the first of entries that are all trusted",      TRUSTED, PROXY, { [XFF]: "10.9.0.7, 10.9.0.1" }, "10.9.0.7"],
  ["no other header names the visitor",              TRUSTED, PROXY, { [CF]: VISITOR, "x-real-ip": VISITOR, forwarded: `for=${VISITOR}` }, PROXY],
  ["direct ignores the header as before",            DIRECT,  PROXY, { [XFF]: VISITOR }, PROXY],
  ["no socket is no address",                        TRUSTED, undefined, { [XFF]: VISITOR }, UNKNOWN_ADDRESS],
];

for (const [rule, proxy, socket, headers, bucket] of BEHIND) {
  Deno.test(`${proxy.mode}: ${rule} [c9.proxy.trusted]`, () => {
    assert.equal(bucketOf(socket, new Headers(headers), proxy), bucket);
  });
}

Deno.test("trusted: several header lines are read as one list, from its end [c9.proxy.trusted]", () => {
  const headers = new Headers([[XFF, "192.0.2.66"], [XFF, VISITOR], [XFF, "10.9.0.1"]]);
  assert.equal(bucketOf(PROXY, headers, TRUSTED), VISITOR);
});

for (const [rule, proxy, socket, headers, bucket] of BUCKETS) {
  Deno.test(`${proxy.mode}: ${rule} [5.oauth.proxy.cloudlb]`, () => {
    assert.equal(bucketOf(socket, new Headers(headers), proxy), bucket);
  });
}

Deno.test("two headers of one name are read as one list", () => {
  const headers = new Headers([[XFF, "192.0.2.66"], [XFF, `${VISITOR}, ${FORWARDING}`]]);
  assert.equal(bucketOf(LB, headers, CLOUD), VISITOR);
});

Deno.test("no header makes the key fail, and without a proxy headers are ignored", () => {
  const text = fc.string({ unit: fc.constantFrom(",", " ", ".", ":", "1", "f", "255", "::") });
  fc.assert(fc.property(text, text, (forwarded, visitor) => {
    const headers = new Headers({ [XFF]: forwarded, [CF]: visitor });
    assert.equal(bucketOf(LB, headers, DIRECT), LB);
    assert.equal(bucketOf("192.0.2.5", headers, CLOUD), "192.0.2.5");
    assert.notEqual(bucketOf(LB, headers, CLOUD), UNKNOWN_ADDRESS);
    assert.notEqual(bucketOf(PROXY, headers, TRUSTED), UNKNOWN_ADDRESS);
    assert.equal(bucketOf("192.0.2.5", headers, TRUSTED), "192.0.2.5");
  }));
});

const RATES = { each: { burst: 5, per_minute: 1 }, all: { burst: 120, per_minute: 60 } };

/** Number of allowed tries. */
function countAdmitted(turnstile: RateLimiter, bucket: string, tries: number): number {
  return Array.from({ length: tries }, () => turnstile.acquire(bucket))
    .filter((wait) => wait === undefined).length;
}

Deno.test("a bucket allows five requests, then one a minute, and returns the time to wait", async () => {
  const clock = new FakeClock();
  const turnstile = new RateLimiter(clock, RATES);
  assert.equal(countAdmitted(turnstile, "a", 9), 5);
  assert.equal(turnstile.acquire("a"), 60);
  await clock.advance(59_999);
  assert.equal(turnstile.acquire("a"), 1);
  await clock.advance(1);
  assert.equal(countAdmitted(turnstile, "a", 3), 1);
  await clock.advance(3 * 60_000);
  assert.equal(countAdmitted(turnstile, "a", 9), 3);
  await clock.advance(3_600_000);
  assert.equal(countAdmitted(turnstile, "a", 9), 5);
});

Deno.test("buckets are independent, and a refused request takes no token", () => {
  const turnstile = new RateLimiter(new FakeClock(), RATES);
  assert.equal(countAdmitted(turnstile, "a", 500), 5);
  assert.equal(countAdmitted(turnstile, "b", 9), 5);
  assert.equal(turnstile.size, 2);
});

Deno.test("all buckets together allow 120 requests, then one a second", async () => {
  const clock = new FakeClock();
  const turnstile = new RateLimiter(clock, RATES);
  const rateFrom = (from: number) =>
    Array.from({ length: 200 }, (_, at) => turnstile.acquire(`${from + at}`))
      .filter((wait) => wait === undefined).length;
  assert.equal(rateFrom(0), 120);
  assert.equal(turnstile.acquire("late"), 1);
  await clock.advance(1000);
  assert.equal(rateFrom(1000), 1);
  await clock.advance(60_000);
  assert.equal(rateFrom(2000), 60);
});

Deno.test("at most 10,000 buckets are stored, and the one idle longest is evicted first", () => {
  const all = { burst: 1_000_000, per_minute: 60 };
  const turnstile = new RateLimiter(new FakeClock(), { each: { burst: 1, per_minute: 1 }, all });
  for (let at = 0; at < BUCKETS_MAX; at++) turnstile.acquire(`${at}`);
  assert.equal(turnstile.size, 10_000);
  assert.equal(turnstile.acquire("0"), 60);
  assert.equal(turnstile.acquire("new"), undefined);
  assert.equal(turnstile.size, 10_000);
  assert.equal(turnstile.acquire("0"), undefined);
  assert.equal(turnstile.acquire("9999"), 60);
});

Deno.test("after the clock was set back, a bucket is filled as fast as an empty one", async () => {
  const clock = new SwiftClock();
  const limiter = new RateLimiter(clock, RATES);
  assert.equal(countAdmitted(limiter, "a", 9), 5);
  clock.step(-3_600_000);
  assert.equal(limiter.acquire("a"), 60);
  await clock.advance(60_000);
  assert.equal(countAdmitted(limiter, "a", 9), 1);
});
