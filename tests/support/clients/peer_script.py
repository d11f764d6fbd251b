"""The peer of peer_script.js in Python, without its first argument."""

import asyncio
import json
import sys

from agent_mesh import MeshError, MeshPeer, Option

name, client_id_file, mode = (sys.argv[1:] + ["", ""])[:3]


def write(**line):
    print(json.dumps(line), flush=True)


def failed(error):
    write(failed=type(error).__name__, code=error.code, message=str(error))


async def main():
    try:
        me = await MeshPeer.connect(name, client_id_file=client_id_file or None)
    except MeshError as error:
        failed(error)
        sys.exit(1)

    @me.on_ask
    async def answer(ask):
        write(asked=ask.text, **{"from": ask.sender})
        if mode == "hang":
            await asyncio.Event().wait()
        if ask.text == "no":
            raise RuntimeError("I will not")
        options = (ask.frame.get("question") or {}).get("options")
        return Option(options[0]["id"]) if options else f"{name} read {ask.text}"

    @me.on_notify
    async def noted(message):
        write(note=message.text)

    async def run(line):
        given = json.loads(line)
        try:
            if given["verb"] == "ask":
                timeout = given.get("timeoutMs")
                reply = await me.ask(given["to"], given["text"], timeout=timeout and timeout / 1000)
                write(answer=reply.text)
            elif given["verb"] == "notify":
                write(sent=(await me.notify(given["to"], given["text"]))["delivery_state"])
            else:
                await me.close()
        except MeshError as error:
            failed(error)

    write(ready=me.peer_id, name=me.name)
    loop, tasks = asyncio.get_running_loop(), []
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        tasks.append(asyncio.create_task(run(line)))
        if '"close"' in line:
            return await tasks[-1]


asyncio.run(main())
