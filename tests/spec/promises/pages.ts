/**
 * Splits a documentation page into sentences: from paragraphs, table rows and comments in commands.
 */

const TABLE_RULE = /^\|[\s|:-]+\|$/;
const HEADING = /^#{1,6} /;
const ITEM = /^\s*[-*>] /;
/** A bold title before a paragraph, and the list of tests of a section, are no promises. */
const SILENT = /^(?:_Tests_: .*|\*\*[^*]+(?:[.:]\*\*|\*\* \(`[^)]+\)\.)(?= |$))/;
const END = /(?<=[.!?][*_)"”]{0,3})\s+(?=[*_[(“"`]{0,3}[A-Z`/0-9])/;

export function sentencesOf(page: string): string[] {
  const blocks: string[] = [];
  const block: string[] = [];
  let fence: string | null = null;
  const end = () => blocks.push(...block.splice(0).join(" ").replace(SILENT, "").split(END));
  for (const [at, line] of page.split("\n").entries()) {
    const [, language] = /^\s*```(\w*)/.exec(line) ?? [];
    if (language !== undefined) fence = fence === null ? language : null;
    if (fence !== null) {
      if (fence === "sh") blocks.push(/\s# (.+)/.exec(line)?.[1] ?? "");
    } else if (line.startsWith("|")) {
      const next = page.split("\n")[at + 1] ?? "";
      if (!TABLE_RULE.test(line) && !TABLE_RULE.test(next)) blocks.push(line);
    } else {
      const is_border = language !== undefined || HEADING.test(line) || !line.trim();
      if (is_border || ITEM.test(line)) end();
      if (!is_border) block.push(line.replace(ITEM, "").trim());
    }
  }
  end();
  const sentences = blocks.map((text) => text.replaceAll(/\s+/g, " ").trim());
  return [...new Set(sentences.filter((text) => /\w/.test(text)))];
}
