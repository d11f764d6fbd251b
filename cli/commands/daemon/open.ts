/** `mesh open`: opens the dashboard in a browser, with a ticket by which it speaks as the human. */

import { Refused } from "kit/http/client.ts";
import { createTicket } from "../../../daemon/api/pages/contract.ts";
import type { Env } from "../../../daemon/host/paths.ts";
import { type Command, JSON_FLAG, type Session, type Words } from "../../command/command.ts";
import { EXIT } from "../../client/failures.ts";
import { complain, ink, print, printJson } from "../../output/print.ts";

interface Address {
  readonly url: string;
  /** Whether the page speaks as the human; where not, why. */
  readonly human: boolean;
  readonly reason?: string;
}

const FLAGS = { "--print": "print the address and open nothing", ...JSON_FLAG } as const;
const SUMMARY = "Open the dashboard in your browser, signed in as you";

export const OPEN_COMMANDS: readonly Command[] = [
  { words: "open", summary: SUMMARY, flags: FLAGS, example: "mesh open", run: open },
  { words: "dashboard", summary: SUMMARY, flags: FLAGS, example: "mesh dashboard", run: open },
];

async function open(session: Session, words: Words): Promise<number> {
  const { terminal, env } = session;
  const address = await addressOf(session);
  const opened = !words.flag("print") && !words.flag("json") && await openBrowser(address.url, env);
  if (words.flag("json")) {
    printJson(terminal, address);
    return EXIT.done;
  }
  print(terminal, opened ? "Opened " : "Open within a minute: ", ink("cyan", address.url));
  if (!address.human) {
    complain(terminal, ink("yellow", "The page does not speak as you: "), address.reason ?? "");
  }
  return EXIT.done;
}

/** The page is of use without a ticket as well: it shows everything, and does not speak as you. */
async function addressOf({ daemon, call }: Session): Promise<Address> {
  try {
    const { ticket } = await call(createTicket, {});
    return { url: `${daemon.url}/dashboard#ticket=${ticket}`, human: true };
  } catch (fault) {
    const refused = fault instanceof Refused &&
      ["human_not_proven", "no_human"].includes(String(fault.problem.error));
    if (!refused) throw fault;
    const { detail, hint } = fault.problem;
    return { url: `${daemon.url}/dashboard`, human: false, reason: `${detail}; ${hint}` };
  }
}

/** Whether a browser was started. On Linux there is none without a graphical session. */
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
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) return false;
    throw fault;
  }
}
