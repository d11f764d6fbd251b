/** Runs command lines for processes of this machine that start no runtime (decision 050). */

import { readBody } from "kit/http/body.ts";
import { UNCACHED_HEADERS } from "kit/core/problem.ts";
import type { Route } from "kit/http/route.ts";
import {
  type CommandLine,
  type CommandOutput,
  EXIT_HEADER,
  PARTS_HEADER,
  type RunCommandLine,
  runCommandLine,
} from "protocol/api/command_lines.ts";

/** Longer lines run in a process of their own. */
const LINE_BYTES_MAX = 262_144;

interface CommandLineDeps {
  /** Undefined if this program has no command line. */
  readonly run: RunCommandLine | undefined;
  /** Answers a request of the process at the other end of a socket. */
  fetch(request: Request, remote: Deno.NetAddr): Promise<Response>;
}

export function commandLineRoutes({ run, fetch }: CommandLineDeps): Route[] {
  return [{
    contract: runCommandLine,
    async run({ raw }, { remote, via }, { bodies }) {
      const line = readLine(await readBody(raw, LINE_BYTES_MAX, bodies), raw.headers);
      // The command's requests are those of a program, which a page is not.
      if (!run || !remote || via !== undefined || !line) return new Response(null, { status: 204 });
      const authorization = raw.headers.get("authorization");
      const send = (request: Request) => {
        if (authorization !== null) request.headers.set("authorization", authorization);
        return fetch(request, remote);
      };
      const output = await run(line, { url: new URL(raw.url).origin, send });
      return output ? toResponse(output) : new Response(null, { status: 204 });
    },
  }];
}

/** Undefined unless the request has the form that the launcher sends. */
function readLine(text: string, headers: Headers): CommandLine | undefined {
  const words = text.split("\0");
  const end = words.indexOf("");
  const pid = Number(headers.get("x-mesh-pid") ?? NaN);
  const columns = Number(headers.get("x-mesh-columns") ?? 0);
  if (words.pop() !== "" || end < 0 || !isCount(pid) || !isCount(columns)) return undefined;
  const variables = words.slice(0, end).map((variable) => {
    const [, name = "", value = ""] = /^([^=]*)=(.*)$/s.exec(variable) ?? [];
    return [name, value] as const;
  });
  return {
    args: words.slice(end + 1),
    env: Object.fromEntries(variables),
    pid,
    terminals: [...headers.get("x-mesh-terminals") ?? ""].map(Number),
    columns: columns || undefined,
  };
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function toResponse({ exit_code, parts }: CommandOutput): Response {
  const encoder = new TextEncoder();
  const lengths = parts.map(({ to, text }) => `${to}:${encoder.encode(text).length}`);
  return new Response(parts.map(({ text }) => text.toWellFormed()).join(""), {
    headers: {
      ...UNCACHED_HEADERS,
      "content-type": "text/plain; charset=utf-8",
      [EXIT_HEADER]: String(exit_code),
      [PARTS_HEADER]: lengths.join(" "),
    },
  });
}
