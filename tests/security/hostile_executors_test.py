#!/usr/bin/env python3
"""Executors of xxl-job that answer without end, without haste or with a way to elsewhere: a job tracker
that calls them needs little memory, calls nobody else, and serves others meanwhile."""

import contextlib
import pathlib
import socket
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
from harness import wait_for  # noqa: E402
from hostile import MIB, TrackerTest  # noqa: E402

SENT_MAX = 200 * MIB
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


class HostileServer:
    """Answers each request with a beginning and then the same piece again and again, with pauses."""

    def __init__(self, begin, piece=b"", pause=0.0):
        self.begin, self.piece, self.pause = begin, piece, pause
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.asked = 0
        self.sent = []  # bytes of each answer that has ended
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                peer = self.listener.accept()[0]
                threading.Thread(target=self.answer, args=(peer,), daemon=True).start()

    def answer(self, peer):
        sent = 0
        with contextlib.suppress(OSError), peer:
            if not peer.recv(65536):
                return
            self.asked += 1
            peer.sendall(self.begin)
            while self.piece and sent < SENT_MAX:
                peer.sendall(self.piece)
                sent += len(self.piece)
                time.sleep(self.pause)
        self.sent.append(sent)

    def close(self):
        self.listener.close()


class HostileExecutors(TrackerTest):
    def serve(self, *how):
        server = HostileServer(*how)
        self.addCleanup(server.close)
        return server

    def push_to(self, server, app):
        self.assertEqual(self.register(f"http://127.0.0.1:{server.port}/", app)["code"], 200)
        self.one.submit("--task-id", app, "--group", app, "--dispatch", "push", "--handler", "x")

    def test_endless_answers_cost_little(self):
        pid = self.start()
        endless = {
            "extension": (CHUNKED + b"5;x=", b"x" * 65536),
            "trailer": (CHUNKED + b"0\r\n", b"X: " + b"x" * 65000 + b"\r\n"),
            "fields": (OK, b"X: y\r\n" * 10_000),
            "field": (OK + b"X: ", b"x" * 65536),
            "body": (OK + b"\r\n", b"x" * 65536),
            "length": (OK + b"Content-Length: 9999999999999\r\n\r\n", b"x" * 65536),
            "chunks": (CHUNKED, b"10000\r\n" + b"x" * 65536 + b"\r\n"),
            "interim": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2000),
        }
        with self.bounded_memory(pid):
            servers = {}
            for app, how in endless.items():
                servers[app] = self.serve(*how)
                self.push_to(servers[app], app)
            for app, server in servers.items():
                wait_for(f"the end of an answer with an endless {app}", lambda server=server: server.sent)
        for app, server in servers.items():
            self.assertLess(max(server.sent), SENT_MAX, app)
        self.assertEqual(self.status_of("/healthz"), 200)

    def test_no_line_is_too_long_for_the_parser(self):
        self.start()
        end = b"\r\n\r\n"
        for size in (16_000, 32_760, 65_536, 66_000, 67_000, 68_000, 70_000):
            line = b"X: " + b"x" * size + end
            for part, answer in (("trailer", CHUNKED + b"0\r\n" + line), ("field", OK + line),
                                 ("name", OK + b"x" * size + b": y" + end),
                                 ("extension", CHUNKED + b"0;x=" + b"x" * size + end)):
                server = self.serve(answer)
                self.push_to(server, f"{part}-{size}")
                wait_for("its call", lambda server=server: server.sent)
        self.assertEqual(self.status_of("/healthz"), 200)

    def test_slow_answers_delay_no_other_executor(self):
        self.start()
        slow = [self.serve(CHUNKED, b"1\r\nx\r\n", 0.2), self.serve(OK, b"X: y\r\n", 0.2), self.serve(b"")]
        for number, server in enumerate(slow):
            self.push_to(server, f"slow-{number}")
        for server in slow:
            wait_for("a call", lambda server=server: server.asked)
        quick = self.serve(OK + b"Content-Length: 12\r\n\r\n" + b'{"code":200}')
        begun = time.monotonic()
        self.push_to(quick, "quick")
        wait_for("the call of the quick one", lambda: quick.asked)
        self.assertLess(time.monotonic() - begun, 2 * harness.slowness())

    def test_nobody_is_called_by_way_of_another(self):
        self.start()
        trap = self.serve(OK + b"Content-Length: 12\r\n\r\n" + b'{"code":200}')
        for app, status in (("moved", b"301"), ("found", b"302"), ("same-method", b"307")):
            for target in (b"http://169.254.169.254/latest/meta-data/", b"http://127.0.0.1:%d/" % trap.port):
                server = self.serve(b"HTTP/1.1 %s X\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % (status, target))
                name = f"{app}-{server.port}"
                self.push_to(server, name)
                wait_for("its call", lambda server=server: server.sent)
        self.assertEqual(trap.asked, 0)


if __name__ == "__main__":
    harness.main()
