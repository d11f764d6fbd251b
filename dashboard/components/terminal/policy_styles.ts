/**
 * Styles of xterm.js under the page's policy, which forbids style elements and style attributes:
 * their text goes to style sheets and properties. xterm.js makes its elements with the page's own
 * document, even if its option `documentOverride` names another document.
 */

interface PolicyStyles {
  /** Adds a style sheet until `release`. */
  adopt(text: string): void;
  /** Removes the sheets, and makes elements as before. */
  release(): void;
}

/** Until it is released, new `style` and `span` elements of the page divert their styles. */
export function divertStyles(page: Document): PolicyStyles {
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

/** Writes the rules of the element to the sheet. */
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
