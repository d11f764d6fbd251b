/** Names of folders in ASCII. Loads its library, half a megabyte, only for a name that needs it. */

const ASCII = /^[\0-\x7f]*$/;

let transliterate: ((text: string) => string) | undefined;
let loading: Promise<void> | undefined;

/** Prepares `toAscii`, as registrations are synchronous; undefined if nothing must be loaded. */
export function loadTransliteration(text: string): Promise<void> | undefined {
  if (transliterate || ASCII.test(text)) return undefined;
  return loading ??= import("any-ascii").then((library) => {
    transliterate = library.default;
  });
}

/** A readable form of a text in ASCII letters; undefined if the library is not loaded. */
export function toAscii(text: string): string | undefined {
  // The library does not join a letter and its accent, nor the marks of kana.
  return ASCII.test(text) ? text : transliterate?.(text.normalize("NFC"));
}
