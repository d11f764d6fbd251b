/** Links whose text is the address of another host are found. */

import assert from "node:assert/strict";
import { otherHost } from "../../../../dashboard/components/text/addresses.ts";

Deno.test("a link whose text is another address shows its host", () => {
  const evil = "https://evil.example/login";
  assert.equal(otherHost(evil, "https://github.com/login"), "evil.example");
  assert.equal(otherHost(evil, "see github.com"), "evil.example");
  assert.equal(otherHost("mailto:a@evil.example", "a@good.example"), "evil.example");
  assert.equal(otherHost(evil, "evil.example/login"), undefined);
  assert.equal(otherHost(evil, "the login page"), undefined);
});
