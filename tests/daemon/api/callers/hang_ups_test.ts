/** A caller that hangs up while it waits, as the kernel shows it. */

import assert from "node:assert/strict";
import { listAsks } from "protocol/asks/contract.ts";
import { client } from "kit/http/client.ts";
import { DECISION } from "../../../support/daemon/blocking_questions.ts";
import { RealDaemon, temporary } from "../../../support/programs/child.ts";
import { until } from "../../../support/waiting.ts";

Deno.test({
  name: "a question ends when its caller hangs up, also if its body does not come with its head",
  ignore: Deno.build.os !== "linux",
  async fn() {
    using state = temporary();
    const settings = { MESH_HUMAN__NAME: "sam" };
    await using daemon = await RealDaemon.start(state.path, { settings });
    const body = JSON.stringify({ ...DECISION, prompt: "x".repeat(20_000) });
    const lines = ["POST /questions/ask-blocking HTTP/1.1", `Host: 127.0.0.1:${daemon.port}`];
    const head = [...lines, "Content-Type: application/json", `Content-Length: ${body.length}`];
    const asks = async () => (await client(daemon.base, fetch)(listAsks, { query: {} })).asks;
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: daemon.port });
    const send = (text: string) => connection.write(new TextEncoder().encode(text));
    await send(`${head.join("\r\n")}\r\n\r\n${body}`);
    await until("the question is open", async () => (await asks())[0]?.state === "open");
    connection.close();
    await until("the question is over", async () => (await asks())[0]?.state === "closed");
    assert.equal((await asks())[0]?.close_reason, "cancelled");
  },
});
