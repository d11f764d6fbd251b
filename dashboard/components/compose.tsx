/** Writes to a peer: an ask or a notification, with files. A draft outlives a reload. */

import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import { isPhone } from "../state/browser/phone.ts";
import type { Peer } from "../state/records.ts";
import { refreshTopics } from "../state/resource.ts";
import { humanName, sessionState } from "../state/session.ts";
import { isDefinite, useSubmit } from "./act/submit.ts";
import { Choices, Failed } from "./basics.tsx";
import { DraftFiles, useUploads } from "./compose/files.tsx";
import { type Draft, EMPTY, keepDraft, loadDraft, type Mode } from "./compose/kept.ts";
import { TemplateMenu } from "./compose/template_menu.tsx";

const HINTS: Readonly<Record<Mode, string>> = {
  ask: "needs a reply",
  notify: "needs no reply",
};

/** The draft for a peer, and its sending. */
function useDraft(peer_id: string) {
  const [draft, setDraft] = useState(() => loadDraft(peer_id));
  /** The newest draft: an upload that ends adds to it, not to an older one. */
  const newest = useRef(draft);
  const { busy, error, submit, renew } = useSubmit();
  /** True if the message may or may not have arrived. */
  const [unclear, setUnclear] = useState(false);
  const edit = (change: (draft: Draft) => Draft) => {
    const next = newest.current = change(newest.current);
    setDraft(next);
    setUnclear(false);
    renew();
    keepDraft(peer_id, next);
  };
  /** The same message sent as another kind could arrive twice. */
  const choose = (mode: Mode) => {
    if (!unclear) edit((last) => ({ ...last, mode }));
  };
  const send = (from_peer: string) => {
    const sent = newest.current, { text, mode, files } = sent;
    if (text.trim() === "") return;
    submit(async (headers) => {
      const attachments = files.map(({ id }) => id);
      const more = files.length > 0 ? { attachments } : {};
      const body = { from_peer, to_peer: peer_id, text, ...more };
      try {
        await call(mode === "ask" ? at.openAsk : at.notifyPeer, { body, headers });
      } catch (failure) {
        setUnclear(!isDefinite(failure));
        throw failure;
      }
      // Keeps the text that was written meanwhile.
      if (newest.current === sent) edit(({ mode: kept }) => ({ ...EMPTY, mode: kept }));
      refreshTopics(["messages", "asks"]);
    });
  };
  return { draft, busy, error, unclear, edit, choose, send };
}

/** An explanation of the kind of message, or of a sending with an unknown result. */
function Hint({ draft: { text, mode, files }, unclear }: { draft: Draft; unclear: boolean }) {
  if (unclear) {
    return <span class="hint clip">It may have arrived. Sending it again delivers it once.</span>;
  }
  const isUsual = files.length === 0 && sessionState.value !== "operator";
  if (isUsual && isPhone.value) return null; // It has no room for what the button says.
  return (
    <span class="hint clip">
      {files.length > 0 && text.trim() === "" ? "needs a text beside its files" : HINTS[mode]}
      {sessionState.value === "operator" && " · unverified"}
    </span>
  );
}

export function Compose({ peer }: { peer: Peer }) {
  const { draft, busy, error, unclear, edit, choose, send } = useDraft(peer.peer_id);
  const { text, mode, files } = draft;
  const uploads = useUploads(
    files.length,
    (file) => edit((last) => ({ ...last, files: [...last.files, file] })),
  );
  const { over, onPaste } = useDropping(uploads.startAll);
  const box = useRef<HTMLTextAreaElement>(null);
  const from_peer = humanName.value;
  if (from_peer === null) return <NoHuman />;
  const blocked = busy || uploads.are_running || text.trim() === "";
  const submit = (event: Event) => {
    event.preventDefault();
    if (!blocked) send(from_peer);
  };
  const insert = (template: string) => {
    edit((last) => ({
      ...last,
      text: last.text === "" ? template : `${last.text}\n${template}`,
    }));
    box.current?.focus();
  };
  const remove = (id: string) => {
    edit((last) => ({ ...last, files: last.files.filter((file) => file.id !== id) }));
    call(at.deleteAttachment, { params: { id } }).catch(() => undefined); // It expires anyway.
  };
  const label = `${mode === "ask" ? "Ask" : "Notify"} ${peer.name}`;
  return (
    <div class={`compose stack ${over ? "dropping" : ""}`} onPaste={onPaste}>
      {error !== undefined && <Failed error={error} />}
      <div class="row">
        <Choices<Mode>
          label="Kind of message"
          options={[["ask", "Ask"], ["notify", "Notify"]]}
          chosen={mode}
          choose={choose}
        />
        <Hint draft={draft} unclear={unclear} />
        <span class="grow" />
        <TemplateMenu text={text} insert={insert} />
        <AttachButton attach={uploads.startAll} />
      </div>
      <DraftFiles files={files} uploads={uploads.uploads} remove={remove} cancel={uploads.remove} />
      <form class="row end" onSubmit={submit}>
        <textarea
          rows={2}
          ref={box}
          aria-label={label}
          placeholder={`${label}…`}
          value={text}
          data-compose
          onInput={({ currentTarget: { value } }) => edit((last) => ({ ...last, text: value }))}
          onKeyDown={(event) => isSend(event) && submit(event)}
        />
        <button type="submit" class="primary" aria-disabled={blocked}>Send</button>
      </form>
    </div>
  );
}

/**
 * Files that are pasted into the form, or dropped anywhere on the page: for a dropped file that
 * nothing handles, a browser would leave the page.
 */
function useDropping(attach: (files: readonly File[]) => void) {
  const [over, setOver] = useState(false);
  const newest = useRef(attach);
  newest.current = attach;
  const take = (event: Event, data: DataTransfer | null) => {
    const files = [...data?.files ?? []];
    if (files.length === 0) return;
    event.preventDefault();
    newest.current(files);
  };
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    document.addEventListener("dragover", (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      setOver(true);
    }, { signal });
    document.addEventListener("dragleave", ({ relatedTarget }) => {
      if (relatedTarget === null) setOver(false); // It has left the page.
    }, { signal });
    document.addEventListener("drop", (event) => {
      setOver(false);
      take(event, event.dataTransfer);
    }, { signal });
    return () => controller.abort();
  }, []);
  return { over, onPaste: (event: ClipboardEvent) => take(event, event.clipboardData) };
}

function AttachButton({ attach }: { attach: (files: readonly File[]) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const onChange = ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
    attach([...currentTarget.files ?? []]);
    currentTarget.value = ""; // The same file may be chosen again.
  };
  return (
    <>
      <button type="button" class="quiet" onClick={() => input.current?.click()}>Attach</button>
      <input
        type="file"
        multiple
        hidden
        ref={input}
        aria-label="Files to attach"
        onChange={onChange}
      />
    </>
  );
}

/** Enter sends; with Shift it begins a line. */
export function isSend({ key, shiftKey, isComposing }: KeyboardEvent): boolean {
  return key === "Enter" && !shiftKey && !isComposing;
}

function NoHuman() {
  return (
    <p class="compose hint">
      To write from here, run{" "}
      <code>mesh config set human.name YOU</code>, restart the daemon, then run{" "}
      <code>mesh open</code>.
    </p>
  );
}
