/** `mesh docs`: shows the daemon's list of routes, which needs the token. */

import { join } from "kit/core/path.ts";
import { statePath } from "../../../daemon/host/paths.ts";
import {
  answerCommand,
  type Args,
  type Command,
  type CommandContext,
} from "../../command/command.ts";
import { CommandError } from "../../client/failures.ts";
import { getWhole } from "../../client/daemon_process.ts";
import { ANSWER_MS_MAX } from "../../client/local_http.ts";
import { styled } from "../../output/terminal.ts";
import { openInBrowser } from "./open.ts";

const DOCUMENTS = {
  page: { path: "/docs", file: "docs.html" },
  openapi: { path: "/openapi.json", file: "openapi.json" },
} as const;

export const DOCS_COMMAND: Command = answerCommand({
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
});

/** A browser has no token, so it gets a copy of the page. */
async function saveDocument({ clock, daemon, env }: CommandContext, args: Args) {
  const { path, file } = args.flag("openapi") ? DOCUMENTS.openapi : DOCUMENTS.page;
  const { ok, status, text } = await getWhole(daemon, path, clock, ANSWER_MS_MAX);
  if (!ok) throw new CommandError(`The daemon refused ${path}: HTTP ${status}`);
  const target = join(statePath(env), file);
  Deno.writeTextFileSync(target, text, { mode: 0o600 });
  return { file: target };
}
