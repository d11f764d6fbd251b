/** The way from a line back to what began the work on it, with how each step is known. */

import { useLayoutEffect, useRef } from "preact/hooks";
import * as at from "protocol/generated/endpoints.ts";
import { Age, ResourceView, State } from "../../components/basics.tsx";
import { visible } from "../../components/text/visible.tsx";
import { call } from "../../state/calls.ts";
import type { BlameAnswer } from "../../state/records.ts";
import { useResource } from "../../state/resource.ts";
import { link } from "../../state/router.ts";

type Step = BlameAnswer["lines"][number]["links"][number];

interface LineOriginProps {
  /** The absolute path of the file. */
  readonly path: string;
  readonly line: number;
  /** The machine of the file; undefined for this one. */
  readonly machine: string | undefined;
  readonly close: () => void;
}

export function LineOrigin({ path, line, machine, close }: LineOriginProps) {
  const area = useRef<HTMLElement>(null);
  const before = useRef<Element | null>(null);
  // The focus goes to the answer, and back to the line when the answer is closed.
  useLayoutEffect(() => {
    before.current = document.activeElement;
    area.current?.focus();
  }, []);
  const end = () => {
    close();
    if (before.current instanceof HTMLElement) before.current.focus();
  };
  return (
    <section
      ref={area}
      class="rail stack tight"
      aria-label={`Where line ${line} came from`}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        end();
      }}
    >
      <p class="row between">
        <strong>Where line {line} came from</strong>
        <button type="button" class="quiet" onClick={end}>Close</button>
      </p>
      {machine === undefined ? <Answer path={path} line={line} /> : (
        <p class="reason">
          The file is on {visible(machine)}: run <code>mesh blame FILE:{line}</code> there.
        </p>
      )}
    </section>
  );
}

function Answer({ path, line }: Pick<LineOriginProps, "path" | "line">) {
  const query = { path, first: String(line) };
  const load = () => call(at.blameLines, { query });
  const resource = useResource(`origin of ${path}:${line}`, [], load);
  return (
    <ResourceView resource={resource}>
      {({ detail, lines }) =>
        detail === null
          ? lines.map(({ first, links }) => <Steps key={first} steps={links} />)
          : <p class="reason">{visible(detail)}</p>}
    </ResourceView>
  );
}

/** The words for how a step is known. */
const HOW: Readonly<Record<Step["how"], string>> = {
  git: "git says so",
  reported: "the agent reported it",
  recorded: "recorded when it happened",
  inferred: "only times fit",
  claimed: "only a text claims it",
  unknown: "not known",
};

export function Steps({ steps }: { steps: readonly Step[] }) {
  return (
    <ol class="list">
      {steps.map((step, index) => (
        <li key={index} class="row list-row wrap">
          <State of={step.kind === "gap" ? "not known" : step.kind} tone={toneOf(step)} />
          <Words step={step} />
          <span class="grow" />
          {step.at !== null && <Age at={step.at} suffix=" ago" />}
          {step.kind !== "gap" && <span class="hint">{HOW[step.how]}</span>}
        </li>
      ))}
    </ol>
  );
}

function toneOf({ kind, how }: Step): "calm" | "warn" {
  return kind === "gap" || how === "inferred" || how === "claimed" ? "warn" : "calm";
}

const COMMIT_CHARS = 12;

function Words({ step: { kind, id, name, text } }: { step: Step }) {
  switch (kind) {
    case "commit":
      return (
        <span>
          <code>{id?.slice(0, COMMIT_CHARS)}</code> <bdi>{visible(`${text}, by ${name}`)}</bdi>
        </span>
      );
    case "message":
      return <Linked href={askLink(id)} text={text} />;
    case "approval":
      return <Linked href={askLink(id)} text={name === null ? text : `${text} by ${name}`} />;
    case "check":
      return <Linked href={askLink(id)} text={`${name}, ${text}`} />;
    case "agent":
      return (
        <Linked href={id === null ? undefined : link("peers", id)} text={name ?? ""} more={text} />
      );
    case "job":
      return (
        <Linked href={id === null ? undefined : link("jobs", id)} text={name ?? ""} more={text} />
      );
    case "note":
      return <Linked href={undefined} text={id ?? ""} more={text} />;
    default:
      return <Linked href={undefined} text={text} />;
  }
}

function askLink(id: string | null): string | undefined {
  return id?.startsWith("ask-") ? link("asks", id) : undefined;
}

function Linked({ href, text, more }: { href: string | undefined; text: string; more?: string }) {
  const shown = <bdi>{visible(text)}</bdi>;
  return (
    <span>
      {href === undefined ? shown : <a href={href}>{shown}</a>}
      {more !== undefined && <bdi class="hint">{visible(` ${more}`)}</bdi>}
    </span>
  );
}
