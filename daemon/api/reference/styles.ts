/** The styles of the API reference: dark and light, wide and narrow. */

export const STYLES = `
:root { color-scheme: light dark; --line: light-dark(#d8dce2, #3a3f47);
  --soft: light-dark(#f3f5f8, #1f2329); --link: light-dark(#0a58ad, #7db8ff);
  --muted: light-dark(#57606a, #a3acb8) }
* { box-sizing: border-box }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; overflow-wrap: break-word }
a { color: var(--link); text-decoration: none } a:hover { text-decoration: underline }
nav { padding: 1rem; border-bottom: 1px solid var(--line); font-size: .875rem }
nav ul { list-style: none; margin: 0 0 .5rem; padding: 0 0 0 1rem }
nav summary { cursor: pointer; padding: .2rem 0 } nav b { font-weight: 600 }
main { padding: 1rem; max-width: 62rem; min-width: 0 }
h1 { font-size: 1.6rem; margin: .5rem 0 } h2 { font-size: 1.3rem; margin: 3rem 0 .5rem }
h3 { font-size: 1rem; font-family: ui-monospace, monospace; margin: 0 } h4 { margin: 1rem 0 .3rem }
h2 a, h3 a { color: inherit }
article { border-top: 1px solid var(--line); padding: 1.2rem 0; scroll-margin-top: .5rem }
article:target { border-left: 3px solid var(--link); padding-left: .8rem }
code, pre { font-family: ui-monospace, monospace; font-size: .85em }
pre { background: var(--soft); padding: .8rem; border-radius: .4rem; overflow-x: auto }
table { display: block; overflow-x: auto; border-collapse: collapse; font-size: .875rem }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; min-width: 7rem;
  border-top: 1px solid var(--line) }
th, i { color: var(--muted); font-weight: 400 } details summary { cursor: pointer }
@media (min-width: 64rem) {
  nav { position: fixed; inset: 0 auto 0 0; width: 19rem; overflow-y: auto; border-bottom: 0;
    border-right: 1px solid var(--line) }
  main { margin-left: 19rem; padding: 1rem 2rem }
}
`;
