/** Reads what a person wrote in Slack. */

/**
 * The text that a person typed. Slack writes links as `<address|label>`, mentions as `<@U1>`, and
 * escapes `&`, `<` and `>`.
 */
export function readSlackText(text: string): string {
  return text.replaceAll(/<([^<>]*)>/g, (_, inner: string) => readReference(inner))
    .replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

function readReference(inner: string): string {
  const bar = inner.indexOf("|");
  const target = bar < 0 ? inner : inner.slice(0, bar);
  const label = bar < 0 ? "" : inner.slice(bar + 1);
  switch (target[0]) {
    case "@": // A person.
      return label ? `@${label.replace(/^@/, "")}` : target;
    case "#": // A channel.
      return label ? `#${label}` : target;
    case "!": // A mention of a group, or a date with its fallback text.
      return label || `@${target.slice(1)}`;
    default:
      return readLink(target, label);
  }
}

function readLink(address: string, label: string): string {
  const isTyped = label === "" || address === label ||
    address.replace(/^\w+:(\/\/)?/, "") === label;
  if (!isTyped) return `${label} (${address})`;
  return label || address;
}
