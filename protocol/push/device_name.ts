/** The name of a browser, from what it says about itself. */

const BROWSERS: readonly (readonly [form: RegExp, name: string])[] = [
  [/\bEdg(?:A|iOS)?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\b(?:Firefox|FxiOS)\//, "Firefox"],
  [/\b(?:Chrome|CriOS)\//, "Chrome"],
  [/\bSafari\//, "Safari"],
];
const SYSTEMS: readonly (readonly [form: RegExp, name: string])[] = [
  [/\biPhone\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\bMacintosh\b/, "Mac"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bLinux\b/, "Linux"],
];

/** Such as `Chrome on Android`. */
export function deviceName(user_agent: string | null): string {
  const nameIn = (table: typeof BROWSERS) =>
    table.find(([form]) => form.test(user_agent ?? ""))?.[1];
  const browser = nameIn(BROWSERS), system = nameIn(SYSTEMS);
  return [browser, system].filter((name) => name !== undefined).join(" on ") || "A browser";
}
