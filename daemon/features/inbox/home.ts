/** Passes requests for the inbox on to the machine that has the human's inbox. */

import * as z from "zod";
import { madeLate } from "kit/core/schema.ts";
import { tryJson } from "kit/core/text.ts";
import { BODY_BYTES_MAX, readBody } from "kit/http/body.ts";
import type { Caller, Route, RouteGuard } from "kit/http/route.ts";
import type { CallerChecks } from "../messages/request_context.ts";

/** The machine with the human's inbox. */
export interface InboxHome {
  /** True if the inbox is on another machine now. */
  readonly isElsewhere: boolean;
  /** Returns that machine's response. `human`: true if it is proved here that a person calls. */
  forward(
    request: Request,
    passed: { readonly body: string; readonly human: boolean },
  ): Promise<Response>;
}

export interface AtHome extends Pick<CallerChecks, "isHumanAnswer"> {
  readonly home: InboxHome;
  /** True if a request is about this machine's inbox; `item_id` only if its path names an item. */
  readonly isHere: (parts: { readonly item_id: string | undefined; readonly url: URL }) => boolean;
}

const withSurface = madeLate(() => z.looseObject({ surface: z.string().optional() }));

/**
 * Makes a route that is answered at the human's home. Requests about items of this machine are
 * answered here: an item that arrived before the home was known stays here.
 */
export function routeAtHome(
  { contract, run }: Route,
  { home, isHere, isHumanAnswer }: AtHome,
): Route {
  return {
    contract,
    run(request, caller, guard) {
      const { raw } = request;
      const parts = { item_id: request.param()["id"], url: new URL(raw.url) };
      // Two machines that name each other as the home do not pass a request back and forth.
      const isPassedOn = caller.via === "machine";
      if (isPassedOn || !home.isElsewhere || isHere(parts)) return run(request, caller, guard);
      return forward(raw, caller, guard);
    },
  };

  async function forward(
    request: Request,
    caller: Caller,
    { bodies }: RouteGuard,
  ): Promise<Response> {
    const body = await readBody(request, BODY_BYTES_MAX, bodies);
    const { surface } = withSurface().safeParse(tryJson(body)).data ?? {};
    const human = isHumanAnswer(caller, request.headers, surface);
    return await home.forward(request, { body, human });
  }
}
