/**
 * The templates of messages, which this browser keeps: insert a template, keep the present text as
 * one, forget one.
 */

import { useState } from "preact/hooks";
import { keepText, readKept } from "../../state/browser/storage.ts";
import { Dialog } from "../basics.tsx";
import { Icon } from "../icons/icon.tsx";
import { firstLine } from "../message.tsx";
import { parseTemplates, type Template, TEMPLATES_MAX } from "./kept.ts";
import { signal } from "@preact/signals";

const KEY = "mesh-templates";

const templates = signal<readonly Template[]>(parseTemplates(readKept(KEY) ?? "[]"));

/** Keeps a text under a name, and replaces a template of the same name. */
function keepTemplate(name: string, text: string): void {
  const others = templates.value.filter((template) => template.name !== name);
  write([...others, { name, text }].toSorted((a, b) => a.name.localeCompare(b.name)));
}

function forgetTemplate(name: string): void {
  write(templates.value.filter((template) => template.name !== name));
}

function write(next: readonly Template[]): void {
  templates.value = next;
  keepText(KEY, JSON.stringify(next));
}

export function TemplateMenu(
  { text, insert }: { text: string; insert: (text: string) => void },
) {
  const [open, setOpen] = useState(false);
  const use = (template: string) => {
    insert(template);
    setOpen(false);
  };
  return (
    <>
      <button type="button" class="quiet" onClick={() => setOpen(true)}>Templates</button>
      {open && (
        <Dialog title="Templates" close={() => setOpen(false)}>
          {templates.value.length === 0 && (
            <p class="hint">
              Texts that you send often. Write one in the message box, then keep it here.
            </p>
          )}
          <ul class="templates stack tight">
            {templates.value.map(({ name, text: content }) => (
              <li key={name} class="row">
                <button type="button" class="row list-row" onClick={() => use(content)}>
                  <bdi>{name}</bdi>
                  <span class="hint">
                    <bdi>{firstLine(content)}</bdi>
                  </span>
                </button>
                <button
                  type="button"
                  class="quiet"
                  aria-label={`Forget ${name}`}
                  onClick={() => forgetTemplate(name)}
                >
                  <Icon name="close" />
                </button>
              </li>
            ))}
          </ul>
          <Keep text={text} />
          <p class="hint">Templates are kept in this browser only.</p>
        </Dialog>
      )}
    </>
  );
}

function Keep({ text }: { text: string }) {
  const [name, setName] = useState("");
  if (text.trim() === "") return null;
  const wanted = name.trim();
  const replaces = templates.value.some((template) => template.name === wanted);
  const full = templates.value.length >= TEMPLATES_MAX && !replaces;
  const submit = (event: Event) => {
    event.preventDefault();
    if (wanted === "" || full) return;
    keepTemplate(wanted, text);
    setName("");
  };
  return (
    <form class="form window stack" onSubmit={submit}>
      <label>
        Keep the present text as
        <input
          value={name}
          maxLength={60}
          placeholder="a name"
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </label>
      {full && <p class="reason">{TEMPLATES_MAX} templates are kept: forget one first.</p>}
      <div class="answer-tools cluster">
        <button type="submit" disabled={wanted === "" || full}>
          {replaces ? "Replace it" : "Keep it"}
        </button>
      </div>
    </form>
  );
}
