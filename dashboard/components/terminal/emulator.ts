/** The terminal: xterm.js as a screen, and for its keys, in a separate file. */

import { type ITheme, Terminal } from "@xterm/xterm";
import styles from "@xterm/xterm/css/xterm.css" with { type: "text" };
import { withColoursOnly } from "./colour_rows.ts";
import type {
  FontSizes,
  ScreenContent,
  TerminalInput,
  TerminalPart,
  TerminalView,
} from "./part.ts";
import { keysOf, pasteOf } from "./typed_keys.ts";

const FONT =
  'ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", Menlo, Consolas, monospace';
const FONT_PX = 14;
/** WCAG 2.2, 1.4.3. */
const CONTRAST_MIN = 4.5;

/** Ends the typing. No other function key has a use here. */
const LEAVE_KEY = "F2";

/** Dark in both themes of the page: programs choose their colours for a dark terminal. */
const THEME: ITheme = {
  background: "#0b0f13",
  foreground: "#d8dee4",
  cursor: "#d8dee4",
  cursorAccent: "#0b0f13",
  selectionBackground: "#33475b",
  black: "#1c2229",
  red: "#f0716b",
  green: "#5fd38a",
  yellow: "#e2b93d",
  blue: "#6cacff",
  magenta: "#d58cf0",
  cyan: "#4fc8d8",
  white: "#c9d1d9",
  brightBlack: "#6e7a86",
  brightRed: "#ff9a94",
  brightGreen: "#8ae8ab",
  brightYellow: "#f5d76e",
  brightBlue: "#9cc8ff",
  brightMagenta: "#e6b3fa",
  brightCyan: "#86e1ec",
  brightWhite: "#ffffff",
};

export const openTerminal: TerminalPart["openTerminal"] = (host) => {
  const policyStyles = divertStyles(document);
  policyStyles.adopt(styles);
  const terminal = new Terminal({
    disableStdin: true,
    scrollback: 0,
    cursorInactiveStyle: "outline",
    minimumContrastRatio: CONTRAST_MIN,
    fontFamily: FONT,
    fontSize: FONT_PX,
    theme: THEME,
  });
  terminal.open(host);
  // In the alternate screen, the cursor is drawn also before the terminal has had the focus.
  terminal.write("\x1b[?1049h");
  const takeInput = inputOf(terminal);
  takeInput(undefined);
  let sizes: FontSizes = { px_min: FONT_PX, px_max: FONT_PX };
  const fit = () => {
    const size = fontSize(host.clientWidth, terminal.cols, sizes);
    if (terminal.options.fontSize !== size) terminal.options.fontSize = size;
  };
  const observer = new ResizeObserver(fit);
  observer.observe(host);
  return {
    show(screen) {
      const { width, height } = screen;
      if (terminal.cols !== width || terminal.rows !== height) {
        terminal.resize(Math.max(width, 2), Math.max(height, 1));
        fit();
      }
      terminal.write(toSequence(screen));
    },
    setSizes(next) {
      sizes = next;
      fit();
    },
    get font_px() {
      return terminal.options.fontSize ?? FONT_PX;
    },
    takeInput,
    dispose() {
      observer.disconnect();
      terminal.dispose();
      policyStyles.release();
    },
  } satisfies TerminalView;
};

/** Without an input, Tab and every other key belong to the page. */
function inputOf(terminal: Terminal): TerminalView["takeInput"] {
  let input: TerminalInput | undefined;
  terminal.onData((data) => input?.typed(keysOf(data)));
  // In its alternate screen, xterm.js would turn wheel events into arrow keys.
  terminal.attachCustomWheelEventHandler(() => false);
  terminal.attachCustomKeyEventHandler((event) => {
    if (event.key !== LEAVE_KEY) return input !== undefined;
    if (event.type === "keydown") input?.leave();
    return false;
  });
  const { textarea } = terminal;
  textarea?.addEventListener("paste", (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
    input?.typed(pasteOf(event.clipboardData?.getData("text/plain") ?? ""));
  }, { capture: true });
  return (next) => {
    input = next;
    terminal.options.disableStdin = next === undefined;
    if (textarea) textarea.tabIndex = next ? 0 : -1;
    if (next) terminal.focus();
    else terminal.blur();
  };
}

/**
 * Draws the whole screen again, each row at its own place: a row whose width xterm.js counts
 * differently does not move others. Rows do not wrap (`?7l`). Line drawings are set G1 (`)0`).
 */
function toSequence({ rows, height, cursor }: ScreenContent): string {
  const drawn = rows.slice(0, height).map((row, y) => `\x1b[${y + 1}H${withColoursOnly(row)}`);
  const place = cursor ? `\x1b[${cursor.y + 1};${cursor.x + 1}H\x1b[?25h` : "\x1b[?25l";
  return `\x1b[?7l\x1b)0\x0f\x1b[m\x1b[2J${drawn.join("")}\x0f\x1b[m${place}`;
}

/** The largest size at which all columns fit; a wider screen scrolls. */
function fontSize(width_px: number, columns: number, { px_min, px_max }: FontSizes): number {
  const context = document.createElement("canvas").getContext("2d");
  if (!context || width_px === 0) return px_max;
  context.font = `100px ${FONT}`;
  const per_px = context.measureText("W").width / 100;
  const fitting = Math.floor(2 * width_px / (columns * per_px)) / 2;
  return Math.min(px_max, Math.max(px_min, fitting));
}

interface PolicyStyles {
  /** Adds a style sheet until `release`. */
  adopt(text: string): void;
  /** Removes the sheets, and makes elements as before. */
  release(): void;
}

/**
 * Applies the styles of xterm.js under the page's policy, which forbids style elements and style
 * attributes: their text goes to style sheets and properties. xterm.js makes its elements with the
 * page's own document, even if its option `documentOverride` names another document. Until it is
 * released, new `style` and `span` elements of the page divert their styles.
 */
function divertStyles(page: Document): PolicyStyles {
  const sheets: CSSStyleSheet[] = [];
  const addSheet = (): CSSStyleSheet => {
    const sheet = new CSSStyleSheet();
    sheets.push(sheet);
    page.adoptedStyleSheets.push(sheet);
    return sheet;
  };
  const make = Document.prototype.createElement.bind(page);
  const divert = (name: string, options?: ElementCreationOptions) => {
    // An empty style element is refused, too: an empty template replaces it.
    const element = make(name === "style" ? "template" : name, options);
    if (name === "style") divertText(element, addSheet());
    else if (name === "span") divertAttribute(element);
    return element;
  };
  page.createElement = divert;
  return {
    adopt: (text) => addSheet().replaceSync(text),
    release() {
      // Restores the prototype's function, if no other terminal was opened meanwhile.
      if (page.createElement === divert) Reflect.deleteProperty(page, "createElement");
      page.adoptedStyleSheets = page.adoptedStyleSheets.filter((sheet) => !sheets.includes(sheet));
    },
  };
}

/** Makes the sheet take the rules that are written as the text of a style element. */
function divertText(element: HTMLElement, sheet: CSSStyleSheet): void {
  Object.defineProperty(element, "textContent", {
    set: (text: string) => sheet.replaceSync(text),
  });
}

function divertAttribute(element: HTMLElement): void {
  const setAttribute = element.setAttribute.bind(element);
  element.setAttribute = (name, value) => {
    if (name === "style") element.style.cssText = value;
    else setAttribute(name, value);
  };
}
