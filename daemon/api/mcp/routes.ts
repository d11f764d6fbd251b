/** The routes of `/mcp`, for programs of this machine only. */

import type { Contract } from "kit/http/contract.ts";
import { Problem } from "protocol/problems.ts";
import { type Caller, rawRoute, type Route } from "kit/http/route.ts";
import { isLoopback } from "../../host/paths.ts";
import { deleteMcp, getMcp, postMcp } from "protocol/api/mcp.ts";
import { pidOf } from "./identify.ts";
import type { Mcp, McpDeps } from "./mcp.ts";

/** The header with the pid of the process that a caller claims to be. */
const PID_HEADER = "x-mesh-pid";

interface ProcessProofs {
  /** True if this process sends the request, or a descendant that is no other peer's. */
  isPeerProcess(pid: number, caller: Caller): boolean;
  /** The process that the kernel names as the sender, by its number here. */
  senderOf(caller: Caller): number | undefined;
  /** True if the agent of this process is known to have our tools. */
  hasTools(pid: number): boolean;
  /** The client in this process has got the list of tools. */
  gotTools(pid: number): void;
}

/** A request by which a client gets the list of tools, or shows that it has the list. */
const OF_TOOLS = /"method"\s*:\s*"tools\/(?:list|call)"/;

export function mcpRoutes(mcp: Pick<LazyMcp, "get">, proofs: ProcessProofs): Route[] {
  return [
    onLoopback(postMcp, async (request, caller) => {
      const pid = provenPid(request, caller, proofs);
      const client = pid ?? senderOf(request, caller, proofs);
      const isNew = client !== undefined && !proofs.hasTools(client) &&
        OF_TOOLS.test(await request.clone().text());
      const response = await (await mcp.get()).answer(withPid(request, pid));
      if (isNew) proofs.gotTools(client);
      return response;
    }),
    onLoopback(getMcp, refuseMethod),
    onLoopback(deleteMcp, refuseMethod),
  ];
}

function onLoopback(
  contract: Contract,
  answer: (request: Request, caller: Caller) => Response | Promise<Response>,
): Route {
  return rawRoute(contract, (request, caller) => {
    const { remote } = caller;
    if (remote && !isLoopback(remote.hostname)) throw new Problem("loopback_only", {});
    return answer(request, caller);
  });
}

/** The pid that the caller names; undefined unless it is proved to be the caller's (contract 6). */
function provenPid(
  { headers }: Request,
  caller: Caller,
  proofs: ProcessProofs,
): number | undefined {
  const pid = pidOf(headers.get(PID_HEADER));
  return pid !== undefined && proofs.isPeerProcess(pid, caller) ? pid : undefined;
}

/**
 * The process that sends a request under the pid of another pid namespace. It shows that its agent
 * has the tools of mesh, and is no proof of an identity.
 */
function senderOf(
  { headers }: Request,
  caller: Caller,
  proofs: ProcessProofs,
): number | undefined {
  return headers.has(PID_HEADER) ? proofs.senderOf(caller) : undefined;
}

/** The request without a pid, unless this one is proved. */
function withPid(request: Request, proven: number | undefined): Request {
  if (proven !== undefined || !request.headers.has(PID_HEADER)) return request;
  const headers = new Headers(request.headers);
  headers.delete(PID_HEADER);
  return new Request(request, { headers });
}

function refuseMethod({ method }: Request): never {
  const { path, method: allow } = postMcp;
  throw new Problem("method_not_allowed", { method, path, allow });
}

/** The MCP endpoint, loaded at the first call of a tool: its SDK takes a third of our memory. */
export class LazyMcp implements AsyncDisposable {
  readonly #deps: McpDeps;
  #loading: Promise<Mcp> | undefined;

  constructor(deps: McpDeps) {
    this.#deps = deps;
  }

  /** The loaded endpoint. Rejects if loading fails; the next call then tries again. */
  get(): Promise<Mcp> {
    return this.#loading ??= import("./mcp.ts").then(({ Mcp }) => new Mcp(this.#deps))
      .catch((error) => {
        this.#loading = undefined;
        throw error;
      });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A failure to load was already reported to the caller of `get`.
    await (await this.#loading?.catch(() => undefined))?.[Symbol.asyncDispose]();
  }
}
