"""jobclient --http at a real job tracker: its verbs with an API token, refused tokens, the outbox, TLS, and
a job tracker that is killed."""

import collections
import http.client
import json
import subprocess
import threading

import harness
from harness import BIN, E2eTest, wait_for

FRAME = "application/vnd.carillon.frame"
ERROR, SUBMIT, ACT, QUERY, ROWS, REGISTER = 0, 1, 3, 5, 6, 7  # types of messages


def packed(value):
    """Small values as MessagePack."""
    if isinstance(value, int):
        return bytes([value])
    if isinstance(value, str):
        return bytes([0xd9, len(value)]) + value.encode()
    if isinstance(value, dict):
        return bytes([0x80 + len(value)]) + b"".join(packed(key) + packed(one) for key, one in value.items())
    return bytes([0x90 + len(value)]) + b"".join(map(packed, value))


class HttpTest(E2eTest):
    GROUPS = ("--group", "default", "--group", "ops-*")

    def setUp(self):
        super().setUp()
        self.http_port = harness.free_port()
        self.url = f"http://127.0.0.1:{self.http_port}"
        self.one = self.cluster(flags=self.tracker_flags())
        self.make_token("editor", "--role", "editor", *self.GROUPS)

    def tracker_flags(self):
        return ("--http", f"127.0.0.1:{self.http_port}")

    def make_token(self, name, *flags):
        token = self.one.client("-o", "json", "tokens", "new", name, *flags).json()["token"]
        self.write_token(name, token)
        wait_for("the token to be known", lambda: self.http("whoami", token=name, status=None).status == 0)

    def write_token(self, name, token):
        path = self.folder / f"{name}.token"
        path.write_text(token + "\n", encoding="ascii")
        path.chmod(0o600)

    def connection(self, token="editor"):
        return "--http", self.url, "--token-file", self.folder / f"{token}.token"

    def http(self, *args, token="editor", **kwargs):
        # Without the address for ZeroMQ, which --http must not need.
        return self.one.client(*self.connection(token), *args,
                               env={"CARILLON_TRACKER": "tcp://127.0.0.1:1", **kwargs.pop("env", {})},
                               **kwargs)

    def rows(self, verb, *args, **kwargs):
        return self.http(*verb.split(), "-o", "jsonl", *args, **kwargs).lines()


class Verbs(HttpTest):
    def test_jobs_run_and_are_shown(self):
        self.one.start_worker()
        waited = self.http("submit", "--wait", "--task-id", "once", "--", "sh", "-c", "echo hello; exit 3", status=3)
        self.assertEqual(waited.out, "hello\n")
        self.http("submit", "--task-id", "slow", "--", "sh", "-c", "for i in 1 2 3; do echo $i; sleep 0.5; done")
        self.assertEqual(self.http("logs", "-f", "slow").out, "1\n2\n3\n")
        self.assertEqual({row["task_id"] for row in self.rows("history")}, {"once", "slow"})
        self.assertEqual(self.rows("whoami")[0]["role"], "editor")
        self.assertEqual(len(self.rows("nodes")), 1)
        self.assertEqual([row["group"] for row in self.rows("groups")], ["default"])
        self.assertIn("editor", {row["by"] for row in self.rows("audit")})
        self.http("stats")
        self.http("report")

    def test_definitions_are_changed(self):
        self.http("submit", "--task-id", "nightly", "--group", "ops-1", "--cron", "0 3 * * *", "--script", "-",
                  "--language", "bash", stdin="echo one\n")
        of = ("nightly", "--group", "ops-1")
        self.assertEqual([row["task_id"] for row in self.rows("list")], ["nightly"])
        self.assertIn("0 3 * * *", self.http("show", *of).out)
        self.http("scripts", "set", *of, "--file", "-", stdin="echo two\n")
        self.assertEqual(len(self.rows("scripts list", *of)), 2)
        self.assertIn("echo two", self.http("scripts", "show", *of).out)
        for verb in ("suspend", "resume", "trigger"):
            self.http(verb, *of)
        self.assertEqual([row["task_id"] for row in self.rows("waiting") if row["state"] != "delayed"], ["nightly"])
        self.http("kill", *of, status=4)  # Nothing runs.
        self.http("cancel", *of)
        self.http("show", *of, status=4)
        crontab = self.folder / "crontab"
        crontab.write_text("5 4 * * * /bin/true\n", encoding="ascii")
        self.http("import", "crontab", crontab, "--personal", "--apply")
        self.assertEqual(len(self.rows("list")), 1)

    def test_lines_are_submitted_and_their_results_fetched(self):
        self.one.start_worker()
        jobs = [{"task_id": f"job-{i}", "handler": "noop", "need_feedback": True, "client_group": "default"}
                for i in range(2500)]
        answers = self.http("submit", "-o", "jsonl", "--stdin",
                            stdin="".join(json.dumps(job) + "\n" for job in jobs)).lines()
        self.assertEqual([one["task_id"] for one in answers], [job["task_id"] for job in jobs])
        self.assertEqual({one["status"] for one in answers}, {"accepted"})
        results = self.rows("feedback", "--client-group", "default", "--limit", len(jobs), patience=120)
        self.assertEqual(len({one["task_id"] for one in results}), len(jobs))

    def test_a_listener_blocks_nothing(self):
        listener = harness.Program([BIN / "jobclient", *self.connection(), "feedback", "--client-group", "default"],
                                   self.one.folder / "logs/listener.log", self.one.env, "listener")
        self.addCleanup(listener.kill)
        for _ in range(5):
            self.http("list", patience=9)
        self.assertTrue(listener.is_running())

    def test_an_administrator_manages_tokens(self):
        self.make_token("root", "--role", "admin")
        made = self.http("tokens", "new", "second", "--role", "viewer", "--group", "*", "-o", "json", token="root").json()
        self.write_token("second", made["token"])
        self.assertIn("second", {row["name"] for row in self.rows("tokens list", token="root")})
        wait_for("the token to be known", lambda: self.http("whoami", token="second", status=None).status == 0)
        self.http("tokens", "revoke", "second", token="root")
        wait_for("its end", lambda: self.http("whoami", token="second", status=None).status == 1)
        self.http("tokens", "list", status=1)

    def test_an_administrator_manages_groups_scripts_users_and_history(self):
        self.make_token("root", "--role", "admin")
        self.one.start_worker()

        def root(*args, **kwargs):
            return self.http(*args, token="root", **kwargs)

        root("groups", "add", "executors", "--executor", "--address", "http://127.0.0.1:9")
        self.assertIn("executors", {row["group"] for row in self.rows("groups", token="root")})
        root("groups", "remove", "executors")
        root("submit", "--task-id", "split", "--group", "wide", "--manual", "--", "true")
        self.assertIn("only with a MariaDB or MySQL store",
                      root("groups", "split", "wide", "--parts", "2", status=1).err)
        root("submit", "--task-id", "text", "--manual", "--script", "-", "--language", "bash", stdin="sleep 60\n")
        root("scripts", "set", "text", "--file", "-", stdin="true\n")
        versions = [row["version"] for row in self.rows("scripts list", "text", token="root")]
        root("scripts", "restore", "text", "--number", versions[-1])
        self.assertIn("sleep 60", root("scripts", "show", "text").out)
        root("trigger", "text")
        wait_for("the run", lambda: self.rows("executing", token="root"))
        root("kill", "text")
        wait_for("the end", lambda: [row["state"] for row in self.rows("history", token="root")] == ["killed"])
        root("clean", "--all")
        self.assertEqual(self.rows("history", token="root"), [])
        root("users", "new", "ann", "--role", "viewer", "--group", "*", "--no-password")
        root("users", "change", "ann", "--role", "operator", "--group", "*")
        self.assertEqual([row["role"] for row in self.rows("users list", token="root")], ["operator"])
        root("users", "remove", "ann")
        self.assertEqual(self.rows("keys list", token="root"), [])
        self.assertIn("default", {row["group"] for row in self.rows("top", "--once", token="root")})


class Refused(HttpTest):
    def test_tokens(self):
        self.write_token("wrong", "crl_" + "x" * 40)
        self.assertIn("access denied", self.http("list", token="wrong", status=1).err)
        self.one.client("tokens", "revoke", "editor")
        wait_for("its end", lambda: self.http("list", status=None).status == 1)
        self.assertIn("access denied", self.http("submit", "--", "true", status=1).err)

    def test_other_groups_are_denied(self):
        self.http("submit", "--group", "billing", "--", "true", status=1)
        self.assertEqual(self.one.rows("waiting"), [])

    def test_wrong_usage_is_explained(self):
        token = ("--token-file", self.folder / "editor.token")
        for args, why in ((("--http", self.url), "tokens new"),
                          (("--http", "http://10.255.255.1:1", *token), "--insecure"),
                          (("--http", "nowhere", *token), "http://HOST:PORT"),
                          (("--http", self.url, *token, "--tracker", "tcp://127.0.0.1:1"), "contradict"),
                          (("--http", self.url, *token, "--keys", "keys"), "contradict"),
                          (("--http", self.url, "--token-file", self.folder / "none"), "none")):
            with self.subTest(args):
                self.assertIn(why, self.one.client("list", *args, status=2).err)
        (self.folder / "editor.token").chmod(0o644)
        self.http("list", status=2)

    def test_nobody_is_there(self):
        self.one.tracker.kill()
        said = self.http("list", "--connect-timeout", "500ms", status=3).err
        self.assertIn(f"no job tracker reachable at {self.url} within 500ms", said)


    def test_frames_are_checked(self):
        token = (self.folder / "editor.token").read_text(encoding="ascii").strip()

        def ask(*message, kind=FRAME):
            connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=30)
            connection.request("POST", "/api/v1/frames", packed([1, message[0], 7, *message[1:]]),
                               {"Authorization": f"Bearer {token}", "Content-Type": kind})
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            return answer, content

        answer, content = ask(QUERY, {"what": "whoami"})
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, FRAME))
        self.assertEqual(content[:4], bytes([0x94, 1, ROWS, 7]))
        behalf = {"kind": "token", "name": "root", "role": "admin", "groups": ["*"]}
        for message, why in (((REGISTER, {"session": 1}), b"job clients"),
                             ((QUERY, {"what": "whoami"}, behalf), b"requests of others"),
                             ((ACT, {"verb": 0, "task_id": "x"}), b"number"),
                             ((SUBMIT, {"jobs": []}), b"number"),
                             ((QUERY, {"what": 7}), b"Query.what")):
            with self.subTest(message):
                answer, content = ask(*message)
                self.assertEqual((answer.status, content[:4]), (200, bytes([0x94, 1, ERROR, 7])))
                self.assertIn(why, content)
        self.assertEqual(ask(QUERY, {"what": "whoami"}, kind="application/json")[0].status, 415)


class Killed(HttpTest):
    def test_each_line_becomes_one_job(self):
        count = 20_000
        lines = "".join(json.dumps({"task_id": f"job-{i}", "at": "2090-01-01T00:00:00Z", "shell": "true"}) + "\n"
                        for i in range(count))
        client = subprocess.Popen([BIN / "jobclient", *map(str, self.connection()), "-o", "jsonl", "submit", "--stdin"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.one.env)
        self.addCleanup(client.kill)
        threading.Thread(target=lambda: (client.stdin.write(lines), client.stdin.close()), daemon=True).start()
        answers = [json.loads(client.stdout.readline())]
        self.one.tracker.kill()
        self.one.start_tracker()
        answers += [json.loads(line) for line in client.stdout]
        self.assertEqual(client.wait(), 0)
        client.stdout.close()
        self.assertEqual(collections.Counter(one["status"] for one in answers), {"accepted": count})
        self.assertEqual(len({one["job_id"] for one in answers}), count)
        self.assertEqual(self.one.number("SELECT COUNT(*) FROM lts_delayed_job_queue"), count)

    def test_stored_jobs_are_delivered(self):
        self.one.tracker.kill()
        for i in range(3):
            answer = self.http("submit", "--offline", "--task-id", f"kept-{i}", "--connect-timeout", "300ms",
                               "-o", "json", "--", "true").json()
            self.assertEqual(answer["status"], "stored")
        self.one.start_tracker()
        self.assertIn("stored jobs delivered: 3", self.http("list").err)
        self.assertEqual({row["task_id"] for row in self.rows("waiting")}, {f"kept-{i}" for i in range(3)})


class Encrypted(HttpTest):
    def setUp(self):
        self.certificate = None
        super().setUp()

    def tracker_flags(self):
        self.certificate = self.folder / "certificate.pem"
        harness.make_certificate(self.certificate)
        self.url = f"https://127.0.0.1:{self.http_port}"
        return (*super().tracker_flags(), "--http-cert", self.certificate, "--http-key", f"{self.certificate}.key")

    def connection(self, token="editor"):
        return (*super().connection(token), "--ca", self.certificate)

    def test_the_certificate_is_checked(self):
        self.assertEqual(self.rows("whoami")[0]["name"], "editor")
        self.http("submit", "--", "true")
        said = self.one.client("list", *super().connection(), "--connect-timeout", "1s", status=3).err
        self.assertIn("certificate", said)


if __name__ == "__main__":
    harness.main()
