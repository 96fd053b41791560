#!/usr/bin/env python3
"""A task tracker is called as official xxl-job admins called it: tests/data/xxl_admin says how.

What they sent goes byte for byte to the executor, and what they answered comes back to it, in the
order of then; so each result is waited for before what the admin did after it.
"""

import http.client
import http.server
import json
import socket
import threading

import harness
from harness import BIN, SOURCE, E2eTest, Program, wait_for

RECORDED = SOURCE / "tests/data/xxl_admin"


class Answers:
    """The admin's side: answers each path as it was answered first, and keeps what came."""

    def __init__(self, rows):
        answers = {row["path"]: row for row in reversed(rows) if row["to"] == "admin"}
        self.results = {}      # code by log id
        self.registered = []   # paths and bodies of the other requests
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.path.endswith("/api/callback"):
                    for result in body:
                        outer.results[str(result["logId"])] = result["handleCode"]
                else:
                    outer.registered.append((self.path, body))
                row = answers[self.path]
                text = row["text"].encode("utf-8")
                lines = [line for line in row["answer"] if not line.lower().startswith("content-length:")]
                if "Transfer-Encoding: chunked" in lines:
                    text = b"%x\r\n%s\r\n0\r\n\r\n" % (len(text), text)
                else:
                    lines.append(f"Content-Length: {len(text)}")
                self.wfile.write("".join(line + "\r\n" for line in [*lines, ""]).encode() + text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def port(self):
        return self.server.server_address[1]

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Replay(E2eTest):
    def send(self, row):
        """The JSON of the executor's answer to a recorded request."""
        head = "".join(line + "\r\n" for line in [*row["request"], ""])
        self.connection.sendall(head.encode("utf-8"))
        self.connection.sendall(row["body"].encode("utf-8"))  # in a segment of its own, as then
        answer = http.client.HTTPResponse(self.connection)
        answer.begin()
        self.assertEqual(answer.status, 200, row)
        return json.loads(answer.read())

    def replay(self, version):
        rows = [json.loads(line) for line in (RECORDED / f"{version}.jsonl").read_text("utf-8").splitlines()]
        admin = Answers(rows)
        self.addCleanup(admin.stop)
        registry = next(row for row in rows if row["to"] == "admin")
        root = registry["path"].removesuffix("/api/registry")
        one = self.cluster(tracker=False)
        executor = Program(
            [BIN / "tasktracker", "--tracker", "off", "--xxl-admin", f"http://127.0.0.1:{admin.port}{root}",
             "--xxl-appname", "billing", "--xxl-port", 0, "--xxl-token", "default_token",
             "--data", one.folder / "data"], one.folder / "logs/executor.log", one.env, "tasktracker")
        one.workers.append(executor)
        address = executor.ready()["xxl"]
        wait_for("the registration", lambda: admin.registered)
        self.connection = socket.create_connection(("127.0.0.1", int(address.rstrip("/").rsplit(":", 1)[1])))
        self.addCleanup(self.connection.close)
        for row in rows:
            if row["to"] == "executor":
                answer = self.send(row)
                self.assertEqual([answer["code"], answer["msg"]], [row["answer"]["code"], row["answer"]["msg"]],
                                 row)
                if "/log " in row["request"][0]:
                    for payload in ("content", "data"):
                        self.assertIn("day=1, 日\n", answer[payload]["logContent"])
            for log_id, code in row.get("results", {}).items():
                result = wait_for(f"the result of {log_id}", lambda log_id=log_id: admin.results.get(log_id))
                self.assertEqual(result, code, row)
        self.assertEqual(executor.stop(), 0)
        self.assertEqual([path.removeprefix(root) for path, _ in admin.registered],
                         ["/api/registry", "/api/registryRemove"])
        self.assertEqual(admin.registered[0][1],
                         {"registryGroup": "EXECUTOR", "registryKey": "billing", "registryValue": address})


    def test_recorded_calls_of_admin_2_2_0_replay(self):
        self.replay("2.2.0")

    def test_recorded_calls_of_admin_2_4_1_replay(self):
        self.replay("2.4.1")

    def test_recorded_calls_of_admin_3_3_2_replay(self):
        self.replay("3.3.2")


if __name__ == "__main__":
    harness.main()
