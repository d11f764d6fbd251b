/**
 * Markdown of agents as elements. No markup is parsed: raw HTML is shown as text, links lead only
 * to web and mail addresses, and pictures are links, because the page loads nothing from elsewhere.
 */

import { signal } from "@preact/signals";
import type { Token, Tokens } from "marked";
import { type ComponentChildren, Fragment } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Copy } from "./copy.tsx";
import { otherHost } from "./text/addresses.ts";
import { exactly, visible } from "./text/visible.tsx";
import { partsOf } from "./text/limits.ts";
import type { linesOf } from "./text/colours.ts";

/** A longer text is shown whole only when asked for. */
const SHOWN_CHARS_MAX = 8000;
/** Deeper lists and quotes are shown as they are. */
const LEVELS_MAX = 12;

export function Markdown({ text }: { text: string }) {
  const [whole, setWhole] = useState(false);
  const is_cut = !whole && text.length > SHOWN_CHARS_MAX;
  const content = useMemo(() => parse(is_cut ? text.slice(0, SHOWN_CHARS_MAX) : text), [
    text,
    is_cut,
  ]);
  return (
    <div class="markdown" dir="auto">
      {content}
      {is_cut && (
        <button type="button" onClick={() => setWhole(true)}>
          Show all {text.length.toLocaleString()} characters
        </button>
      )}
    </div>
  );
}

/** A text as it was written, for a person to approve or choose. */
export function Exact({ text }: { text: string }) {
  return <pre class="exact" dir="auto">{exactly(text)}</pre>;
}

function parse(text: string): ComponentChildren {
  return partsOf(text).map((part, index) => {
    switch (part.type) {
      case "code":
        return <Code key={index} text={part.text} language={part.language} />;
      case "parsed":
        return <Fragment key={index}>{blocks(part.tokens, 0)}</Fragment>;
      case "plain":
        return <p key={index} class="plain">{visible(part.text)}</p>;
    }
  });
}

function blocks(tokens: readonly Token[], level: number): ComponentChildren {
  if (level > LEVELS_MAX) return tokens.map(({ raw }) => visible(raw));
  return tokens.map((token, index) => <Block key={index} token={token} level={level} />);
}

function Block({ token, level }: { token: Token; level: number }): ComponentChildren {
  switch (token.type) {
    case "space":
      return null;
    case "heading":
      return <p class="heading">{inline(token.tokens ?? [], level)}</p>;
    case "paragraph":
      return <p>{inline(token.tokens ?? [], level)}</p>;
    case "text":
      return token.tokens ? inline(token.tokens, level) : visible(plain(token));
    case "code":
      return <Code text={String(token.text)} language={String(token.lang ?? "")} />;
    case "blockquote":
      return <blockquote class="rail">{blocks(token.tokens ?? [], level + 1)}</blockquote>;
    case "list":
      return <List list={token as Tokens.List} level={level} />;
    case "table":
      return <Table table={token as Tokens.Table} level={level} />;
    case "hr":
      return <hr />;
    default:
      return <p class="plain">{visible(token.raw)}</p>;
  }
}

function List({ list, level }: { list: Tokens.List; level: number }) {
  const items = list.items.map((item, index) => (
    <li key={index} class={item.task ? "task-item" : undefined}>
      {item.task && (item.checked ? "☑ " : "☐ ")}
      {blocks(
        item.tokens.filter(({ type }) =>
          type !== "checkbox"
        ),
        level + 1,
      )}
    </li>
  ));
  return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ table, level }: { table: Tokens.Table; level: number }) {
  const cells = (row: readonly Tokens.TableCell[]) =>
    row.map((cell, index) => <td key={index}>{inline(cell.tokens, level)}</td>);
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            {table.header.map((cell, index) => <th key={index}>{inline(cell.tokens, level)}</th>)}
          </tr>
        </thead>
        <tbody>{table.rows.map((row, index) => <tr key={index}>{cells(row)}</tr>)}</tbody>
      </table>
    </div>
  );
}

function inline(tokens: readonly Token[], level: number): ComponentChildren {
  if (level > LEVELS_MAX) return tokens.map(({ raw }) => visible(raw));
  return tokens.map((token, index) => <Inline key={index} token={token} level={level} />);
}

function Inline({ token, level }: { token: Token; level: number }): ComponentChildren {
  const inner = () =>
    inline(token.type !== "text" && "tokens" in token ? token.tokens ?? [] : [], level + 1);
  switch (token.type) {
    case "strong":
      return <strong>{inner()}</strong>;
    case "em":
      return <em>{inner()}</em>;
    case "del":
      return <del>{inner()}</del>;
    case "codespan":
      return <code>{visible(plain(token))}</code>;
    case "br":
      return <br />;
    case "link":
      return <Link href={String(token.href)} text={plain(token)}>{inner()}</Link>;
    case "image":
      return (
        <Link href={String(token.href)} text={plain(token)}>
          {visible(`picture: ${plain(token) || token.href}`)}
        </Link>
      );
    case "text":
    case "escape":
      return visible(plain(token));
    default:
      return visible(token.raw);
  }
}

/** Elsewhere it opens without access to this page. */
function Link(
  { href, text, children }: { href: string; text: string; children: ComponentChildren },
) {
  if (!/^(?:https?:\/\/|mailto:)/i.test(href)) return <>{children}</>;
  const host = otherHost(href, text);
  return (
    <a href={href} title={href} target="_blank" rel="noopener noreferrer">
      {children}
      {host !== undefined && ` (${host})`}
    </a>
  );
}

function Code({ text, language }: { text: string; language: string }) {
  return (
    <div class="code inset">
      <pre><Highlighted text={text} language={language} /></pre>
      <div class="code-tools hint cluster">
        {language && <span>{language.slice(0, 20)}</span>}
        <Copy text={text} />
      </div>
    </div>
  );
}

function plain(token: Token): string {
  return "text" in token ? String(token.text) : token.raw;
}

/** The code for colours, which is loaded with the first block of code in a language. */
const colours = signal<typeof linesOf | undefined>(undefined);

function loadColours(): void {
  // Without a connection the code stays as it is.
  import("./text/colours.ts").then((part) => colours.value = part.linesOf, () => undefined);
}

/** `language` is the name on the fence of the code block. */
function Highlighted({ text, language }: { text: string; language: string }) {
  const linesOf = colours.value;
  useEffect(() => {
    if (language) loadColours();
  }, [language]);
  const lines = useMemo(() => linesOf?.(text, language), [linesOf, text, language]);
  if (!lines) return <code>{visible(text)}</code>;
  return (
    <code>
      {lines.map(({ index, tokens }) => (
        <span key={index}>
          {index > 0 && "\n"}
          {tokens.map(({ type, value }, at) => (
            <span key={at} class={`token-${type}`}>{visible(value)}</span>
          ))}
        </span>
      ))}
    </code>
  );
}
