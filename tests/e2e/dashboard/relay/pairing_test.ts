/** A phone that is paired through the relay, in a real browser. */

import assert from "node:assert/strict";
import { relayTest } from "../../../support/dashboard/relay_dashboard_lab.ts";
import { PHONE } from "../../../support/dashboard/shared_browser.ts";

relayTest(
  "a phone is paired by a code of the Relay view, and its session ends there",
  async (lab) => {
    const daemon = await lab.daemon();
    const desk = await lab.open(daemon.daemon_id, "#/relay");
    await desk.getByRole("button", { name: "Pair a phone" }).click();
    const dialog = desk.getByRole("dialog");
    await dialog.getByRole("img", { name: /QR code/ }).waitFor();
    const code = await dialog.locator("strong").textContent();
    const phone = await lab.page(PHONE);
    await phone.goto(`${lab.relay.issuer}/pair#${code}`);
    assert.equal(new URL(phone.url()).hash, "");
    assert.equal(await phone.getByLabel("Code").inputValue(), code);
    await phone.getByRole("button", { name: "Pair this device" }).click();
    await phone.getByText("You are sam").waitFor({ state: "attached" });
    assert.equal(new URL(phone.url()).pathname, `/m/${daemon.daemon_id}/dashboard`);
    assert.ok((await phone.context().cookies()).every(({ httpOnly }) => httpOnly));
    await desk.keyboard.press("Escape");
    await desk.getByRole("button", { name: "End its session" }).click();
    await desk.getByRole("dialog").getByRole("button", { name: "End its session" }).click();
    await desk.getByText("No device is paired").waitFor();
    await phone.getByText("signed in").first().waitFor();
    lab.forgive(/status of 401/);
  },
);

relayTest("a code that is wrong pairs nothing, and the page says what to do", async (lab) => {
  await lab.daemon();
  const phone = await lab.page(PHONE);
  await phone.goto(`${lab.relay.issuer}/pair`);
  await phone.getByLabel("Code").fill("AAAA-AAAA-AAAA-AAAA-AAAA");
  await phone.getByRole("button", { name: "Pair this device" }).click();
  await phone.getByText("create another one").waitFor();
  assert.equal((await phone.context().cookies()).length, 0);
  lab.forgive(/status of 403/);
});
