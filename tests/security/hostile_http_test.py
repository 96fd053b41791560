#!/usr/bin/env python3
"""Hostile peers of the HTTP ports: what they send costs little memory, and nobody else waits."""

import contextlib
import http.client
import json
import pathlib
import re
import resource
import socket
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
from harness import BIN, E2eTest, Program, free_port, wait_for  # noqa: E402

MIB = 1024 * 1024
RISE_MAX = 64 * MIB
TOKEN = "tok-1"
CHUNKED = b"POST %s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


class HostileTest(E2eTest):
    @contextlib.contextmanager
    def bounded_memory(self, pid):
        """The most memory that a process has meanwhile is at most 64 MiB more than now."""

        def read(name):
            status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
            return int(re.search(rf"^{name}:\s*(\d+) kB", status, re.MULTILINE).group(1)) * 1024

        pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
        before = read("VmRSS")
        yield
        self.assertLess(read("VmHWM") - before, RISE_MAX)

    def connect(self, port):
        peer = socket.create_connection(("127.0.0.1", port), timeout=harness.PATIENCE)
        self.addCleanup(peer.close)
        return peer

    def pour(self, port, begin, piece, most=200 * MIB):
        """Sends without end, until the other side has closed the connection."""
        peer = self.connect(port)
        sent = len(begin)
        try:
            peer.sendall(begin)
            while sent < most:
                peer.sendall(piece)
                sent += len(piece)
        except OSError:
            pass
        self.assertLess(sent, most, "it was not closed")

    def pour_all(self, pid, port, path):
        with self.bounded_memory(pid):
            self.pour(port, CHUNKED % path + b"5;x=", b"x" * 65536)
            self.pour(port, CHUNKED % path + b"0\r\n", b"X: " + b"x" * 65000 + b"\r\n")
            self.pour(port, b"GET / HTTP/1.1\r\nHost: localhost\r\n", b"X: y\r\n" * 10_000)


class JobTracker(HostileTest):
    def start(self, *flags):
        self.port = free_port()
        self.one = self.cluster(flags=["--http", f"127.0.0.1:{self.port}", *flags])
        return self.one.tracker.pid

    def status_of(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        finally:
            connection.close()

    def test_endless_requests_are_refused_early(self):
        self.pour_all(self.start(), self.port, b"/api/callback")

    def test_bodies_without_a_token_are_not_received(self):
        pid = self.start("--xxl-token", TOKEN)
        head = b"POST /api/callback HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (5 * MIB)
        with self.bounded_memory(pid):
            for _ in range(200):
                peer = self.connect(self.port)
                peer.sendall(head)
                self.assertIn(b"The access token is wrong.", peer.recv(4096))
                with contextlib.suppress(OSError):
                    peer.sendall(b" " * MIB)

    def test_bodies_of_all_connections_are_bounded(self):
        pid = self.start()
        head = b"POST /api/callback HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (4 * MIB)
        with self.bounded_memory(pid):
            peers = []
            for _ in range(60):
                peers.append(self.connect(self.port))
                with contextlib.suppress(OSError):
                    peers[-1].sendall(head + b" " * (4 * MIB - 1))
            peers[-1].settimeout(harness.PATIENCE)
            answer = peers[-1].recv(4096)
            self.assertTrue(answer.startswith(b"HTTP/1.1 503 "), answer)
            self.assertIn(b"Retry-After: 1\r\n", answer)
            self.assertEqual(self.status_of("/metrics"), 200)

    def test_requests_of_many_small_values_cost_little(self):
        pid = self.start()
        result = b'{"logId":1,"handleCode":0}'
        for body in (b"[" + b"1," * (5 * MIB // 2 - 10) + b"1]",
                     b"[" + b",".join([result] * (5 * MIB // 30)) + b"]"):
            with self.bounded_memory(pid):
                threads = [threading.Thread(target=self.post, args=(body,)) for _ in range(6)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()

    def post(self, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE)
        try:
            connection.request("POST", "/api/callback", body)
            connection.getresponse().read()
        finally:
            connection.close()

    def test_slow_connections_leave_places_for_healthz_and_are_closed(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < 5000:
            harness.skip("too few file descriptors")
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        pid = self.start()
        begun = time.monotonic()
        with self.bounded_memory(pid):
            slow = [self.connect(self.port) for _ in range(2100)]
            for peer in slow:
                peer.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ")
            for path in ("/healthz", "/readyz", "/metrics"):
                self.assertEqual(self.status_of(path), 200, path)
            self.assertEqual(slow[0].recv(1), b"")
            self.assertLess(time.monotonic() - begun, 10 + 10 * harness.slowness())

    def register(self, address, app="hostile"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE)
        try:
            connection.request("POST", "/api/registry", json.dumps({
                "registryGroup": "EXECUTOR", "registryKey": app, "registryValue": address}))
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def manage(self, verb, body, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE)
        try:
            connection.request("POST", f"/api/{verb}", json.dumps(body), headers)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def test_management_calls_need_a_token_and_reach_no_job_of_task_trackers(self):
        for flags in ((), ("--xxl-token", TOKEN)):
            self.start(*flags)
            self.one.submit("--task-id", "xxl-5", "--group", "ops", "--manual", "--", "true")
            for verb in ("updateJob", "removeJob", "startJob", "stopJob", "triggerJob"):
                answer = self.manage(verb, {"id": 5}, **{"XXL-JOB-APPNAME": "ops"})
                self.assertEqual(answer["code"], 500 if flags else 401, answer)
                if not flags:
                    self.assertIn("--xxl-token", answer["msg"])
                answer = self.manage(verb, {"id": 5, "executorParam": "x"}, **{
                    "XXL-JOB-APPNAME": "ops", "XXL-JOB-ACCESS-TOKEN": TOKEN})
                # As in xxl-job, a job that does not exist counts as removed.
                self.assertEqual(answer["code"] == 200, bool(flags) and verb == "removeJob", answer)
            self.assertEqual([row["state"] for row in self.one.rows("list")], ["active"])
            self.assertEqual(self.one.history(), [])
            self.one.tracker.stop()

    def test_one_address_registers_fifty_new_groups_an_hour(self):
        self.start()
        codes = [self.register("http://127.0.0.1:9/", f"app-{number}")["code"] for number in range(51)]
        self.assertEqual(codes, [200] * 50 + [500])
        self.assertEqual(self.register("http://127.0.0.1:9/", "app-1")["code"], 200)

    def test_addresses_that_must_not_be_called_cannot_register(self):
        self.start("--executor-networks", "127.0.0.0/8")
        for port in (self.port, self.one.port):
            for host in ("127.0.0.1", "localhost", "127.1.2.3"):
                answer = self.register(f"http://{host}:{port}/")
                self.assertEqual(answer["code"], 500, (host, port))
                self.assertIn("is a port of this job tracker", answer["msg"])
        for address, why in (("http://10.1.2.3:9999/", "not in a network"),
                             ("http://169.254.169.254/", "metadata address")):
            answer = self.register(address)
            self.assertEqual(answer["code"], 500, address)
            self.assertIn(why, answer["msg"])
        self.assertEqual(self.register(f"http://127.0.0.1:{free_port()}/")["code"], 200)

    def test_secrets_of_http_jobs_are_shown_to_nobody(self):
        self.start()
        self.one.start_worker("--http-job-networks", "10.0.0.0/8")
        url = f"http://ann:password-1@127.0.0.1:{free_port()}/"
        self.one.submit("--task-id", "secret", "--http", url, "--header", "Authorization: Bearer password-2")
        shown = self.one.client("show", "secret", status=None).out
        row = self.one.wait_ended("secret")
        self.assertEqual(row["state"], "failed")
        self.assertIn("http://***@127.0.0.1:", row["message"])
        self.assertIn("127.0.0.1 is not in a network that may be called", row["message"])
        self.one.submit("--task-id", "later", "--manual", "--http", url,
                        "--header", "Authorization: Bearer password-2")
        shown += self.one.client("show", "later", "-o", "json").out
        shown += self.one.client("history", "-o", "json").out
        self.assertIn("***@127.0.0.1", shown)
        self.assertNotIn("password", shown)

    def test_a_hostile_executors_answer_costs_little(self):
        pid = self.start()
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        poured = []

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    peer = server.accept()[0]
                    sent = 0
                    with contextlib.suppress(OSError), peer:
                        peer.recv(65536)
                        peer.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=")
                        while sent < 200 * MIB:
                            peer.sendall(b"x" * 65536)
                            sent += 65536
                    poured.append(sent)

        threading.Thread(target=serve, daemon=True).start()
        with self.bounded_memory(pid):
            address = f"http://127.0.0.1:{server.getsockname()[1]}/"
            self.assertEqual(self.register(address)["code"], 200)
            self.one.submit("--task-id", "one", "--group", "hostile", "--dispatch", "push", "--handler", "x")
            wait_for("its answers", lambda: poured)
        self.assertLess(max(poured), 200 * MIB)


class Executor(HostileTest):
    def test_endless_requests_are_refused_early(self):
        one = self.cluster(tracker=False)
        port = free_port()
        executor = Program(
            [BIN / "tasktracker", "--tracker", "off", "--xxl-admin", f"http://127.0.0.1:{free_port()}/",
             "--xxl-appname", "billing", "--xxl-port", port, "--xxl-token", TOKEN,
             "--data", one.folder / "data" / "executor"],
            one.folder / "logs" / "executor.log", one.env, "tasktracker")
        one.workers.append(executor)
        executor.ready()
        self.pour_all(executor.pid, port, b"/run")


if __name__ == "__main__":
    harness.main()
