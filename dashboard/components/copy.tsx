/** A button that copies a text, and a command with it. */

import { useState } from "preact/hooks";
import { withoutHidden } from "kit/core/hidden.ts";

/** Copies the text without its hidden characters. */
export function Copy({ text, label = "Copy" }: { text: string; label?: string }) {
  const [state, setState] = useState<"copied" | "refused">();
  const copy = async () => {
    setState(await writeClipboard(withoutHidden(text)) ? "copied" : "refused");
    setTimeout(() => setState(undefined), 3000);
  };
  const shown = { copied: "Copied", refused: "Select the text to copy it" };
  return <button type="button" class="quiet" onClick={copy}>{state ? shown[state] : label}</button>;
}

/** A command, with a button that copies it. */
export function Command({ text }: { text: string }) {
  return (
    <p class="command cluster">
      <code>{text}</code>
      <Copy text={text} />
    </p>
  );
}

/** Browsers give pages the clipboard only with HTTPS or on a loopback address. */
async function writeClipboard(text: string): Promise<boolean> {
  const clipboard: Clipboard | undefined = navigator.clipboard;
  if (!clipboard) return false;
  return await clipboard.writeText(text).then(() => true, () => false);
}
