/** Codex's server behind a proxy that freezes. */

import { socketPath } from "../../../daemon/features/agents/codex/app_server.ts";
import { FrozenProxy } from "../net/frozen_proxy.ts";
import { CodexHome, IDLE } from "./codex_server.ts";

export class FrozenCodex implements AsyncDisposable {
  readonly home = new CodexHome().listen({
    "thread/read": IDLE,
    "thread/queue/add": () => ({ queuedSubmission: { id: "q-1" } }),
  });
  readonly link: FrozenProxy;

  constructor() {
    const { dir } = this.home;
    const path = Deno.realPathSync(socketPath(dir));
    this.link = new FrozenProxy(() => ({ path }), `${dir}/proxy`);
    Deno.removeSync(socketPath(dir));
    Deno.symlinkSync(`${dir}/proxy`, socketPath(dir));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.link[Symbol.asyncDispose]();
    await this.home[Symbol.asyncDispose]();
  }
}
