/** The pages for signing in: start page, sign-in form and list of machines. */

import { html, type Markup, page, timeOf } from "../web/page.ts";
import { SECRET_FORM } from "../web/secrets.ts";
import type { Machine } from "protocol/relay/daemons.ts";
import type { Session } from "./sessions.ts";

export function landingPage(session: Session | undefined): Response {
  const options = { title: "Sign in", ...(session && { aside: signOut(session) }) };
  return page(
    options,
    html`
      <h1>Reach your agents from anywhere</h1>
      <p>A daemon on your machine connects to this relay by a secret of its own. With the
      same secret you see its dashboard here, and let other programs talk to your agents.</p>
      ${session ? signedIn() : loginForm()}
      <h2>No secret yet?</h2>
      <p>On the machine where your agents run, <code>mesh setup --relay URL</code> draws one and
      connects. It is kept in that machine's configuration, and nowhere else: this relay knows only
      its digest, so that nobody can send it to you again.</p>
    `,
  );
}

/** Shows the form again with the mistake. The entered text is not shown. */
export function badSecretPage(found: string): Response {
  return page(
    { title: "Not signed in", status: 422 },
    html`
      <h1>That is not a relay secret</h1>
      <p class="bad" role="alert" id="wrong">Found ${found}; a secret is ${SECRET_FORM}.</p>
      ${loginForm("wrong")}
    `,
  );
}

export function tooManyRequestsPage(seconds: number): Response {
  const headers = { "retry-after": String(seconds) };
  return page(
    { title: "Not signed in", status: 429, headers },
    html`
      <h1>Too many attempts</h1>
      <p class="bad" role="alert"
        id="wrong">Too many requests came from your address. Try again in ${seconds} s.</p>
      ${loginForm("wrong")}
    `,
  );
}

/** For a form from a page that was opened before this browser signed in with another secret. */
export function otherSessionPage(): Response {
  return page(
    { title: "Not signed out", status: 403 },
    html`
      <h1>That page was opened under another sign-in</h1>
      <p class="bad" role="alert">Nothing was changed: this browser has signed in again since.</p>
      <p><a href="/">Go to the page of the current sign-in</a>, and sign out there.</p>
    `,
  );
}

export function machinesPage(
  session: Session,
  machines: readonly Machine[],
  { has_apps }: { has_apps: boolean },
): Response {
  const list = machines.map(({ daemon_id, machine, connected_at }) =>
    html`
      <li><a href="/m/${daemon_id}/dashboard"><strong>${machine}</strong></a><br>
      <span class="soft"><code>${daemon_id}</code>, connected since
      ${timeOf(connected_at)}</span></li>
    `
  );
  return page(
    { title: "Machines", aside: signOut(session) },
    html`
      <h1>Your machines</h1>
      ${list.length > 0 ? html`<ul class="cards">${list}</ul>` : noMachines()}
      ${has_apps ? html`<p><a href="/oauth/connections">Connected apps</a></p>` : undefined}
    `,
  );
}

function noMachines(): Markup {
  return html`
    <p>No machine of this secret is connected now.</p>
    <p class="soft">On the machine, <code>mesh status</code> shows whether its daemon is up and
    reaches this relay. Then <a href="/dashboard">reload this page</a>.</p>
  `;
}

function signedIn(): Markup {
  return html`<p>You are signed in. <a href="/dashboard">See your machines</a>.</p>`;
}

/** `described` is the id of the element that explains why the previous attempt failed. */
function loginForm(described?: string): Markup {
  const why = described && html`
    aria-invalid="true" aria-describedby="${described}"
  `;
  return html`
    <form method="post" action="/login">
      <label for="secret">Relay secret</label>
      <input id="secret" name="secret" type="password" required autocomplete="current-password"
        spellcheck="false" autocapitalize="none" ${why || undefined}>
      <button>Sign in</button>
    </form>
  `;
}

function signOut({ form_token }: Session): Markup {
  return html`<form method="post" action="/logout">
<input type="hidden" name="form_token" value="${form_token}">
<button class="quiet">Sign out</button></form>`;
}
