/** Icons, marks of agents and shapes of states: pictures beside a word, hidden from speech. */

import { AGENT_MARKS, type IconName, ICONS, PERSON_MARK, type Shape, SHAPES } from "./drawings.ts";

export type { IconName, Shape };

/** An icon in the colour and size of the text around it. */
export function Icon({ name }: { name: IconName }) {
  return <Drawing path={ICONS[name]} />;
}

/** The mark of an agent, or of the person; an unknown agent has the mark of a generic one. */
export function AgentMark({ backend, is_person }: {
  backend: string | null;
  is_person?: boolean;
}) {
  const mark = AGENT_MARKS[backend ?? "generic"] ?? AGENT_MARKS.generic ?? "";
  return <Drawing path={is_person ? PERSON_MARK : mark} kind="mark" />;
}

/** The shape of a state, in the colour of its text. */
export function StateShape({ shape }: { shape: Shape }) {
  return <Drawing path={SHAPES[shape]} kind={`shape shape-${shape}`} />;
}

function Drawing({ path, kind = "" }: { path: string; kind?: string }) {
  return (
    <svg class={`icon ${kind}`} viewBox="0 0 20 20" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}
