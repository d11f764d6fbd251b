/** IP addresses in the kernel's format: 4 or 16 bytes in network order. */

export interface InetAddress {
  readonly family: "ipv4" | "ipv6";
  readonly bytes: Uint8Array;
}

/** Parses a literal address; an IPv4-mapped IPv6 address counts as IPv4. */
export function parseAddress(text: string): InetAddress | undefined {
  const literal = text.replace(/^\[|\]$/g, "").split("%", 1)[0] ?? "";
  const mapped = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i.exec(literal)?.[1];
  const dotted = mapped ?? literal;
  if (/^\d{1,3}(\.\d{1,3}){3}$/.test(dotted)) {
    const bytes = dotted.split(".").map(Number);
    return bytes.every((byte) => byte < 256)
      ? { family: "ipv4", bytes: Uint8Array.from(bytes) }
      : undefined;
  }
  return literal.includes(":") ? parseIpv6(literal) : undefined;
}

function parseIpv6(literal: string): InetAddress | undefined {
  const [leading = "", trailing, ...extraParts] = literal.split("::");
  const groupsOf = (part: string) => part === "" ? [] : part.split(":");
  const leadingGroups = groupsOf(leading), trailingGroups = groupsOf(trailing ?? "");
  const zeroGroups = 8 - leadingGroups.length - trailingGroups.length;
  if (extraParts.length > 0 || (trailing === undefined ? zeroGroups !== 0 : zeroGroups < 1)) {
    return undefined;
  }
  const groups = [...leadingGroups, ...Array<string>(zeroGroups).fill("0"), ...trailingGroups];
  if (!groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  for (const [at, group] of groups.entries()) view.setUint16(at * 2, parseInt(group, 16));
  return { family: "ipv6", bytes };
}
