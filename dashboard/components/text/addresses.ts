/** Finds links whose text is the address of another host. */

/** Maximum words of a link's text that may be an address. */
const WORDS_MAX = 50;
/** Between the words of a text, and around an address. */
const NO_ADDRESS = /[\s()<>[\]"',;!]+/;
/** The last part of a host's name, which is not a number. */
const HOST_END = /\.\p{L}[\p{L}\d-]+$/u;

/** The host of a link, if its text looks like the address of another host. */
export function otherHost(href: string, text: string): string | undefined {
  const host = hostOf(href);
  for (const word of text.split(NO_ADDRESS, WORDS_MAX)) {
    const said = hostOf(word.includes("://") ? word : `https://${word}`);
    if (said !== undefined && HOST_END.test(said)) return said === host ? undefined : host;
  }
  return undefined;
}

function hostOf(address: string): string | undefined {
  try {
    const { hostname, protocol, pathname } = new URL(address);
    return protocol === "mailto:" ? pathname.split("@").at(-1) : hostname;
  } catch {
    return undefined;
  }
}
