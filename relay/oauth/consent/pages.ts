/** The pages for consent, with the access that is offered, and for connected apps. */

import { WRITE } from "protocol/relay/mcp.ts";
import { html, Markup, page, timeOf } from "../../web/page.ts";
import type { Client, Scope } from "protocol/relay/oauth.ts";
import type { Connection } from "../grant_store.ts";
import type { OAuthRefusal } from "../refusals.ts";

export interface ConsentPage {
  readonly client: Client;
  readonly redirect_uri: string;
  /** The scope that the app requests. */
  readonly scope: Scope;
  /** The scope that is selected. */
  readonly chosen: Scope;
  readonly sealed: string;
  readonly signed_in: boolean;
  /** The reason why the previous submission of the form was refused. */
  readonly refusal?: OAuthRefusal;
  readonly headers: Readonly<Record<string, string>>;
}

export function consentPage(consent: ConsentPage): Response {
  const { client, redirect_uri, sealed, signed_in, refusal, headers } = consent;
  const body = html`<h1>Connect an app</h1>
${refusal && html`<p class="bad" role="alert">${refusal.description}.</p>`}
<p>An app that calls itself <strong>${client.client_name ?? "nothing"}</strong> wants to reach your
agents. Nobody has checked its name. You will be sent back to <strong>${
    destinationOf(redirect_uri)
  }</strong>.</p>
<form method="post" action="/oauth/authorize">
<input type="hidden" name="request" value="${sealed}">
<p>For 30 days at most, and until you revoke it, it could, on every machine that shares the relay
secret:</p>
${accessOf(consent)}
<p>It never learns the secret itself. If you did not just connect an app, deny.</p>
${signed_in ? html`<p>You are signed in to the relay in this browser.</p>` : SECRET_FIELD}
<button type="submit" name="decision" value="allow">Allow</button>
<button type="submit" name="decision" value="deny" class="danger" formnovalidate>Deny</button>
</form>`;
  const status = refusal?.status ?? 200;
  return page({ title: "Connect an app", status, headers: { ...headers, ...OPENER } }, body);
}

/**
 * An app may have opened this page in a popup. The app then waits in its own window for the popup
 * to reach the callback, so the connection between the two windows must stay.
 */
const OPENER = { "cross-origin-opener-policy": "unsafe-none" };

const SECRET_FIELD = html`
  <label for="relay_secret">Relay secret, as your daemon has it</label>
  <input type="password" id="relay_secret" name="relay_secret" required
    autocomplete="current-password"
    placeholder="mesh_sk_…">
`;

const READS = "see machines and agents, and read the replies to its own requests";
const WRITES = "ask agents to work, and send them messages";

/** The requested access. If the app requests to send, the person may allow it only to read. */
function accessOf({ scope, chosen }: ConsentPage): Markup {
  if (!scope.includes(WRITE)) {
    return html`
      <ul>
        <li>${READS}</li>
      </ul>
    `;
  }
  const select = (access: "read" | "write") => {
    const isChosen = chosen.includes(WRITE) === (access === "write");
    const checked = isChosen ? new Markup(" checked") : undefined;
    return html`
      <input type="radio" name="access" value="${access}" ${checked}>
    `;
  };
  return html`
    <fieldset>
      <legend>Access</legend>
      <label class="choice">${select("write")}
    <span><strong>Read and send</strong>: ${READS}; ${WRITES}</span></label>
      <label class="choice">${select("read")}
    <span><strong>Read only</strong>: ${READS}</span></label>
    </fieldset>
  `;
}

/** The target of the redirect: a program on this computer, or a host for the person to check. */
function destinationOf(redirect_uri: string): string {
  const { protocol, host } = new URL(redirect_uri);
  return protocol === "http:" ? `a program on this computer (${host})` : host;
}

/** A page for a refusal that is not redirected. `answer`: the address where the app expects it. */
export function refusalPage(refusal: OAuthRefusal, answer?: string): Response {
  const { description, error } = refusal;
  const back = answer !== undefined &&
    html`<p>The app waits for this answer at <strong>${
      destinationOf(answer)
    }</strong>. Nobody has checked
that address. If you know it, <a href="${answer}" rel="noreferrer">go back to the app</a>.</p>`;
  const body = html`<h1>This request was refused</h1>
<p class="bad" role="alert">${description}.</p>
<p>Nothing was changed. You can close this page. (<code>${error}</code>)</p>
${back || undefined}`;
  // For a 401, a browser would show its own sign-in dialog.
  const status = refusal.status === 401 ? 400 : refusal.status;
  const retry = refusal.headers["retry-after"];
  const headers = { ...OPENER, ...(retry !== undefined && { "retry-after": retry }) };
  return page({ title: "This request was refused", status, headers }, body);
}

export function signInPage(refusal: OAuthRefusal): Response {
  const body = html`<h1>Connected apps</h1>
<p class="bad" role="alert">${refusal.description}.</p>
<p><a href="/">Sign in with your relay secret</a>, then come back to this page.</p>`;
  return page({ title: "Connected apps", status: refusal.status }, body);
}

export function connectionsPage(connections: readonly Connection[], form_token: string): Response {
  const none = html`<p>No app is connected. One appears here once you have allowed it.</p>`;
  const some =
    html`<p>These apps may reach the machines that share your relay secret. Revoking rejects
what an app sends from now on; what an agent was already given goes on.</p>
<ul class="cards">
${connections.map((connection) => cardOf(connection, form_token))}
</ul>`;
  const body = html`<h1>Connected apps</h1>
${connections.length === 0 ? none : some}
<p><a href="/dashboard">Machines</a></p>`;
  return page({ title: "Connected apps" }, body);
}

function cardOf(connection: Connection, form_token: string): Markup {
  const { grant_id, client_name, client_id, scope, granted_at, exchanged_at, expires_at } =
    connection;
  const name = client_name ?? client_id;
  return html`<li><strong>${name}</strong> may ${scope.includes(WRITE) ? "read and send" : "read"}
<dl><dt>Allowed</dt><dd>${timeOf(granted_at)}</dd>
<dt>Last renewed</dt><dd>${timeOf(exchanged_at ?? granted_at)}</dd>
<dt>Ends</dt><dd>${timeOf(expires_at)}</dd></dl>
<form method="post" action="/oauth/connections">
<input type="hidden" name="form_token" value="${form_token}">
<button class="quiet" name="grant_id" value="${grant_id}" aria-label="Revoke ${name}">Revoke</button>
</form></li>`;
}
