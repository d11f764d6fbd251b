/** Names and types of files: what others say is made harmless before it is kept. */

/** Room for a name on every file system, in bytes of UTF-8. */
const NAME_BYTES_MAX = 200;
const EXTENSION_MAX = 16;
/** What a file is called that has no name worth keeping. */
const DEFAULT_NAME = "file";
export const OCTET_STREAM = "application/octet-stream";

/** Separators, and what no name of Windows may hold; the quote would end an attribute. */
const FORBIDDEN_CHARACTERS = /[<>:"|?*\u2028\u2029]/g;
/** Controls, lone surrogates, and what is not seen or turns the reading direction around. */
const INVISIBLE = /[\p{Cc}\p{Cs}\p{Cf}\p{Co}]/gu;
/** Names of devices on Windows, whatever their extension. */
const DEVICE_NAME = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?=$|\.|\s)/i;

/** A bare name: no path, nothing hidden, no option of a command, no device, at most 200 bytes. */
export function cleanFilename(given: string): string {
  const last = given.split(/[/\\]/).at(-1) ?? "";
  const visible = last.replaceAll(FORBIDDEN_CHARACTERS, "_").replaceAll(/\s/gu, " ").replaceAll(
    INVISIBLE,
    "",
  );
  const plain = visible.normalize("NFC").replaceAll(/ +/g, " ");
  const stripped = trimEnd(plain.replace(/^[.\s~-]+/u, ""));
  const name = truncate(DEVICE_NAME.test(stripped) ? `_${stripped}` : stripped);
  return name === "" ? DEFAULT_NAME : name;
}

/** The extension of a clean name, with its dot, when it is a short plain word; else nothing. */
export function extensionOf(name: string): string {
  return /\.[a-z0-9]{1,8}$/.exec(name.toLowerCase())?.[0] ?? "";
}

/** Types that a browser would run, or that hold others: they are bytes to us. */
const ACTIVE_TYPES =
  /^(?:multipart|message)\/|\b(?:html|xhtml|xml|xsl|xslt|svg|css|wasm|\w*script)\b|flash|java|xul|signed-exchange|webbundle/;
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}$/;

/** A media type without parameters; `application/octet-stream` for one that could do anything. */
export function cleanMediaType(given: string): string {
  const type = (given.split(";")[0] ?? "").trim().toLowerCase();
  return MEDIA_TYPE.test(type) && !ACTIVE_TYPES.test(type) ? type : OCTET_STREAM;
}

/**
 * How a download is named (RFC 6266, RFC 8187): all but letters, digits and `-._~` is encoded, and
 * for readers that know the plain form only, replaced.
 */
export function toContentDisposition(filename: string): string {
  const encoded = encodeURIComponent(filename).replaceAll(
    /['()*!]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const plain = filename.replaceAll(/[^\w .~-]/g, "_");
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}

const utf8 = new TextEncoder();

/** The head of a name that is too long, and its extension. */
function truncate(name: string): string {
  if (utf8.encode(name).length <= NAME_BYTES_MAX) return name;
  const dot = name.lastIndexOf(".");
  const extension = dot > 0 && name.length - dot <= EXTENSION_MAX ? name.slice(dot) : "";
  const bytesLeft = NAME_BYTES_MAX - utf8.encode(extension).length;
  let head = "", bytes = 0;
  for (const char of name.slice(0, name.length - extension.length)) {
    bytes += utf8.encode(char).length;
    if (bytes > bytesLeft) break;
    head += char;
  }
  return `${trimEnd(head)}${extension}`;
}

/** Windows drops dots and spaces at an end, so that two names could be one. */
function trimEnd(name: string): string {
  return name.replace(/(?<![.\s])[.\s]+$/u, "");
}
