/** The routes to which agents' hooks post. */

import { Problem } from "protocol/problems.ts";
import { AnswerBeforeCommit, type Caller, type Route, route } from "kit/http/route.ts";
import { kindOf } from "../../host/terminal_addresses.ts";
import type { PaneRoot } from "../../host/tmux/pane.ts";
import { checkTerminal } from "../../host/trusted_socket.ts";
import { type HookFacts } from "../agents/adapter.ts";
import type { Payload } from "../agents/definition.ts";
import { definitionOf } from "../agents/registry.ts";
import { circleOfPane } from "../peers/identity/naming.ts";
import type { CircleBoundary } from "protocol/peers/record.ts";
import { postHook, waitForWake } from "protocol/hooks.ts";
import type { HookEvents } from "./hook_events.ts";
import type { WhileConnected } from "../messages/request_context.ts";
import type { WakeHooks } from "./wake_hooks.ts";

type HookProcesses = Pick<HookFacts, "hook_pid" | "agent_pid" | "is_late">;

interface HookRoutesDeps {
  readonly hookEvents: HookEvents;
  readonly wakeHooks: WakeHooks;
  /** True if this is the hooks' token. */
  holdsHookToken(token: string | undefined): boolean;
  /** The claimed processes that are proved by the kernel to be the hook's. */
  provenProcesses(claimed: HookProcesses, caller: Caller): HookProcesses;
  /** True if a caller on this machine has closed its connection. */
  hasHungUp(caller: Caller): boolean;
  readonly whileConnected: WhileConnected;
  /** A pane in tmux; undefined in another terminal. */
  paneOf(tmux_socket: string, pane_id: string): Promise<PaneRoot | undefined>;
  readonly circle_boundary: CircleBoundary;
}

export function hookRoutes(deps: HookRoutesDeps): Route[] {
  return [
    route(postHook, async ({ params, body, caller, headers, signal }) => {
      const facts = await readFacts(headers, caller, deps);
      const payload = completed(params.agent, body, headers);
      const { answer, onHangUp, isEmpty, waits } = await deps.hookEvents.handle(
        params.agent,
        payload,
        facts,
      );
      if (isEmpty) return new AnswerBeforeCommit(await answer(signal));
      const answered = await (waits ? deps.whileConnected(caller, signal, answer) : answer(signal));
      return () => {
        if (signal.aborted || deps.hasHungUp(caller)) onHangUp();
        return answered;
      };
    }),
    route(waitForWake, ({ params, body, caller, headers, signal }) => {
      const proven = provenProcesses(readerOf(headers), caller, deps);
      return deps.whileConnected(
        caller,
        signal,
        (signal) => deps.wakeHooks.wait(params.agent, body, { ...proven, signal }),
      );
    }),
  ].map((route) => requireHookToken(route, deps));
}

/** The payload from the hook's script, which names its event and leaves the rest to the daemon. */
function completed(agent: string, body: Payload, headers: Headers): Payload {
  const event = headers.get("x-mesh-event") ?? undefined;
  const rewrite = event === undefined ? undefined : definitionOf(agent)?.hooks?.rewrite?.(event);
  return rewrite ? rewrite(body) : body;
}

/** Checks the token before the body is read, so that callers without it use no memory. */
function requireHookToken({ contract, run }: Route, deps: HookRoutesDeps): Route {
  return {
    contract,
    run(request, caller, guard) {
      const authorization = request.raw.headers.get("authorization") ?? "";
      const bearer = /^Bearer (.+)$/i.exec(authorization)?.[1];
      if (!caller.authorized && !deps.holdsHookToken(bearer)) throw new Problem("unauthorized", {});
      return run(request, caller, guard);
    },
  };
}

type ReadHeader = (name: string) => string | undefined;

/** Reads headers. One with an unexpanded variable, such as `$TMUX_PANE`, counts as missing. */
function readerOf(headers: Headers): ReadHeader {
  return (name) => {
    const value = headers.get(name) ?? "";
    return value === "" || value.startsWith("$") ? undefined : value;
  };
}

/** The processes that a hook's headers claim, as far as the kernel proves them. */
function provenProcesses(header: ReadHeader, caller: Caller, deps: HookRoutesDeps): HookProcesses {
  const pid = (name: string) => {
    const value = Number(header(name));
    return Number.isSafeInteger(value) && value > 0 ? value : undefined;
  };
  const claimed = { hook_pid: pid("x-mesh-hook-pid"), agent_pid: pid("x-mesh-agent-pid") };
  return deps.provenProcesses(claimed, caller);
}

/** Reads what a hook's headers claim. */
async function readFacts(
  headers: Headers,
  caller: Caller,
  deps: HookRoutesDeps,
): Promise<HookFacts> {
  const header = readerOf(headers);
  const { pane_id, tmux_socket } = readPane(header);
  const proven = provenProcesses(header, caller, deps); // Before any wait, in which they may end.
  const pane = pane_id && tmux_socket ? await deps.paneOf(tmux_socket, pane_id) : undefined;
  return {
    ...proven,
    pane_id,
    pane_pid: pane?.pane_pid,
    tmux_socket,
    tmux_session: pane?.session,
    circle: pane && circleOfPane(pane, deps.circle_boundary),
  };
}

/**
 * The pane that a hook claims. Any program may send such headers, so for an untrusted terminal the
 * pane and the terminal are dropped. The hook is then handled without a pane.
 */
function readPane(header: ReadHeader) {
  const claimed = header("x-mesh-kitty") === undefined
    ? readTmuxPane(header)
    : readKittyPane(header);
  return claimed.tmux_socket !== undefined && checkTerminal(claimed.tmux_socket).state === "refused"
    ? NO_PANE
    : claimed;
}

const NO_PANE = { pane_id: undefined, tmux_socket: undefined };

function readTmuxPane(header: ReadHeader) {
  const pane_id = /^%\d+$/.exec(header("x-mesh-pane") ?? "")?.[0];
  // `$TMUX` is `socket,server pid,session`; the socket's path may hold commas.
  return { pane_id, tmux_socket: header("x-mesh-tmux")?.replace(/,[^,]*,[^,]*$/, "") };
}

function readKittyPane(header: ReadHeader) {
  const pane_id = /^[1-9]\d{0,8}$/.exec(header("x-mesh-pane") ?? "")?.[0];
  const tmux_socket = header("x-mesh-kitty") ?? "";
  const isWhole = pane_id !== undefined && kindOf(tmux_socket) === "kitty";
  return isWhole ? { pane_id, tmux_socket } : NO_PANE;
}
