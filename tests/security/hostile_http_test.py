#!/usr/bin/env python3
"""Hostile peers of the HTTP ports: what they send costs little memory, and nobody else waits."""

import contextlib
import pathlib
import resource
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
from harness import BIN, Program, free_port  # noqa: E402
from hostile import MIB, HostileTest, TrackerTest  # noqa: E402

TOKEN = "tok-1"
CHUNKED = b"POST %s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
# Requests whose end two servers would see at two places.
UNCERTAIN = [
    b"Content-Length: 4\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    b"Content-Length: 4, 5\r\n\r\n0\r\n\r\n",
    b"Content-Length: -1\r\n\r\n0\r\n\r\n",
    b"Content-Length: 99999999999999999999\r\n\r\n0\r\n\r\n",
    b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    b"Transfer-Encoding: chunked, identity\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    b"Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n-1\r\nx\r\n0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nx",
    b"Transfer-Encoding: chunked\r\n\r\n0x1\r\nx\r\n0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n1\r\nxx\r\n0\r\n\r\n",
]
NEXT = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


class HttpTest(HostileTest):
    def pour_all(self, pid, port, path):
        with self.bounded_memory(pid):
            self.pour(port, CHUNKED % path + b"5;x=", b"x" * 65536)
            self.pour(port, CHUNKED % path + b"0\r\n", b"X: " + b"x" * 65000 + b"\r\n")
            self.pour(port, b"GET / HTTP/1.1\r\nHost: localhost\r\n", b"X: y\r\n" * 10_000)

    def send_uncertain(self, port, path):
        """Each is refused, and nothing after it is read as a request."""
        for rest in UNCERTAIN:
            with self.subTest(rest):
                heard = self.answers_to(port, b"POST %s HTTP/1.1\r\nHost: localhost\r\nXXL-JOB-ACCESS-TOKEN: tok-1\r\n"
                                        % path + rest + NEXT)
                self.assertRegex(heard, rb"^HTTP/1\.1 4\d\d ")
                self.assertEqual(heard.count(b"HTTP/1.1 "), 1, heard)


class JobTracker(HttpTest, TrackerTest):
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
                self.in_parallel(6, lambda _, body=body: self.ask("POST", "/api/callback", body))

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

    def test_requests_without_a_certain_end_are_refused(self):
        self.start()
        self.send_uncertain(self.port, b"/api/callback")

    def test_requests_in_one_piece_are_answered_one_by_one(self):
        pid = self.start()
        with self.bounded_memory(pid):
            heard = self.answers_to(self.port, NEXT * 3000)
        self.assertEqual(heard.count(b"HTTP/1.1 200 OK\r\n"), 3000)

    def test_clients_that_neither_send_nor_read_delay_no_others(self):
        pid = self.start()
        slow = b"POST /api/callback HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000\r\n\r\n["
        with self.bounded_memory(pid):
            for number in range(300):
                peer = self.connect(self.port)
                peer.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    peer.send(slow if number % 2 else NEXT.replace(b"/healthz", b"/metrics") * 5000)
            for path in ("/healthz", "/readyz", "/metrics"):
                self.assertEqual(self.status_of(path), 200, path)


class Executor(HttpTest):
    """The port of a task tracker that serves an xxl-job admin."""

    def setUp(self):
        super().setUp()
        one = self.cluster(tracker=False)
        self.port = free_port()
        executor = Program(
            [BIN / "tasktracker", "--tracker", "off", "--xxl-admin", f"http://127.0.0.1:{free_port()}/",
             "--xxl-appname", "billing", "--xxl-port", self.port, "--xxl-token", TOKEN,
             "--data", one.folder / "data" / "executor"],
            one.folder / "logs" / "executor.log", one.env, "tasktracker")
        one.workers.append(executor)
        executor.ready()
        self.pid = executor.pid

    def test_endless_requests_are_refused_early(self):
        self.pour_all(self.pid, self.port, b"/run")

    def test_requests_without_a_certain_end_are_refused(self):
        self.send_uncertain(self.port, b"/run")

    def test_calls_without_a_token_start_nothing_and_their_bodies_are_not_received(self):
        run = b'{"jobId":1,"logId":1,"glueType":"GLUE_SHELL","glueSource":"touch %s"}'
        note = self.folder / "note"
        run %= str(note).encode()
        for token in (b"", b"XXL-JOB-ACCESS-TOKEN: wrong\r\n"):
            for path in (b"/run", b"/trigger", b"/kill", b"/log"):
                heard = self.answers_to(self.port, b"POST %s HTTP/1.1\r\nHost: localhost\r\n%s"
                                        b"Content-Length: %d\r\n\r\n%s" % (path, token, len(run), run))
                self.assertIn(b"The access token is wrong.", heard)
        with self.bounded_memory(self.pid):
            for _ in range(100):
                peer = self.connect(self.port)
                peer.sendall(b"POST /run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000\r\n\r\n")
                self.assertIn(b"The access token is wrong.", peer.recv(4096))
                with contextlib.suppress(OSError):
                    peer.sendall(b" " * MIB)
        self.assertFalse(note.exists())

    def test_giant_bodies_are_refused(self):
        head = b"POST /run HTTP/1.1\r\nHost: localhost\r\nXXL-JOB-ACCESS-TOKEN: tok-1\r\n"
        with self.bounded_memory(self.pid):
            heard = self.answers_to(self.port, head + b"Content-Length: 1073741824\r\n\r\n{")
            self.assertRegex(heard, rb"^HTTP/1\.1 413 ")
            self.pour(self.port, head + b"Transfer-Encoding: chunked\r\n\r\n",
                      b"10000\r\n" + b" " * 65536 + b"\r\n")


if __name__ == "__main__":
    harness.main()
