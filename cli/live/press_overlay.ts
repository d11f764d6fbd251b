/** The effect of each key while a text is typed, or a choice or a kill is open. */

import type { Input } from "../screen/keys.ts";
import { edit } from "../screen/text_field.ts";
import {
  type Act,
  keepDraft,
  type KeyEffect,
  openField,
  type Overlay,
  type Target,
  type View,
} from "./view.ts";

type Kind<K extends Overlay["kind"]> = Extract<Overlay, { kind: K }>;

export function pressOverlay(view: View, input: Input): KeyEffect {
  const { overlay } = view;
  switch (overlay?.kind) {
    case "write":
      return pressField(view, overlay, input);
    case "choose":
      return typeof input === "string" ? pressChoice(view, overlay, input) : { view };
    case "kill":
      return pressKill(view, overlay, input);
    case "interrupt":
      return confirm(view, input, { kind: "interrupt", peer: overlay.peer });
    default:
      return { view: { ...view, overlay: undefined } };
  }
}

function pressField(view: View, overlay: Kind<"write">, input: Input): KeyEffect {
  const { target, field } = overlay;
  switch (input) {
    case "escape":
      return { view: keepDraft(view) };
    case "enter":
      return submit(view, target, field.text);
    case "ctrl-g":
      if (target.kind === "search") return { view };
      return { view: keepDraft(view), act: { kind: "edit", target, text: field.text } };
    case "tab":
      return { view: { ...view, overlay: { ...overlay, target: otherVerb(target) } } };
    default: {
      const edited = edit(field, input);
      return { view: edited ? { ...view, overlay: { ...overlay, field: edited } } : view };
    }
  }
}

/** The draft is kept until the daemon has taken the text. */
function submit(view: View, target: Target, text: string): KeyEffect {
  const kept = keepDraft(view);
  if (target.kind === "search") {
    const query = text.trim() === "" ? undefined : text;
    return { view: { ...kept, section: "feed" }, act: { kind: "search", query } };
  }
  return text.trim() === "" ? { view: kept } : { view: kept, act: { kind: "send", target, text } };
}

/** Switches between an ask and a notification. */
function otherVerb(target: Target): Target {
  if (target.kind === "ask") return { ...target, kind: "notify" };
  return target.kind === "notify" ? { ...target, kind: "ask" } : target;
}

function pressChoice(view: View, overlay: Kind<"choose">, key: string): KeyEffect {
  const { item, index } = overlay;
  const options = item.question?.options ?? [];
  const closed = { ...view, overlay: undefined };
  const to = (next: number): KeyEffect => {
    const bounded = Math.max(0, Math.min(next, options.length - 1));
    return { view: { ...view, overlay: { ...overlay, index: bounded } } };
  };
  const numbered = /^[1-9]$/.test(key) ? options[Number(key) - 1] : undefined;
  const chosen = key === "enter" ? options[index] : numbered;
  if (chosen) return { view: closed, act: { kind: "choose", item, option_id: chosen.id } };
  // deno-fmt-ignore
  switch (key) {
    case "j": case "down": return to(index + 1);
    case "k": case "up": return to(index - 1);
    case "a": case "t": return { view: openField(view, { kind: "answer", item, closes: true }) };
    case "escape": case "q": return { view: closed };
    default: return { view };
  }
}

/** Only `y` kills, and only after the losses are shown. */
function pressKill(view: View, { peer, losses }: Kind<"kill">, input: Input): KeyEffect {
  if (input === "y" && losses === undefined) return { view };
  return confirm(view, input, { kind: "kill", peer });
}

/** Only `y` acts; any other key leaves. */
function confirm(view: View, input: Input, act: Act): KeyEffect {
  const closed = { ...view, overlay: undefined };
  return input === "y" ? { view: closed, act } : { view: closed };
}
