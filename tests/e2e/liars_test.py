#!/usr/bin/env python3
"""Executors that lie and peers that mean harm: what a job tracker believes, and what it refuses."""

import http.client
import http.server
import json
import socket
import ssl
import tempfile
import threading
import time

import harness
from harness import E2eTest, free_port, make_certificate, wait_for

APP = "billing"
TOKEN = "tok-1"
TAKEN = {"code": 200, "msg": None}


class Executor:
    """One that answers as it is told to, and says only what it is told to say."""

    def __init__(self, certificate=None):
        self.answers = {}  # by path: a status and a text, or something to be sent as JSON
        self.calls = []    # (path, body)
        executor = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or "{}")
                executor.calls.append((self.path, body))
                answer = executor.answers.get(self.path, TAKEN)
                status, text = answer if isinstance(answer, tuple) else (200, json.dumps(answer))
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("Location", text)
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            do_GET = do_POST

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # a peer that does not trust the certificate

        self.server = Server(("127.0.0.1", 0), Handler)
        scheme = "http"
        if certificate:
            scheme = "https"
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.address = f"{scheme}://127.0.0.1:{self.server.server_address[1]}/"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def runs(self):
        return [body for path, body in self.calls if path == "/run"]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class LiarTest(E2eTest):
    flags = ("--xxl-token", TOKEN)

    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.one = self.cluster(flags=["--xxl-listen", f"127.0.0.1:{self.port}", *self.flags])

    def send(self, path, body, token=TOKEN, **headers):
        """Status and text of the answer to bytes that an executor, or somebody else, sends."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE)
        try:
            connection.request("POST", path, body, {"XXL-JOB-ACCESS-TOKEN": token, **headers})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def say(self, path, body):
        status, text = self.send(path, json.dumps(body))
        self.assertEqual(status, 200)
        return json.loads(text)

    def register(self, address):
        return self.say("/api/registry", {"registryGroup": "EXECUTOR", "registryKey": APP,
                                          "registryValue": address})

    def executor(self, certificate=None):
        made = Executor(certificate)
        self.addCleanup(made.close)
        self.assertEqual(self.register(made.address)["code"], 200)
        return made

    def tell(self, log_id, code, message=None):
        answer = self.say("/api/callback", [{"logId": log_id, "handleCode": code, "handleMsg": message}])
        self.assertEqual(answer["code"], 200, answer)

    def push(self, task_id, *flags):
        self.one.submit("--task-id", task_id, "--group", APP, "--dispatch", "push", "--handler", "x", *flags)

    def run_of(self, executor, number=0):
        """A run that it was given; none may be there before."""
        return wait_for("a run", lambda: executor.runs()[number:])[0]


class Lies(LiarTest):
    def pair(self):
        """The one that FIRST calls first, and another."""
        return sorted((self.executor(), self.executor()), key=lambda each: each.address)

    def test_the_first_result_counts_and_unknown_results_change_nothing(self):
        executor = self.executor()
        self.push("once")
        log_id = self.run_of(executor)["logId"]
        for strange in (0, -1, 1, log_id + 64, 2**63 - 1, -2**63):
            self.tell(strange, 200)
        for nonsense in ([{"logId": "seven", "handleCode": 200}], [{"handleCode": 200}], [7], []):
            self.assertEqual(self.say("/api/callback", nonsense)["code"], 200)
        self.assertEqual(self.one.history("once"), [])
        self.tell(log_id, 500, "no luck")
        self.tell(log_id, 200, "luck after all")
        self.tell(log_id, 500, "no luck")
        rows = self.one.history("once")
        self.assertEqual([(row["state"], row["message"]) for row in rows], [("failed", "no luck")])

    def test_a_result_counts_despite_odd_times_and_messages(self):
        executor = self.executor()
        cases = {
            "time": ({"logDateTim": "2026-01-01 00:00:00", "handleMsg": "done"}, "done"),
            "object": ({"handleMsg": {"rows": 14}}, '{"rows":14}'),
            "number": ({"handleMsg": 14}, "14"),
            "null": ({"handleMsg": None}, ""),
            "surrogate": ({"handleMsg": "bad \udce9 name"}, "bad \ufffd name"),
        }
        log_ids = {}
        for number, name in enumerate(cases):
            self.push(name)
            log_ids[name] = self.run_of(executor, number)["logId"]
        results = [{"logId": log_ids[name], "handleCode": 200, **fields}
                   for name, (fields, _) in cases.items()]
        self.assertEqual(self.say("/api/callback", results)["code"], 200)
        for name, (_, message) in cases.items():
            with self.subTest(name):
                row = self.one.wait_ended(name)
                self.assertEqual((row["state"], row["message"]), ("succeeded", message))

    def test_refused_calls_are_rerouted_but_unreadable_answers_are_not(self):
        liar, other = self.pair()
        trap = self.executor()
        self.say("/api/registryRemove", {"registryGroup": "EXECUTOR", "registryKey": APP,
                                         "registryValue": trap.address})
        refusals = {"array": [{"logId": 1, "handleCode": 500, "handleMsg": "busy"}],
                    "refusal": {"code": 500, "msg": "not today"}, "missing": (404, "<html>"),
                    "redirection": (302, trap.address + "run")}
        for number, (name, answer) in enumerate(refusals.items()):
            with self.subTest(name):
                liar.answers["/run"] = answer
                self.push(name, "--route", "FIRST")
                self.tell(self.run_of(other, number)["logId"], 200)
                self.assertEqual(self.one.wait_ended(name)["state"], "succeeded")
                self.register(liar.address)  # whoever refuses comes last until then
        self.assertEqual(trap.calls, [])
        self.assertEqual(len(liar.runs()), len(refusals))
        liar.answers["/run"] = (200, "<html>fine</html>")
        self.push("unknown", "--route", "FIRST")
        call = self.run_of(liar, len(refusals))
        time.sleep(3)  # longer than a call may take
        self.assertEqual(len(other.runs()), len(refusals))
        self.tell(call["logId"], 200, "it ran")
        row = self.one.wait_ended("unknown")
        self.assertEqual((row["state"], row["attempt"], row["message"]), ("succeeded", 1, "it ran"))

    def test_kill_and_timeout_do_not_depend_on_the_executor(self):
        executor = self.executor()
        self.push("killed")
        self.run_of(executor)
        self.one.client("kill", "killed", "--group", APP)
        self.assertEqual(self.one.wait_ended("killed")["state"], "killed")
        self.push("late", "--timeout", "1s")
        self.assertEqual(self.one.wait_ended("late")["state"], "timed_out")
        self.assertEqual([path for path, _ in executor.calls].count("/kill"), 2)

    def test_serial_execution_does_not_depend_on_the_executor(self):
        both = self.pair()  # which take everything, and call themselves idle

        def new_run(told):
            ids = wait_for("a run", lambda: {call["logId"] for each in both for call in each.runs()} - told)
            self.assertEqual(len(ids), 1)
            told |= ids
            return ids.pop()

        told = set()
        for strategy in ("SERIAL_EXECUTION", "COVER_EARLY"):
            self.push(strategy, "--manual", "--route", "ROUND", "--block", strategy)
        trigger = lambda strategy: self.one.client("trigger", strategy, "--group", APP)
        for _ in range(3):
            trigger("SERIAL_EXECUTION")
        for _ in range(3):
            self.tell(new_run(told), 200)
        for _ in range(3):
            trigger("COVER_EARLY")
            last = new_run(told)
        self.tell(last, 200)
        for strategy, ends in (("SERIAL_EXECUTION", ["succeeded"] * 3),
                               ("COVER_EARLY", ["killed", "killed", "succeeded"])):
            wait_for("the ends", lambda: len(self.one.history(strategy)) == 3)
            rows = sorted(self.one.history(strategy), key=lambda row: row["started_at"])
            self.assertEqual([row["state"] for row in rows], ends)
            for earlier, later in zip(rows, rows[1:]):
                self.assertLessEqual(earlier["ended_at"], later["started_at"])


class Harm(LiarTest):
    def begin(self, size):
        """A connection on which a request of so many bytes has begun."""
        peer = socket.create_connection(("127.0.0.1", self.port), timeout=harness.PATIENCE)
        self.addCleanup(peer.close)
        peer.sendall(b"POST /api/callback HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size)
        return peer

    def test_malicious_requests_are_refused_and_delay_no_others(self):
        executor = self.executor()
        for _ in range(200):
            self.begin(100_000).sendall(b"[{")  # and never more
        self.assertTrue(self.begin(5 * 1024 * 1024 + 1).recv(100).startswith(b"HTTP/1.1 413 "))
        for path, body, why in (
                ("/api/registry", b"{", "the body is not JSON"),
                ("/api/registry", b"\xff\xfe\x00", "the body is not JSON"),
                ("/api/callback", b"[" * 100_000, "openapi invoke error"),
                ("/api/callback", b'{"callbackList":7}', "not a JSON array"),
                ("/api/nope", b"{}", "uri-mapping(nope) not found")):
            status, text = self.send(path, body)
            self.assertEqual(status, 200)
            self.assertIn(why, text)
        for address in ("http://169.254.169.254/latest/meta-data/", "http://[fe80::1]/", "http://2852039166/",
                        "http://100.100.100.200/", "http://[64:ff9b::a9fe:a9fe]/", "http://[::169.254.169.254]/", "file:///etc/passwd", "http://user@10.0.0.1/",
                        "http://10.0.0.1/\r\nX: y"):
            self.assertEqual(self.register(address)["code"], 500, address)
        for _ in range(300):
            status, text = self.send("/api/callback", b'[{"logId":1,"handleCode":200}]', token="wrong")
            self.assertEqual((status, json.loads(text)["msg"]), (200, "The access token is wrong."))
        for number in range(300):
            self.tell(number, 200)
        self.push("beside")
        self.tell(self.run_of(executor)["logId"], 200)
        self.assertEqual(self.one.wait_ended("beside")["state"], "succeeded")
        self.assertEqual([row["address"] for row in self.one.rows("nodes")], [executor.address])
        refused = [line for line in self.one.tracker.log().splitlines() if "rejected a request" in line]
        self.assertTrue(refused)
        self.assertLess(len(self.one.tracker.log().splitlines()), 100)


class Apps(LiarTest):
    """Groups that have tokens of their own, under a job tracker that has none."""

    flags = ()
    OTHER = "mail"

    def ask(self, path, body, app, token):
        status, text = self.send(path, json.dumps(body), token, **({"XXL-JOB-APPNAME": app} if app else {}))
        self.assertEqual(status, 200)
        return json.loads(text)["code"]

    def test_an_app_is_accepted_with_its_own_token_only(self):
        executors = {app: Executor() for app in (APP, self.OTHER)}
        for app, executor in executors.items():
            self.addCleanup(executor.close)
            self.one.client("groups", "add", app, "--executor", "--address", executor.address,
                            "--token", f"secret-{app}")
        intruder = {"registryGroup": "EXECUTOR", "registryKey": APP, "registryValue": "http://127.0.0.1:9/"}
        job = {"name": "x", "scheduleType": "NONE", "executorHandler": "x"}
        for app, token in ((APP, "wrong"), (APP, ""), (None, "wrong"), (None, ""),
                           (self.OTHER, f"secret-{self.OTHER}"), (self.OTHER, f"secret-{APP}")):
            with self.subTest(app=app, token=token):
                self.assertEqual(self.ask("/api/registry", intruder, app, token), 500)
                if app == APP:
                    self.assertEqual(self.ask("/api/addJob", job, app, token), 500)
        self.push("mine")
        log_id = self.run_of(executors[APP])["logId"]
        for app, token in ((self.OTHER, f"secret-{self.OTHER}"), (None, ""), (None, "wrong")):
            result = [{"logId": log_id, "handleCode": 500, "handleMsg": "stolen"}]
            self.assertEqual(self.ask("/api/callback", result, app, token), 200)
        self.assertEqual(self.one.history("mine"), [])
        result = [{"logId": log_id, "handleCode": 200, "handleMsg": "done"}]
        self.assertEqual(self.ask("/api/callback", result, None, f"secret-{APP}"), 200)
        row = self.one.wait_ended("mine")
        self.assertEqual((row["state"], row["message"]), ("succeeded", "done"))
        self.assertEqual(sorted(row["address"] for row in self.one.rows("nodes")),
                         sorted(each.address for each in executors.values()))


class Https(LiarTest):
    """Executors at https:// addresses."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="carillon-e2e-")
        self.addCleanup(folder.cleanup)
        self.certificate = folder.name + "/one.pem"
        self.stranger = folder.name + "/two.pem"
        for path in (self.certificate, self.stranger):
            make_certificate(path)
        self.flags = (*self.flags, "--xxl-ca", self.certificate)
        super().setUp()

    def test_only_executors_with_a_trusted_certificate_are_called(self):
        trusted = self.executor(self.certificate)
        self.push("safe")
        self.tell(self.run_of(trusted)["logId"], 200, "fine")
        row = self.one.wait_ended("safe")
        self.assertEqual((row["state"], row["node"]), ("succeeded", trusted.address))
        self.say("/api/registryRemove", {"registryGroup": "EXECUTOR", "registryKey": APP,
                                         "registryValue": trusted.address})
        stranger = self.executor(self.stranger)
        self.push("unsafe")
        row = self.one.wait_ended("unsafe")
        self.assertEqual(row["state"], "failed")
        self.assertIn("its certificate is not trusted", row["message"])
        self.assertEqual(stranger.calls, [])


if __name__ == "__main__":
    harness.main()
