/** IP addresses and ranges: parses them strictly, and compares them by prefix. */

/** An address of 32 or 128 bits. An IPv4-mapped IPv6 address is stored as its IPv4 address. */
export interface IpAddress {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

/** The range of all addresses that share their first `length` bits with `base`. */
export interface IpRange {
  readonly base: IpAddress;
  readonly length: number;
}

const MAPPED = 0xffffn;
const GROUPS = 8;
const BYTE = /^(?:0|[1-9]\d{0,2})$/;
const GROUP = /^[0-9a-f]{1,4}$/i;

/** Parses an address. Undefined for other text, such as one with a port, a zone or a space. */
export function parseIpAddress(text: string): IpAddress | undefined {
  const plain = ipv4Of(text);
  if (plain !== undefined) return { bits: 32, value: plain };
  const value = ipv6Of(text);
  if (value === undefined) return undefined;
  return value >> 32n === MAPPED ? { bits: 32, value: value & 0xffff_ffffn } : { bits: 128, value };
}

/** Parses a range such as `192.0.2.0/24`. Throws if it is invalid. Use it for constants only. */
export function mustParseRange(text: string): IpRange {
  const range = text.includes("/") ? parseRange(text) : undefined;
  if (!range) throw new Error(`Invalid address range: "${text}"`);
  return range;
}

/** Parses a range or a single address. Undefined for any other text. */
export function parseRange(text: string): IpRange | undefined {
  const [start = "", length, ...more] = text.split("/");
  const base = parseIpAddress(start);
  if (!base || more.length > 0) return undefined;
  if (length === undefined) return { base, length: base.bits };
  if (!/^\d{1,3}$/.test(length) || Number(length) > base.bits) return undefined;
  return { base, length: Number(length) };
}

export function isWithin(address: IpAddress, { base, length }: IpRange): boolean {
  const rest = BigInt(base.bits - length);
  return address.bits === base.bits && address.value >> rest === base.value >> rest;
}

export function isSameAddress(a: IpAddress, b: IpAddress): boolean {
  return a.bits === b.bits && a.value === b.value;
}

function ipv4Of(text: string): bigint | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => BYTE.test(part) && Number(part) < 256)) {
    return undefined;
  }
  return parts.reduce((value, part) => value << 8n | BigInt(part), 0n);
}

/** At most one `::`, for one group or more. An IPv4 address may replace the last two groups. */
function ipv6Of(text: string): bigint | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map(groupsOf);
  if (!head || (halves.length === 2 && !tail)) return undefined;
  const missing = GROUPS - head.length - (tail?.length ?? 0);
  if (tail ? missing < 1 : missing !== 0) return undefined;
  // An IPv4 part must come last, so `1.2.3.4::` is invalid.
  if (tail && halves[0]?.includes(".")) return undefined;
  const groups = [...head, ...Array<bigint>(missing).fill(0n), ...tail ?? []];
  return groups.reduce((value, group) => value << 16n | group, 0n);
}

function groupsOf(half: string): bigint[] | undefined {
  if (half === "") return [];
  const parts = half.split(":");
  const last = ipv4Of(parts.at(-1) ?? "");
  const plain = last === undefined ? parts : parts.slice(0, -1);
  if (!plain.every((hex) => GROUP.test(hex))) return undefined;
  const groups = plain.map((hex) => BigInt(`0x${hex}`));
  return last === undefined ? groups : [...groups, last >> 16n, last & 0xffffn];
}
