/** Reasons for an unusable server, in sentences for people. */

import assert from "node:assert/strict";
import { libraries } from "../../../../daemon/machines/nats/libraries.ts";
import { reasonOf } from "../../../../daemon/machines/nats/reasons.ts";

const SERVER = { host: "127.0.0.1", port: 4222, tls_required: false };

Deno.test("However a server's end is noticed, the reason is that it closed the connection", async () => {
  const { errors } = (await libraries()).transport;
  const failures = [
    new errors.ClosedConnectionError(),
    ...["ECONNRESET", "EPIPE", "ERR_STREAM_WRITE_AFTER_END"].map((code) =>
      Object.assign(new Error(`write ${code}`), { code })
    ),
  ];
  for (const failure of failures) {
    const reason = await reasonOf(SERVER, failure);
    assert.equal(
      reason,
      "The bus at 127.0.0.1:4222 cannot be used: it closed the connection",
    );
  }
});
