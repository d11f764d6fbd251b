/** Text that comes from elsewhere: read without throwing, shown without steering anything. */

/** Undefined for what is no JSON. */
export function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** For between tags: what opens, closes or refers in markup is written out. */
export function escapeMarkup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
