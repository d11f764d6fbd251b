/** Cleans untrusted file names and media types before they are stored. */

/** Length limit of a file name, in bytes of UTF-8. Every file system allows this length. */
const NAME_BYTES_MAX = 200;
const EXTENSION_MAX = 16;
/** The name of a file whose given name contains no usable characters. */
const DEFAULT_NAME = "file";
export const OCTET_STREAM = "application/octet-stream";

/** Line separators, and characters that Windows forbids. A quote would also end an attribute. */
const FORBIDDEN_CHARACTERS = /[<>:"|?*\u2028\u2029]/g;
/** Control, format and private-use characters, and lone surrogates: invisible or misleading. */
const INVISIBLE = /[\p{Cc}\p{Cs}\p{Cf}\p{Co}]/gu;
/** The names of devices on Windows, which stay reserved with any extension. */
const DEVICE_NAME = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?=$|\.|\s)/i;

/** Makes a name safe: no path, not hidden, no command option, no device name, at most 200 bytes. */
export function cleanFilename(given: string): string {
  const last = given.split(/[/\\]/).at(-1) ?? "";
  const allowed = last.replaceAll(FORBIDDEN_CHARACTERS, "_").replaceAll(/\s/gu, " ");
  const plain = allowed.replaceAll(INVISIBLE, "").normalize("NFC").replaceAll(/ +/g, " ");
  const stripped = trimEnd(plain.replace(/^[.\s~-]+/u, ""));
  const name = truncate(DEVICE_NAME.test(stripped) ? `_${stripped}` : stripped);
  return name === "" ? DEFAULT_NAME : name;
}

/** The extension of a clean name, with its dot. Empty if it is long or not alphanumeric. */
export function extensionOf(name: string): string {
  return /\.[a-z0-9]{1,8}$/.exec(name.toLowerCase())?.[0] ?? "";
}

/** Types that a browser may execute, or that contain other types. Octet-stream replaces them. */
const ACTIVE_TYPES =
  /^(?:multipart|message)\/|\b(?:html|xhtml|xml|xsl|xslt|svg|css|wasm|\w*script)\b|flash|java|xul|signed-exchange|webbundle/;
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}$/;

/** The media type without parameters. `application/octet-stream` if it is invalid or active. */
export function cleanMediaType(given: string): string {
  const type = (given.split(";")[0] ?? "").trim().toLowerCase();
  return MEDIA_TYPE.test(type) && !ACTIVE_TYPES.test(type) ? type : OCTET_STREAM;
}

/**
 * The header that names a download (RFC 6266, RFC 8187). In `filename*`, all characters except
 * letters, digits and `-._~` are percent-encoded. In `filename`, for old clients, special
 * characters are replaced.
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

/** Truncates the name if it is too long, but keeps its extension. */
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

/** Windows ignores dots and spaces at the end, so two names could mean the same file. */
function trimEnd(name: string): string {
  return name.replace(/(?<![.\s])[.\s]+$/u, "");
}
