/** `mesh open`: opens the dashboard in a browser, signed in as the human by a ticket. */

import { ApiError } from "kit/http/client.ts";
import { createTicket } from "../../../daemon/api/pages/contract.ts";
import type { Env } from "../../../daemon/host/paths.ts";
import { type Args, type Command, type CommandContext, JSON_FLAG } from "../../command/command.ts";
import { EXIT } from "../../client/failures.ts";
import { print, printError, printJson, styled } from "../../output/terminal.ts";

interface DashboardLink {
  readonly url: string;
  /** Whether the page is signed in as the human; if not, `reason` says why. */
  readonly human: boolean;
  readonly reason?: string;
}

const FLAGS = { "--print": "print the address instead of opening it", ...JSON_FLAG } as const;
const SUMMARY = "Open the dashboard in your browser, signed in as you";

export const OPEN_COMMANDS: readonly Command[] = [
  { usage: "open", summary: SUMMARY, flags: FLAGS, example: "mesh open", run: open },
  { usage: "dashboard", summary: SUMMARY, flags: FLAGS, example: "mesh dashboard", run: open },
];

async function open(context: CommandContext, args: Args): Promise<number> {
  const { terminal, env } = context;
  const link = await createDashboardLink(context);
  const opened = !args.flag("print") && !args.flag("json") && await openBrowser(link.url, env);
  if (args.flag("json")) {
    printJson(terminal, link);
    return EXIT.done;
  }
  print(terminal, opened ? "Opened " : "Open within a minute: ", styled("cyan", link.url));
  if (!link.human) {
    printError(
      terminal,
      styled("yellow", "You are not signed in on the page: "),
      link.reason ?? "",
    );
  }
  return EXIT.done;
}

/** Without a ticket the page still shows everything, but cannot send as the human. */
async function createDashboardLink({ daemon, call }: CommandContext): Promise<DashboardLink> {
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

/** Opens a browser, which needs a graphical session on Linux. Returns whether it was started. */
async function openBrowser(url: string, env: Env): Promise<boolean> {
  const { os } = Deno.build;
  if (os === "linux" && !env["DISPLAY"] && !env["WAYLAND_DISPLAY"]) return false;
  const [program, ...args] = os === "darwin"
    ? ["open", url]
    : os === "windows"
    ? ["rundll32", "url.dll,FileProtocolHandler", url]
    : ["xdg-open", url];
  try {
    const command = new Deno.Command(program ?? "", { args, stdout: "null", stderr: "null" });
    return (await command.output()).success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
