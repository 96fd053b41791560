#!/usr/bin/env python3
"""An executor of xxl-job that waits instead of working, and notes each run that it is told.

  minimal_executor.py ADMIN_URL APP PORT TOKEN NOTES [ANSWER_MS]

A run takes as many milliseconds as its parameter says. A line of NOTES is the wall time in seconds,
the log id and the job's number, written before the call is answered, ANSWER_MS milliseconds after it
came. Results are told until the
admin has taken them; what runs when the process is killed is forgotten.
"""

import asyncio
import collections
import json
import sys
import time
import urllib.request

REGISTER_PERIOD = 30  # seconds, xxl-job's own
RETRY_PERIOD = 0.5


class Executor:
    def __init__(self, admin, app, port, token, notes, answer_ms=0):
        self.answer_delay = int(answer_ms) / 1000
        self.admin, self.app, self.port, self.token = admin, app, port, token
        self.notes = open(notes, "a", buffering=1, encoding="utf-8")
        self.running = collections.Counter()  # by the job's number
        self.results = asyncio.Queue()

    async def serve(self):
        server = await asyncio.start_server(self.on_connection, "127.0.0.1", self.port, backlog=1000)
        async with server:
            await self.told("registry", self.registration())
            print(f"executor: ready xxl=http://127.0.0.1:{self.port}/", flush=True)
            await asyncio.gather(self.keep_registering(), self.tell_results())

    def registration(self):
        return {"registryGroup": "EXECUTOR", "registryKey": self.app,
                "registryValue": f"http://127.0.0.1:{self.port}/"}

    async def keep_registering(self):
        while True:
            await asyncio.sleep(REGISTER_PERIOD)
            await self.told("registry", self.registration())

    async def tell_results(self):
        while True:
            some = [await self.results.get()]
            while not self.results.empty():
                some.append(self.results.get_nowait())
            await self.told("callback", some)

    async def told(self, path, body):
        while not await asyncio.to_thread(self.ask_admin, path, body):
            await asyncio.sleep(RETRY_PERIOD)

    def ask_admin(self, path, body):
        headers = {"Content-Type": "application/json", "XXL-JOB-ACCESS-TOKEN": self.token}
        request = urllib.request.Request(f"{self.admin}/api/{path}", json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return json.load(answer)["code"] == 200
        except OSError:
            return False

    async def on_connection(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                first, *lines = head.split("\r\n")
                headers = dict(line.lower().split(": ", 1) for line in lines if line)
                body = json.loads(await reader.readexactly(int(headers["content-length"])))
                path = first.split(" ")[1].rsplit("/", 1)[1]
                answer = json.dumps(self.answer(path, body)).encode()
                if path == "run" and self.answer_delay:
                    await asyncio.sleep(self.answer_delay)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                             b"Content-Length: %d\r\n\r\n%s" % (len(answer), answer))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def answer(self, path, body):
        if path == "run":
            self.begin(body)
        if path == "idleBeat" and self.running[body["jobId"]]:
            return {"code": 500, "msg": "it runs"}
        return {"code": 200, "msg": None}

    def begin(self, call):
        job = call["jobId"]
        self.running[job] += 1
        self.notes.write(f"{time.time():.6f} {call['logId']} {job}\n")
        asyncio.get_running_loop().call_later(int(call["executorParams"]) / 1000, self.end, call)

    def end(self, call):
        self.running[call["jobId"]] -= 1
        self.results.put_nowait({"logId": call["logId"], "logDateTim": call["logDateTime"],
                                 "handleCode": 200, "handleMsg": None})


async def main():
    admin, app, port, token, notes, *answer_ms = sys.argv[1:]
    await Executor(admin, app, int(port), token, notes, *answer_ms).serve()


if __name__ == "__main__":
    asyncio.run(main())
