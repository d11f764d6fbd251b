/** The look of the pages without the dashboard's code: sign-in, consent, pairing, shares. */

import mark from "../styles/icon.svg" with { type: "text" };
import tokens from "../styles/tokens.css" with { type: "text" };

/** The mark of the product, as markup. */
export const MARK = mark.replace("<svg ", '<svg aria-hidden="true" ').trim();

const RULES = `
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 42rem; padding: 2rem 1.25rem 4rem; background: var(--bg);
  color: var(--text); font: var(--base) / 1.6 var(--sans); overflow-wrap: anywhere }
header { display: flex; align-items: center; justify-content: space-between; gap: var(--gap-4);
  border-bottom: 1px solid var(--line); padding-bottom: var(--gap-3); margin-bottom: var(--gap-6) }
header > a, header > span { display: flex; align-items: center; gap: var(--gap-2); color: inherit;
  font-weight: 600; text-decoration: none }
header svg { width: 1.5rem; height: 1.5rem }
h1 { font-size: var(--large); line-height: 1.3; margin: 0 0 var(--gap-3) }
h2 { font-size: var(--medium); margin: var(--gap-6) 0 var(--gap-2) }
p, ul, dl { margin: 0 0 var(--gap-4) }
a { color: var(--link) }
.soft, dt { color: var(--muted); font-size: var(--small) }
label { display: block; font-weight: 600; margin-bottom: var(--gap-1) }
input, textarea { width: 100%; min-height: var(--row); padding: var(--gap-2) var(--gap-3);
  border: 1px solid var(--line-strong); border-radius: 6px; background: var(--surface);
  color: var(--text); font: inherit }
fieldset { border: 1px solid var(--line); border-radius: var(--radius); margin: 0 0 var(--gap-4);
  padding: var(--gap-2) var(--gap-4) }
legend { padding: 0 var(--gap-1); font-weight: 600 }
label.choice { display: flex; align-items: baseline; gap: var(--gap-3); font-weight: normal;
  margin-bottom: var(--gap-3); cursor: pointer }
input[type=radio] { width: auto; min-height: 0; flex: none; margin: 0;
  accent-color: var(--accent) }
button { min-height: var(--row); margin-top: var(--gap-3); padding: 0 var(--gap-4);
  border: 1px solid var(--accent); border-radius: 6px; background: var(--accent);
  color: var(--on-accent); font: inherit; font-weight: 600; cursor: pointer;
  transition: border-color var(--motion), background-color var(--motion) }
button.quiet { margin: 0; background: none; border-color: var(--line-strong); color: var(--text) }
button.danger { background: none; border-color: var(--bad); color: var(--bad) }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px }
.bad { border-left: 3px solid var(--bad); padding: 0 var(--gap-3); color: var(--bad) }
.bad:empty { display: none }
ul.cards, ul.news { list-style: none; padding: 0 }
ul.cards li, pre { border: 1px solid var(--line); border-radius: var(--radius);
  background: var(--surface); padding: var(--gap-3) var(--gap-4); margin: 0 0 var(--gap-3) }
pre { white-space: pre-wrap; font: inherit }
code, time { font-family: var(--mono); font-size: 0.92em; font-variant-numeric: tabular-nums }
dd { margin: 0 0 var(--gap-2) }
`;

/** The dashboard's tokens, and the rules of small pages. */
export const SMALL_PAGE_STYLE = withoutComments(tokens).trim() + RULES;

function withoutComments(css: string): string {
  return css.split("/*").map((part, at) => at === 0 ? part : part.split("*/").slice(1).join("*/"))
    .join("");
}
