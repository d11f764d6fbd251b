/**
 * `mesh open`: opens the dashboard in a browser, signed in as the human by a ticket, or pairs a
 * phone by a one-time code. `mesh docs`:
 * opens the daemon's list of routes, which needs the token.
 */

import { ApiError, type WireResponse } from "kit/http/client.ts";
import { createCode, createTicket } from "protocol/generated/endpoints.ts";
import { type Env, statePath } from "../../../daemon/host/paths.ts";
import {
  answerCommand,
  type Args,
  type Command,
  type CommandContext,
} from "../../command/command.ts";
import { qrLines } from "../../output/qr.ts";
import { styled, type Terminal } from "../../output/terminal.ts";
import { formatInstant } from "../../output/time.ts";
import { join } from "kit/core/path.ts";
import { CommandError, unlessRejected } from "../../client/failures.ts";
import { getWhole } from "../../client/daemon_process.ts";
import { ANSWER_MS_MAX } from "../../client/local_http.ts";

interface DashboardLink {
  readonly url: string;
  /** True if the page is signed in as the human; if not, `reason` says why. */
  readonly human: boolean;
  readonly reason?: string;
}

type PhoneCode = WireResponse<typeof createCode>;

const DOCUMENTS = {
  page: { path: "/docs", file: "docs.html" },
  openapi: { path: "/openapi.json", file: "openapi.json" },
} as const;

const open = answerCommand({
  usage: "open",
  needs: "this machine",
  summary: "Open the dashboard in your browser, signed in as you, or on a phone",
  flags: {
    "--print": "print the address instead of opening it",
    "--phone": "show a QR code and a one-time code, by which a phone gets a session of its own",
  },
  example: "mesh open",
  call: (context, args): Promise<DashboardLink | PhoneCode> =>
    args.flag("phone") ? context.call(createCode, {}) : createDashboardLink(context),
  show: async (answer, { terminal, env }, args) => {
    if ("code" in answer) return showPhoneCode(answer, terminal);
    const { url, human, reason } = answer;
    const opened = !args.flag("print") && await openInBrowser(url, env);
    terminal.print(opened ? "Opened " : "Open within a minute: ", styled("cyan", url));
    if (human) return;
    terminal.printError(styled("yellow", "You are not signed in on the page: "), reason ?? "");
  },
});

export const OPEN_COMMANDS: readonly Command[] = [
  open,
  { ...open, usage: "dashboard", example: "mesh dashboard" },
  answerCommand({
    usage: "docs",
    needs: "this machine",
    summary: "Show the daemon's HTTP routes in your browser",
    flags: {
      "--openapi": "the schemas of the routes, as OpenAPI JSON",
      "--print": "only print where the file is",
    },
    example: "mesh docs",
    call: saveDocument,
    show: async ({ file }, { terminal, env }, args) => {
      const opened = !args.flag("print") && await openInBrowser(file, env);
      terminal.print(opened ? "Opened " : "", styled("cyan", file));
    },
  }),
];

/** Shows the first address as a QR code, which a camera opens with the code. */
function showPhoneCode(
  { addresses, code, expires_at, notes }: PhoneCode,
  terminal: Terminal,
): void {
  const [first, ...others] = addresses;
  if (first) {
    for (const line of qrLines(first.url) ?? []) terminal.print(line);
    terminal.print("On the phone, scan this, or open ", styled("cyan", withoutCode(first.url)));
    for (const { url } of others) terminal.print("or ", styled("cyan", withoutCode(url)));
    terminal.print("and enter the code ", styled("bold", code));
    terminal.print(styled("dim", `It counts once, until ${formatInstant(expires_at)}.`));
  } else {
    terminal.printError(
      styled("yellow", "No address of this machine can be reached from a phone."),
    );
    terminal.printError("Connect a relay: mesh setup --relay URL");
  }
  for (const note of notes) terminal.printError(styled("dim", note));
  terminal.printError(styled("dim", "List the paired devices, and end them, with: mesh devices"));
}

function withoutCode(url: string): string {
  return url.split("#", 1)[0] ?? url;
}

/** Without a ticket the page still shows everything, but cannot send as the human. */
export async function createDashboardLink(
  { daemon, call }: Pick<CommandContext, "daemon" | "call">,
): Promise<DashboardLink> {
  try {
    const { ticket } = await call(createTicket, {});
    return { url: `${daemon.url}/dashboard#ticket=${ticket}`, human: true };
  } catch (error) {
    const notSignedIn = error instanceof ApiError &&
      ["human_not_proven", "no_human"].includes(String(error.problem.error));
    if (!notSignedIn) throw error;
    const { detail, hint } = error.problem;
    return { url: `${daemon.url}/dashboard`, human: false, reason: `${detail}; ${hint}` };
  }
}

/**
 * Opens an address or a file in a browser, which needs a graphical session on Linux. Returns true
 * if the browser was started.
 */
export async function openInBrowser(url: string, env: Env): Promise<boolean> {
  const { os } = Deno.build;
  if (os === "linux" && !env["DISPLAY"] && !env["WAYLAND_DISPLAY"]) return false;
  const [program, ...args] = os === "darwin"
    ? ["open", url]
    : os === "windows"
    ? ["rundll32", "url.dll,FileProtocolHandler", url]
    : ["xdg-open", url];
  const isMissing = (error: unknown) => error instanceof Deno.errors.NotFound;
  const command = new Deno.Command(program ?? "", { args, stdout: "null", stderr: "null" });
  return (await unlessRejected(isMissing, () => command.output()))?.success ?? false;
}

/** A browser has no token, so it gets a copy of the page. */
async function saveDocument({ clock, daemon, env }: CommandContext, args: Args) {
  const { path, file } = args.flag("openapi") ? DOCUMENTS.openapi : DOCUMENTS.page;
  const { ok, status, text } = await getWhole(daemon, path, clock, ANSWER_MS_MAX);
  if (!ok) throw new CommandError(`The daemon refused ${path}: HTTP ${status}`);
  const target = join(statePath(env), file);
  Deno.writeTextFileSync(target, text, { mode: 0o600 });
  return { file: target };
}
