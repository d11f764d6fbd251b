/** Attachments in the tools: ids go in, and a reply shows the paths of its files. */

import assert from "node:assert/strict";
import { connect, mcpFixture, PROTOCOL_VERSIONS } from "../../../../support/daemon/mcp_server.ts";

const FILE = {
  id: "att-1",
  filename: "a <b>.txt",
  size: 3,
  content_type: "text/plain",
  sha256: "0",
  path: "/state/attachments/att-1.txt",
  created_at: "2030-01-01T00:00:00.000Z",
  expires_at: "2030-01-08T00:00:00.000Z",
};
const OPENED = { correlation_id: "ask-1", to_peer_id: "peer-web", to_peer_name: "web" };
const RESOLVED = {
  correlation_id: "ask-1",
  status: "resolved",
  outcome: "answered",
  responder: "web",
  close_reason: "ack_with_msg",
  option_id: null,
  closed_at: FILE.created_at,
};
const TAG = '<attachment id="att-1" name="a &lt;b&gt;.txt" type="text/plain" size="3" ' +
  'path="/state/attachments/att-1.txt"/>';

for (const protocolVersion of PROTOCOL_VERSIONS) {
  Deno.test(`${protocolVersion}: ask, ack and notify_peer name files by their ids`, async () => {
    const { fetch, received } = mcpFixture({
      "POST /ask": () => ({ ...OPENED, delivery_state: "sent" }),
      "GET /recall": () => ({ matches: [] }),
      "POST /ack": () => ({ ok: true, close_reason: "ack_with_msg" }),
      "POST /notify": () => ({
        delivery_id: "notif-1",
        delivery_state: "sent",
        delivered: false,
        queued: false,
        reason: null,
        to_peer_id: "peer-web",
        to_peer_name: "web",
      }),
    });
    await using at = await connect(fetch, { protocolVersion });
    const attachments = ["att-1"];
    await at.call("ask", { peer: "web", message: "Look", attachments });
    await at.call("ack", { correlation_id: "ask-1", attachments });
    await at.call("notify_peer", { peer: "web", message: "Look", attachments });
    assert.deepEqual(received.map(({ route, body }) => [route, body["attachments"]]), [
      ["POST /ask", attachments],
      ["GET /recall", undefined],
      ["POST /ack", attachments],
      ["POST /notify", attachments],
    ]);
    const many = Array(21).fill("att-1");
    const { problemResponse } = await at.call("ask", {
      peer: "web",
      message: "Look",
      attachments: many,
    });
    assert.equal(problemResponse, true);
  });

  for (const [reply, replyText] of [["Here", "Here"], [null, ""]] as const) {
    Deno.test(`${protocolVersion}: the files of a reply ${reply ?? "without text"} are shown`, async () => {
      const { fetch } = mcpFixture({
        "POST /asks/ask-1/wait": () => ({ ...RESOLVED, reply, reply_attachments: [FILE] }),
        "GET /asks/ask-1": () => OPENED,
        "GET /peers/peer-web": () => ({ role: "agent" }),
      });
      await using at = await connect(fetch, { protocolVersion });
      await at.client.listTools();
      const { text, data } = await at.call("wait_on_ack", { correlation_id: "ask-1" });
      const [, first, last] = text.split("\n");
      assert.match(first ?? "", new RegExp(`^<peer-message type="ack" .*>${replyText}$`));
      assert.equal(last, `${TAG}</peer-message>`);
      const { sha256: _, created_at: __, expires_at: ___, ...fileFields } = FILE;
      assert.deepEqual(data["reply_attachments"], [fileFields]);
    });
  }
}
