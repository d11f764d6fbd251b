/** The effects of keys in the live view. */

import assert from "node:assert/strict";
import type { Input } from "../../../cli/screen/keys.ts";
import { press } from "../../../cli/live/press.ts";
import { indexOf, type Section } from "../../../cli/live/sections.ts";
import { type Act, FIRST_VIEW, type Model, modelOf, type View } from "../../../cli/live/view.ts";
import { ask, item, message, peer, someRecords } from "../../support/cli/live_records.ts";

const METRICS = { page: 5, scroll_max: 3, columns: 80 };

/** The view after keys, and what the last of them asked for. */
function after(inputs: readonly Input[], model = modelOf(someRecords()), from: View = FIRST_VIEW) {
  let view = from;
  let act: Act | undefined;
  for (const input of inputs) ({ view, act } = press(view, model, input, METRICS));
  return { view, act, selected: selectedIn(view, model) };
}

function selectedIn({ section, selections }: View, { lists }: Model): number {
  return indexOf(lists[section], selections[section]);
}

Deno.test("j, k and the arrows move within the list, Tab goes through the sections", () => {
  assert.equal(after(["j", "down", "k"]).selected, 1);
  assert.equal(after(["k"]).selected, 0);
  assert.equal(after(["end", "j"]).selected, 3);
  const sections = (...keys: string[]): Section => after(keys).view.section;
  assert.deepEqual(
    [sections("tab"), sections("tab", "tab"), sections("shift-tab"), sections("3", "tab")],
    ["peers", "feed", "feed", "attention"],
  );
});

Deno.test("the selection stays with its record when others come and go", () => {
  const { view } = after(["tab", "j", "j"]);
  const records = someRecords();
  const model = modelOf({ ...records, peers: records.peers.toReversed().slice(0, 4) });
  assert.equal(model.lists.peers[selectedIn(view, model)]?.name, "api");
  const without = modelOf({ ...records, peers: records.peers.slice(0, 1) });
  assert.equal(selectedIn(view, without), 0);
});

Deno.test("peers that need the human come before all circles, and f unfolds the offline ones", () => {
  const groups = (view: View) =>
    modelOf(someRecords(), view).lists.groups.map(({ title, peers }) =>
      [title, ...peers.map(({ name }) => name)].join(" ")
    );
  const folded = ["needs you db infra api", "shop web", "1 offline, f shows them"];
  assert.deepEqual(groups(FIRST_VIEW), folded);
  const unfolded = after(["f"]).view;
  assert.deepEqual(groups(unfolded).at(-1), "1 offline, f hides them backup");
  assert.deepEqual(groups(after(["f"], undefined, unfolded).view), folded);
});

Deno.test("q quits from a list and from a detail, and leaves an overlay", () => {
  for (const keys of [["q"], ["enter", "q"], ["2", "enter", "q"], ["3", "q"]]) {
    assert.deepEqual(after(keys).act, { kind: "quit" }, keys.join(" "));
  }
  for (const key of ["?", "a"]) {
    const { act, view } = after([key, "q"]);
    assert.deepEqual([act, view.overlay], [undefined, undefined], key);
  }
});

Deno.test("a peer of another machine is named with its machine, also as a recipient", () => {
  const remote = peer("api", { display_name: "api@buildbox", transport: "bus" });
  const model = modelOf(someRecords({ peers: [remote], inbox: undefined }));
  const { act } = after(["2", "c", "h", "i", "enter"], model);
  assert.equal(
    act?.kind === "send" && "peer" in act.target && act.target.peer.name,
    "api@buildbox",
  );
});

Deno.test("the feed stays at the newest message until the user moves", () => {
  const records = someRecords();
  const rows = [message("new", "web", 10), ...records.messages.rows];
  const model = modelOf({ ...records, messages: { rows, hasMore: false } });
  assert.equal(selectedIn(after(["3"]).view, model), 0);
  assert.equal(selectedIn(after(["3", "j"]).view, model), 2);
});

Deno.test("the end of the feed asks for older messages", () => {
  assert.deepEqual(after(["3", "end"]).act, { kind: "older" });
});

Deno.test("c and n write to the peer of the row, and Tab changes the verb", () => {
  const sent = (...keys: string[]) => after([...keys, "h", "i", "enter"]).act;
  const to = (kind: "ask" | "notify", name: string) => ({
    kind: "send",
    target: { kind, peer: { peer_id: `peer-${name}`, name } },
    text: "hi",
  });
  assert.partialDeepStrictEqual(sent("2", "c"), to("ask", "db"));
  assert.partialDeepStrictEqual(sent("2", "j", "n"), to("notify", "infra"));
  assert.partialDeepStrictEqual(sent("2", "c", "tab"), to("notify", "db"));
  assert.partialDeepStrictEqual(sent("3", "j", "c"), to("ask", "web"));
  assert.partialDeepStrictEqual(sent("3", "j", "enter", "c"), to("ask", "web"));
});

Deno.test("a draft is kept on Escape and while it is sent, and comes back", () => {
  const left = after(["2", "c", "h", "i", "escape"]).view;
  assert.equal(left.overlay, undefined);
  const { view, act } = after(["c", "!", "enter"], undefined, left);
  assert.equal(act?.kind === "send" && act.text, "hi!");
  assert.equal(view.drafts.get("peer-db")?.text, "hi!");
  assert.equal(after(["c", "ctrl-u", "escape"], undefined, view).view.drafts.size, 0);
});

Deno.test("a answers in place: by an option, by an own text, or by asking back", () => {
  const chosen = (...keys: string[]) => {
    const { act } = after(["a", ...keys]);
    return act?.kind === "choose" ? act.option_id : act?.kind;
  };
  assert.deepEqual([chosen("enter"), chosen("j", "enter"), chosen("2")], ["now", "no", "no"]);
  assert.deepEqual([chosen("9"), chosen("escape")], [undefined, undefined]);
  const answered = (...keys: string[]) => {
    const { act } = after([...keys, "o", "k", "enter"]);
    if (act?.kind !== "send" || act.target.kind !== "answer") return undefined;
    return [act.target.item.from, act.target.closes];
  };
  assert.deepEqual(answered("a", "t"), ["db", true]);
  assert.deepEqual(answered("j", "a"), ["api", true]);
  assert.deepEqual(answered("end", "a"), ["note", false]);
  assert.deepEqual(answered("j", "enter", "a"), ["api", true]);
});

Deno.test("a says what to do where nothing can be answered", () => {
  assert.match(after(["j", "j", "a"]).view.notice?.text ?? "", /g shows its pane/);
  assert.match(after(["2", "a"]).view.notice?.text ?? "", /c asks its peer/);
});

Deno.test("s marks a note as read, but no open question", () => {
  assert.deepEqual(after(["end", "s"]).act, { kind: "read", item: someRecords().inbox?.items[0] });
  const { act, view } = after(["s"]);
  assert.deepEqual([act, /until it is answered/.test(view.notice?.text ?? "")], [undefined, true]);
});

Deno.test("x asks first, and only y kills, once the losses are known", () => {
  const asked = after(["2", "x"]);
  assert.equal(asked.act?.kind, "losses");
  assert.equal(after(["2", "x", "y"]).act, undefined);
  const overlay = asked.view.overlay?.kind === "kill"
    ? { ...asked.view.overlay, losses: [["1 ask"]] }
    : undefined;
  const ready = { ...asked.view, overlay };
  assert.partialDeepStrictEqual(after(["y"], undefined, ready).act, {
    kind: "kill",
    peer: { name: "db" },
  });
  for (const key of ["enter", "escape", "x"]) {
    const { act, view } = after([key], undefined, ready);
    assert.deepEqual([act, view.overlay], [undefined, undefined]);
  }
});

Deno.test("i stops a peer at work after a y, and says why it stops no other", () => {
  const model = modelOf(someRecords({
    peers: [peer("api", { status: "busy", turn_state: "working" })],
  }));
  const asked = after(["2", "i"], model);
  assert.deepEqual([asked.view.overlay?.kind, asked.act], ["interrupt", undefined]);
  assert.partialDeepStrictEqual(after(["y"], model, asked.view).act, {
    kind: "interrupt",
    peer: { name: "api" },
  });
  for (const key of ["enter", "escape", "i"]) {
    const { act, view } = after([key], model, asked.view);
    assert.deepEqual([act, view.overlay], [undefined, undefined]);
  }
  const reasonFor = (more: Parameters<typeof peer>[1]) =>
    after(
      ["2", "f", "i"],
      modelOf(someRecords({ peers: [peer("db", more)] }), {
        ...FIRST_VIEW,
        showsOffline: true,
      }),
    ).view.notice?.text;
  assert.equal(reasonFor({ turn_state: "idle" }), "db is not at work");
  assert.equal(reasonFor({ status: "offline" }), "db is offline");
  assert.match(reasonFor({ turn_state: "awaiting_input" }) ?? "", /^db waits for an answer/);
});

Deno.test("/ searches, and Escape ends the search", () => {
  const { act, view } = after(["/", "p", "o", "enter"]);
  assert.deepEqual([act, view.section], [{ kind: "search", query: "po" }, "feed"]);
  const found = { query: "po", rows: [], hasMore: false };
  const ended = after(["escape"], modelOf(someRecords({ found })), view);
  assert.deepEqual(ended.act, { kind: "search", query: undefined });
});

Deno.test("an opened detail scrolls within its bounds and closes on Escape", () => {
  const opened = after(["enter"]);
  assert.deepEqual([opened.act, opened.view.detail?.id], [{ kind: "load" }, "inb-db"]);
  const scrolled = (...keys: string[]) => after(["enter", ...keys]).view.detail?.scroll;
  assert.deepEqual([scrolled("j", "j"), scrolled("k"), scrolled("pagedown", "k")], [2, 0, 2]);
  assert.equal(scrolled("escape"), undefined);
});

Deno.test("without a selected peer the keys say what to do", () => {
  const empty = modelOf(someRecords({ peers: [], inbox: undefined }));
  for (const key of ["c", "n", "e", "g", "x"]) {
    assert.match(after([key], empty).view.notice?.text ?? "", /Select a peer first/, key);
  }
  const gone = modelOf(someRecords({ peers: [] }));
  assert.match(after(["x"], gone).view.notice?.text ?? "", /db is not a peer that can be killed/);
});

Deno.test("an item without a sender's id cannot be written to, but answered", () => {
  const items = [item("cli", 1, { from_peer_id: null, kind: "notify", correlation_id: null })];
  const inbox = { human: "sam", human_peer_id: "peer-sam", asks: [], items };
  const model = modelOf(someRecords({ peers: [], inbox }));
  assert.match(after(["c"], model).view.notice?.text ?? "", /Select a peer first/);
  assert.equal(after(["a", "h", "enter"], model).act?.kind, "send");
});

for (const is_cut of [false, true]) {
  const name = is_cut
    ? "1 does not allow an act of which only the attached file has all"
    : "1 allows an act once all of it was shown";
  Deno.test(name, () => {
    const act = {
      kind: "run" as const,
      title: "Run: make",
      command: "make",
      folder: null,
      path: null,
      address: null,
      files: [],
      details: [],
      is_cut,
      covers_text: true,
      takes_reason: true,
    };
    const asked = ask("api", "sam", 1, {
      question: {
        kind: "choice",
        scope: "tool_permission",
        prompt: "May I?",
        options: [{ id: "allow", title: "Allow" }, { id: "deny", title: "Deny" }],
        timeout_seconds: 60,
        blocking: true,
        metadata: null,
        act,
      },
    });
    const { question, correlation_id } = asked;
    const items = [item("api", 1, { question, correlation_id })];
    const inbox = { human: "sam", human_peer_id: "peer-sam", asks: [asked], items };
    const model = modelOf(someRecords({ inbox, peers: [peer("api")] }));
    const { view } = after(["enter"], model);
    assert.equal(view.detail?.of, "item");
    const shown = { ...view, detail: view.detail && { ...view.detail, lines: [], scroll: 3 } };
    const { act: done, view: { notice } } = after(["1"], model, shown as View);
    assert.equal(done?.kind, is_cut ? undefined : "choose");
    if (is_cut) assert.match(notice?.text ?? "", /^Not all of it can be shown here: o opens/);
    assert.equal(after(["2"], model, shown as View).act?.kind, "choose");
  });
}
