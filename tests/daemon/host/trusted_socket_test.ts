/** Trust in a socket depends on its owner, its folders, and the links in its path. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { checkSocket, whyUnsafeFolder } from "../../../daemon/host/trusted_socket.ts";

const NOBODY_UID = 65_534;

interface SocketFolder {
  /** A mode for this user alone. */
  readonly dir: string;
  /** Creates a folder with a socket in it; returns the path of the socket. */
  socket(folder?: string, name?: string): string;
}

/** Runs a test in a folder of its own. */
function inFolder(
  name: string,
  test: (socketFolder: SocketFolder) => void,
  { root = false } = {},
): void {
  const ignore = root && Deno.uid() !== 0;
  const shown = ignore ? `${name} (skipped: only root can make files of another user)` : name;
  Deno.test(shown, { ignore }, () => {
    const dir = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "mesh-socket-" }));
    const listeners: Deno.UnixListener[] = [];
    try {
      test({
        dir,
        socket(folder = "own", name = "socket") {
          Deno.mkdirSync(join(dir, folder), { recursive: true, mode: 0o700 });
          const path = join(dir, folder, name);
          listeners.push(Deno.listen({ transport: "unix", path }));
          return path;
        },
      });
    } finally {
      for (const listener of listeners) listener.close();
      Deno.removeSync(dir, { recursive: true });
    }
  });
}

function refusal(path: string): string {
  const checked = checkSocket(path);
  assert.equal(checked.state, "refused", `${path} is ${checked.state}`);
  return checked.state === "refused" ? checked.reason : "";
}

inFolder("this user's socket in this user's folder is trusted", ({ socket }) => {
  const path = socket();
  assert.deepEqual(checkSocket(path), { state: "trusted", path });
});

inFolder("a link of this user's is followed, and the answer has none", ({ dir, socket }) => {
  const path = socket("a/b");
  Deno.symlinkSync("a/../a/./b", join(dir, "short"));
  assert.deepEqual(checkSocket(join(dir, "short", "socket")), { state: "trusted", path });
  Deno.symlinkSync(path, join(dir, "whole"));
  assert.deepEqual(checkSocket(join(dir, "whole")), { state: "trusted", path });
});

inFolder("a path that leads nowhere is missing", ({ dir }) => {
  for (const path of [join(dir, "socket"), join(dir, "no", "folder")]) {
    assert.deepEqual(checkSocket(path), { state: "missing" });
  }
  Deno.symlinkSync("gone", join(dir, "dangling"));
  assert.deepEqual(checkSocket(join(dir, "dangling")), { state: "missing" });
});

inFolder("a file, a folder, a pipe and a relative path are refused", ({ dir }) => {
  Deno.writeTextFileSync(join(dir, "file"), "");
  new Deno.Command("mkfifo", { args: [join(dir, "pipe")] }).outputSync();
  for (const name of ["file", "pipe", "."]) assert.match(refusal(join(dir, name)), /not a socket/);
  assert.match(refusal(join(dir, "file", "socket")), /not a folder/);
  for (const path of ["", "socket", "./socket"]) assert.match(refusal(path), /absolute/);
});

for (const mode of [0o720, 0o702, 0o777]) {
  inFolder(`a socket in a folder of mode ${mode.toString(8)} is refused`, ({ dir, socket }) => {
    const path = socket();
    Deno.chmodSync(join(dir, "own"), mode);
    assert.match(refusal(path), /others? (users )?may write/);
    assert.ok(whyUnsafeFolder(join(dir, "own")));
  });

  inFolder(`a folder of mode ${mode.toString(8)} above is refused`, ({ dir, socket }) => {
    const path = socket("open/own");
    Deno.chmodSync(join(dir, "open"), mode);
    assert.match(refusal(path), /others? (users )?may write/);
  });
}

inFolder("a sticky folder is one to go through, and none to listen in", ({ dir, socket }) => {
  const below = socket("sticky/own"), inside = socket("sticky");
  Deno.chmodSync(join(dir, "sticky"), 0o1777);
  assert.equal(checkSocket(below).state, "trusted");
  assert.match(refusal(inside), /0700/);
});

inFolder("links that go in a circle are refused", ({ dir }) => {
  Deno.symlinkSync("b", join(dir, "a"));
  Deno.symlinkSync("a", join(dir, "b"));
  assert.match(refusal(join(dir, "a")), /too many links/);
});

inFolder("a path that the system does not take is refused", ({ dir }) => {
  assert.match(refusal(join(dir, "x".repeat(300))), /cannot be checked/);
  assert.match(refusal(`${dir}/a\0b`), /cannot be checked/);
});

inFolder("another user's socket, folder and link are refused", ({ dir, socket }) => {
  const theirs = socket("own", "theirs"), ours = socket("own", "ours");
  Deno.chownSync(theirs, NOBODY_UID, NOBODY_UID);
  assert.match(refusal(theirs), /belongs to user 65534/);
  Deno.symlinkSync(ours, join(dir, "link"));
  new Deno.Command("chown", { args: ["-h", `${NOBODY_UID}`, join(dir, "link")] }).outputSync();
  assert.match(refusal(join(dir, "link")), /the link .* belongs to user 65534/);
  assert.equal(checkSocket(ours).state, "trusted");
  Deno.chownSync(join(dir, "own"), NOBODY_UID, NOBODY_UID);
  assert.match(refusal(ours), /the folder .* belongs to user 65534/);
  assert.match(whyUnsafeFolder(join(dir, "own")) ?? "", /65534|alone/);
}, { root: true });

inFolder("root's folders are gone through by all, root's sockets used by root", ({ socket }) => {
  const path = socket();
  const checked = checkSocket(path, NOBODY_UID);
  assert.equal(checked.state, "refused");
}, { root: true });
