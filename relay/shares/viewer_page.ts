/** The page for a guest: the peer's state, its events and, if allowed, a form to ask the peer. */

import { EVENTS } from "protocol/events.ts";
import { type Peer } from "../daemons/daemon_client.ts";
import { html, type Markup, page, timeOf } from "../web/page.ts";
import { NEVER_SHARED } from "./guest_stream.ts";
import type { StoredShare } from "./shares.ts";

interface QuestionStatus {
  readonly status: "pending" | "resolved";
  readonly outcome?: string | null | undefined;
  readonly reply?: string | null | undefined;
}

export interface View {
  readonly share: StoredShare;
  /** Undefined if the peer's machine cannot be reached. */
  readonly peer: Peer | undefined;
  readonly question?: QuestionStatus | undefined;
}

const NEWS_MAX = 200;
const SILENCE_MS_MAX = 45_000;
const TYPES = [...Object.keys(EVENTS), "delivery"].filter((type) => !NEVER_SHARED.has(type));

// Adds new events to the page. Without this script, the page still shows everything else.
const SCRIPT = `
const list = document.getElementById("news");
let source, silence;
// A frozen connection raises no error. The relay sends something every 15 seconds, so silence
// reveals it.
const hear = () => {
  clearTimeout(silence);
  silence = setTimeout(connect, ${SILENCE_MS_MAX});
};
let last = "";
const showEvent = ({ type, data, lastEventId }) => {
  hear();
  last = lastEventId || last;
  const { timestamp, from, to, state, status, reason } = JSON.parse(data);
  const item = document.createElement("li");
  const way = [from, to].filter(Boolean).join(" → ");
  const what = [type.replaceAll("_", " "), way, state ?? status, reason].filter(Boolean);
  const at = new Date(timestamp ?? Date.now());
  item.textContent = at.toLocaleTimeString() + "  " + what.join(" · ");
  list.prepend(item);
  while (list.children.length > ${NEWS_MAX}) list.lastChild.remove();
};
function connect() {
  if (source) source.close();
  const query = "?alive" + (last && "&since=" + last);
  source = new EventSource(location.pathname + "/stream" + query);
  source.onopen = hear;
  source.addEventListener("alive", hear);
  for (const type of ${JSON.stringify(TYPES)}) source.addEventListener(type, showEvent);
  hear();
}
connect();
document.getElementById("live").textContent = "New events appear automatically.";
`;

export function viewerPage({ share, peer, question }: View): Response {
  const { display_name, permissions, expires_at } = share;
  return page(
    { title: display_name, script: SCRIPT },
    html`
      <h1>${display_name}</h1>
      <p
        class="soft">Shared with you ${permissions === "ro"
          ? "for reading"
          : "for reading and asking"}, until ${timeOf(expires_at)}.</p>
      ${peer ? card(peer) : html`<p class="bad">Its machine cannot be reached now.</p>`}
      ${permissions === "rw" ? askForm(share) : undefined}
      ${question && answer(question)}
      <h2 id="what">Events</h2>
      <p class="soft" id="live">Reload this page to see the current state.</p>
      <ul id="news" class="news" aria-labelledby="what" aria-live="polite"></ul>
    `,
  );
}

export function shareEndedPage(): Response {
  return page(
    { title: "Not shared", status: 404 },
    html`
      <h1>Nothing is shared here</h1>
      <p>The link is wrong, or the share has ended: it has expired, its owner has revoked it, or
      this relay was restarted. Ask its owner for a new link.</p>
    `,
  );
}

export function tooManyRequestsPage(seconds: number): Response {
  return page(
    { title: "Too many visits", status: 429, headers: { "retry-after": String(seconds) } },
    html`
      <h1>Too many visits</h1>
      <p class="bad"
        role="alert">Too many requests came from your address. Reload this page in ${seconds} s.</p>
    `,
  );
}

function card({ status, turn_state, backend, model, description }: Peer): Markup {
  const now = [status, turn_state].filter(Boolean).join(", ");
  const runs = [backend, model].filter(Boolean).join(", ");
  return html`
    <dl>
    <dt>Now</dt><dd>${now}</dd>
    ${runs
      ? html`
        <dt>Runs</dt>
        <dd>${runs}</dd>
      `
      : undefined}
    ${description
      ? html`
        <dt>Works on</dt>
        <dd>${description}</dd>
      `
      : undefined}
    </dl>
  `;
}

function askForm({ share_id }: StoredShare): Markup {
  return html`
    <form method="post" action="/s/${share_id}/ask">
      <label for="text">Ask it something</label>
      <textarea id="text" name="text" rows="4" required></textarea>
      <button>Ask</button>
    </form>
  `;
}

function answer({ status, outcome, reply }: QuestionStatus): Markup {
  const statusText = status === "pending"
    ? html`<p>No answer yet. Reload this page later.</p>`
    : html`<p>${outcome ?? "closed"}</p>${reply ? html`<pre>${reply}</pre>` : undefined}`;
  return html`<section aria-live="polite"><h2>Your question</h2>${statusText}</section>`;
}
