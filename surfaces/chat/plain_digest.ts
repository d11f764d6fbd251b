/** The digest in a message to the human as plain text, because chats show no Markdown. */

/** A digest at the end of a message, as `daemon/features/digest/digest_text.ts` writes it. */
const DIGEST = /^The last [^\n]*:\n(?:\n\*\*[^*\n]* \(\d+\)\*\*\n(?:- [^\n]*(?:\n|$))+)+$/;
const HEAD = "The last ";

/** The text with its digest without marks and without the escapes of agents' texts. */
export function withPlainDigest(text: string): string {
  const start = text.startsWith(HEAD) ? 0 : text.indexOf(`\n${HEAD}`) + 1;
  const digest = text.slice(start);
  if (!DIGEST.test(digest)) return text;
  const plain = digest.replaceAll(/^\*\*([^*\n]*)\*\*$/gm, "$1")
    .replaceAll(/^(- and \d+ more: )`([a-z ]+)`$/gm, "$1$2")
    .replaceAll(/\\([\\`*_[\]<>~|#!()])/g, "$1");
  return text.slice(0, start) + plain;
}
