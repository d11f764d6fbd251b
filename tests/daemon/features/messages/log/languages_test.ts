/** Searches and routing in languages other than English. */

import assert from "node:assert/strict";
import { world } from "../../../../support/world.ts";
import { addPeer, get, notify, post } from "../../../../support/daemon/peer_clients.ts";

const TEXTS = [
  "数据库连接失败，请检查配置",
  "本番環境でdockerコンテナが落ちた",
  "サーバーを再起動してください",
  "서버가 죽었습니다. 로그를 확인하세요",
  "ฐานข้อมูลล่ม กรุณาตรวจสอบ",
  "Die Datenbankverbindung ist größer als erlaubt",
  "Проверьте подключение к базе данных",
  "बैठक कल सुबह होगी",
  "Release is out 🚀🎉 and the café is open",
  "ＦＵＬＬＷＩＤＴＨ letters",
] as const;

const SEARCHES: [q: string, found: readonly number[]][] = [
  ["数据库", [0]],
  ["连接", [0]],
  ["库", [0]],
  ["请检查配置", [0]],
  ["docker", [1]],
  ["でdocker", [1]],
  ["docker コンテナ", [1]],
  ["コンテナ", [1]],
  ["境", [1]],
  ["再起動", [2]],
  ["サーバー", [2]],
  ["서버", [3]],
  ["로그", [3]],
  ["확인", [3]],
  ["ข้อมูล", [4]],
  ["ตรวจ", [4]],
  ["verbindung", [5]],
  ["datenbank", [5]],
  ["GROSSER", []],
  ["groß", []],
  ["größer", [5]],
  ["подключение", [6]],
  ["ключение", [6]],
  ["बैठक", [7]],
  ["🚀", [8]],
  ["🎉 cafe", [8]],
  ["café", [8]],
  ["fullwidth", [9]],
  ["数据表", []],
  ["接连", []],
  ["bank", []],
  ['"datenbank"', []],
];

Deno.test("a search finds words of any language, also a single character and words that are glued to others [c11.search.languages]", async () => {
  await using w = world();
  await addPeer(w, "bob");
  for (const text of TEXTS) await notify(w, "ada", "bob", text);
  await w.tick(2);
  for (const [q, found] of SEARCHES) {
    const { messages } = await get(w, `/messages?q=${encodeURIComponent(q)}`);
    const texts = messages.map(({ text }: { text: string }) => text).reverse();
    assert.deepEqual(texts, found.map((at) => TEXTS[at]), q);
  }
});

Deno.test("the snippet of a search shows where it matches, in any language", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const lead = "前置き。".repeat(30);
  await notify(w, "ada", "bob", `${lead}本番のdatabaseが落ちた`);
  for (const q of ["database", "本番", "落"]) {
    const { messages: [found] } = await get(w, `/messages?q=${encodeURIComponent(q)}`);
    assert.ok(found.snippet.startsWith("…") && found.snippet.includes(q), found.snippet);
  }
});

for (
  const [text, expected] of [
    ["数据库连接失败怎么办？", "dba"],
    ["コンテナが起動しない", "ops"],
    ["서버 로그를 봐 주세요", "logs"],
  ] as const
) {
  Deno.test(`an ask in an unspaced language is routed by its words: ${text} [c11.search.languages]`, async () => {
    await using w = world({ settings: { "routing.strategy": "relevance" } });
    const descriptions = {
      dba: "负责数据库和备份",
      ops: "コンテナと本番環境を担当",
      logs: "서버와 로그를 담당합니다",
    };
    for (const [name, description] of Object.entries(descriptions)) {
      await addPeer(w, name);
      await post(w, `/peers/${name}/description`, { description });
    }
    const { routing } = await post(w, "/ask", { from_peer: "cli", text });
    assert.equal(routing?.routed_to, expected);
  });
}
