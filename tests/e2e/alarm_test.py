"""People are told of failures, by mail and by a POST, on both stores: once each, also when the job
tracker is killed before, and when a mail server is dead; and of node groups that nobody serves."""

import base64
import contextlib
import email
import email.policy
import http.server
import json
import socket
import socketserver
import threading
import time

import harness
from api_client import Api
from harness import BothStores, E2eTest, wait_for


class _Server:
    """A server of a test's own, in threads that end with the process."""

    def __init__(self, server):
        self.server = server
        self.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class _TcpServer(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


class MailServer(_Server):
    """Speaks as much SMTP as is needed to take mails."""

    def __init__(self, port=0):
        sink = self
        self.mails = []  # (recipients, message)
        self.logins = []

        class Handler(socketserver.StreamRequestHandler):
            def say(self, line):
                self.wfile.write(line.encode() + b"\r\n")

            def handle(self):
                with contextlib.suppress(ConnectionError):
                    self.talk()

            def talk(self):
                self.say("220 sink")
                recipients = []
                while line := self.rfile.readline().decode().strip():
                    word = line.upper().split(" ", 1)[0]
                    if word == "EHLO":
                        self.say("250-sink")
                        self.say("250 AUTH PLAIN")
                    elif word == "AUTH":
                        words = line.split(" ")
                        if len(words) < 3:
                            self.say("334 ")
                            words.append(self.rfile.readline().decode().strip())
                        sink.logins.append(base64.b64decode(words[2]).decode().split("\0")[1:])
                        self.say("235 fine")
                    elif word == "RCPT":
                        recipients.append(line.split("<")[1].split(">")[0])
                        self.say("250 fine")
                    elif word == "DATA":
                        self.say("354 go on")
                        data = b""
                        while (part := self.rfile.readline()) != b".\r\n":
                            data += part[1:] if part.startswith(b".") else part
                        sink.mails.append((recipients, email.message_from_bytes(
                            data, policy=email.policy.default)))
                        self.say("250 taken")
                    elif word == "QUIT":
                        self.say("221 bye")
                        return
                    else:
                        self.say("250 fine")

        super().__init__(_TcpServer(("127.0.0.1", port), Handler))

    def texts(self):
        return [message.get_body(("plain",)).get_content() for _, message in self.mails]


class Hook(_Server):
    """Takes POSTs; answers 500 while `is_broken`."""

    def __init__(self):
        hook = self
        self.posts = []  # (path, body)
        self.refused = 0
        self.is_broken = False

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if hook.is_broken:
                    hook.refused += 1
                else:
                    hook.posts.append((self.path, json.loads(body)))
                self.send_response(500 if hook.is_broken else 204)
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler))

    def url(self, path="/hook"):
        return f"http://127.0.0.1:{self.port}{path}"

    def told(self):
        return [job["task_id"] for _, body in list(self.posts) for job in body["jobs"]]

    def conditions(self):
        return [(one["condition"], one["is_over"])
                for _, body in list(self.posts) for one in body["conditions"]]

    def failures(self):
        return sum(body["failures"] for _, body in list(self.posts))


class Alarms:
    def sink(self, make, *args):
        sink = make(*args)
        self.addCleanup(sink.close)
        return sink

    def owed(self, one):
        return one.number("SELECT COUNT(*) FROM lts_alarm")

    def wait_nothing_owed(self, one):
        wait_for("nothing to be owed", lambda: self.owed(one) == 0)

    def test_a_failure_alarm_is_sent_by_mail_and_webhook(self):
        mails, hook = self.sink(MailServer), self.sink(Hook)
        one = self.cluster(self.store, workers=1, flags=[
            "--smtp", f"smtp://ann:secret@127.0.0.1:{mails.port}",
            "--smtp-from", "scheduler@example.com", "--alarm", hook.url("/all")])
        one.client("submit", "--task-id", "nächtlich", "--alarm",
                   f"ops@example.com,{hook.url('/own')}", "--shell", "echo hin; exit 76")
        one.client("submit", "--task-id", "default", "--shell", "exit 76")
        one.client("submit", "--task-id", "quiet", "--alarm", "none", "--shell", "exit 76")
        one.client("submit", "--task-id", "fine", "--shell", "true")
        for task_id in ("nächtlich", "default", "quiet", "fine"):
            one.wait_ended(task_id)
        wait_for("all messages", lambda: mails.mails and len(hook.posts) >= 2)
        self.wait_nothing_owed(one)
        recipients, mail = mails.mails[0]
        self.assertEqual(recipients, ["ops@example.com"])
        self.assertEqual(mail["Subject"], "[carillon] default: 1 failure of nächtlich")
        self.assertEqual(mail["From"].addresses[0].addr_spec, "scheduler@example.com")
        self.assertRegex(mail["Message-ID"], "^<carillon-[0-9]+@example.com>$")
        self.assertIsNotNone(mail["Date"].datetime)
        self.assertIn("nächtlich: failed", mails.texts()[0])
        self.assertIn("  exit      76", mails.texts()[0])
        self.assertEqual(mails.logins, [["ann", "secret"]])
        self.assertEqual({path: [job["task_id"] for job in body["jobs"]]
                          for path, body in hook.posts},
                         {"/own": ["nächtlich"], "/all": ["default"]})
        self.assertEqual(dict(hook.posts)["/own"]["jobs"][0]["exit_code"], 76)
        self.assertEqual(one.stats()["alarms_sent_total"], 3)

    def test_a_kill_between_failure_and_alarm_loses_no_alarm(self):
        hook = self.sink(Hook)
        hook.is_broken = True
        one = self.cluster(self.store, workers=1,
                           flags=["--alarm", hook.url(), "--alarm-interval", "2s"])
        one.client("submit", "--task-id", "a", "--shell", "exit 76")
        wait_for("the failure to be stored", lambda: self.owed(one) == 1)
        one.tracker.kill()
        one.start_tracker()
        wait_for("a try that fails", lambda: hook.refused >= 1)
        one.tracker.kill()
        hook.is_broken = False
        one.start_tracker()
        self.wait_nothing_owed(one)
        # One that was under way when the hook was mended may have come, too.
        self.assertEqual(set(hook.told()), {"a"})
        self.assertEqual(len({body["alarm_id"] for _, body in hook.posts}), 1)
        self.assertEqual(hook.posts[0][1]["failures"], 1)

    def test_a_storm_of_failures_is_sent_as_few_alarms(self):
        hook = self.sink(Hook)
        one = self.cluster(self.store, flags=["--alarm", hook.url(), "--alarm-interval", "3s"])
        one.start_worker(threads=4)
        one.submit_all([{"task_id": f"job-{i}", "shell": "exit 76"} for i in range(200)])
        wait_for("all failures to be told", lambda: hook.failures() >= 200)
        self.wait_nothing_owed(one)
        self.assertEqual(hook.failures(), 200)
        self.assertLessEqual(max(len(body["jobs"]) for _, body in hook.posts), 20)
        self.assertLess(len(hook.posts), 40)

    def test_a_dead_mail_server_delays_nothing_else(self):
        hook = self.sink(Hook)
        dead = socket.create_server(("127.0.0.1", 0))  # takes connections, and never says a word
        self.addCleanup(dead.close)
        port = dead.getsockname()[1]
        one = self.cluster(self.store, workers=1, flags=["--smtp", f"smtp://127.0.0.1:{port}"])
        one.client("submit", "--task-id", "a", "--alarm", f"ops@example.com,{hook.url()}",
                   "--shell", "exit 76")
        wait_for("the other recipient to be told", lambda: hook.told() == ["a"])
        one.client("submit", "--task-id", "b", "--wait", "--shell", "true")
        wait_for("the mail alone to be owed", lambda: self.owed(one) == 1)
        one.tracker.kill()
        dead.close()
        mails = self.sink(MailServer, port)
        one.start_tracker()
        wait_for("the mail", lambda: mails.mails)
        self.wait_nothing_owed(one)
        self.assertEqual(hook.told(), ["a"])

    def test_unserved_and_backlog_alarms_are_sent_at_start_and_end(self):
        hook = self.sink(Hook)
        one = self.cluster(self.store, flags=[
            "--alarm", hook.url(), "--alarm-interval", "2s", "--alarm-when", "unserved=10s",
            "--alarm-when", "backlog=3", "--alarm-when", "reports/backlog=1"])
        one.submit_all([{"task_id": f"job-{i}", "shell": "true"} for i in range(3)])
        one.client("submit", "--group", "reports", "--task-id", "r", "--shell", "true")
        began = [("backlog", False), ("backlog", False), ("unserved", False), ("unserved", False)]
        wait_for("both groups to be told of", lambda: sorted(hook.conditions()) == began, 60)
        one.start_worker()
        wait_for("the end of it in one", lambda: len(hook.conditions()) == 6, 60)
        told = [body for _, body in hook.posts if body["group"] == "default"]
        self.assertEqual(told[0]["text"],
                         "[carillon] default: backlog: 3 due jobs (limit 3 jobs)")
        self.assertEqual(told[1]["text"], "[carillon] default: unserved: 0 task trackers, "
                                          "3 due jobs (limit 10s)")
        self.assertIn("unserved is over after", told[2]["text"])
        self.assertIn("backlog is over after", told[2]["text"])
        self.assertEqual(hook.failures(), 0)
        self.assertEqual(self.owed(one), 0)

    def test_alarms_are_sent_for_overload_and_for_output_text(self):
        hook = self.sink(Hook)
        one = self.cluster(self.store, flags=[
            "--alarm", hook.url(), "--alarm-interval", "2s", "--alarm-when", "overload=10s",
            "--alarm-when", "output=no such|disk full"])
        busy = one.start_worker("--memory-max", "1")
        one.start_worker()
        one.client("submit", "--task-id", "copy", "--wait", "--shell", "echo the disk full of it")
        began = [("output", False), ("overload", False)]
        wait_for("both to be told of", lambda: sorted(hook.conditions()) == began, 60)
        told = {one["condition"]: one["text"] for _, body in hook.posts for one in body["conditions"]}
        self.assertRegex(told["overload"], rf"^overload: 1 of 2 task trackers: {busy.node} "
                                           r"\(memory \d+%\) \(limit 10s\)$")
        self.assertRegex(told["output"], r"^output: 'disk full' from copy, job \d+$")
        self.assertEqual(busy.stop(), 0)
        wait_for("the end of it", lambda: ("overload", True) in hook.conditions(), 60)

    def test_a_silenced_group_sends_nothing_and_what_was_sent_is_kept(self):
        hook = self.sink(Hook)
        one = self.cluster(self.store, tracker=False, flags=[
            "--alarm", hook.url("/secret"), "--alarm-interval", "2s", "--alarm-when", "late=1h",
            "--http", "127.0.0.1:0"])
        url = one.start_tracker().ready()["http"]
        token = one.client("-o", "json", "tokens", "new", "ops", "--role", "admin").json()["token"]
        api = Api(url, token)
        wait_for("the token to be known", lambda: api.get("/whoami").status == 200)
        one.start_worker()
        until = "2099-01-01T00:00:00Z"
        self.assertIn("in the next 366 days", api.call("PUT", "/alarms/silences/default", {"until": until}).text)
        until = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(time.time() + 3600))
        self.assertEqual(api.call("PUT", "/alarms/silences/default", {"until": until}).status, 200)
        one.tracker.kill()
        api = Api(one.start_tracker().ready()["http"], token)
        self.assertEqual([(row["group"], row["state"], row["until"][:19]) for row in api.get("/alarms").json["items"]],
                         [("default", "silenced", until[:19])])
        one.client("submit", "--task-id", "quiet", "--shell", "exit 76")
        one.wait_ended("quiet")
        one.client("alarms", "unsilence", "default")
        self.assertEqual(one.rows("alarms"), [])
        one.client("submit", "--task-id", "loud", "--shell", "exit 76")
        wait_for("the message", lambda: hook.told() == ["loud"])
        wait_for("its history", lambda: one.rows("alarms", "--history"))
        one.tracker.kill()
        api = Api(one.start_tracker().ready()["http"], token)
        host = f"http://127.0.0.1:{hook.port}"
        sent = api.get("/alarms/history").json["items"]
        self.assertEqual([(row["group"], row["rule"], row["state"], row["recipients"]) for row in sent],
                         [("default", "loud", "delivered", [host])])
        self.assertEqual(sent[0]["message"], "[carillon] default: 1 failure of loud")
        self.assertEqual(api.get("/alarms/rules").json["items"][0]["recipients"], [host])
        self.assertEqual(hook.told(), ["loud"])

    def test_a_test_message_says_what_became_of_it(self):
        hook = self.sink(Hook)
        one = self.cluster(self.store)
        self.assertEqual(one.client("alarms", "test", hook.url("/secret")).out.strip(),
                         f"test message delivered to http://127.0.0.1:{hook.port}")
        self.assertEqual([path for path, _ in hook.posts], ["/secret"])
        self.assertEqual(hook.conditions(), [("test", False)])
        hook.is_broken = True
        for recipient, why in ((hook.url(), "answered with status 500"),
                               ("http://169.254.169.254/latest/meta-data", "169.254.169.254"),
                               ("ops@example.com", "no mail server is configured"),
                               ("nonsense", "nonsense")):
            self.assertIn(why, one.client("alarms", "test", recipient, status=None).err)
            self.assertNotEqual(one.client("alarms", "test", recipient, status=None).status, 0)
        self.assertEqual([row["outcome"][:7] for row in one.rows("audit", "--limit", 0)
                          if row["action"] == "test_alarm"], ["refused"] * 8 + ["done"])

    def test_an_invalid_alarm_rule_is_refused(self):
        for flags, word in ((["--alarm-when", "late=5m"], "--alarm-when is given without a recipient"),
                            (["--alarm", "a@b.example", "--alarm-when", "late=5m"],
                             "'a@b.example' needs a mail server (give one with --smtp"),
                            (["--alarm", "a@b.example"], "needs a mail server"),
                            (["--smtp-from", "foo"], "not a mail address"),
                            (["--alarm", "a@b.example", "--alarm-when", "late=5"], "late=5"),
                            (["--alarm", "a@b.example", "--alarm-when", "x=5m"], "unserved=TIME")):
            tracker = self.cluster(tracker=False).start_tracker(*flags, wait=False)
            self.assertEqual(tracker.wait(), 2)
            self.assertIn(word, tracker.log())


class AlarmsOnSqlite(Alarms, BothStores, E2eTest):
    store_name = "sqlite"


class AlarmsOnMariadb(Alarms, BothStores, E2eTest):
    store_name = "mariadb"

    def test_alarms_are_not_sent_again_after_a_rebalance(self):
        hook = self.sink(Hook)
        one = self.cluster(self.store, flags=[
            "--name", "first", "--alarm", hook.url(), "--alarm-interval", "2s",
            "--alarm-when", "backlog=3"])
        first, first_port = one.tracker, one.port
        self.addCleanup(first.kill)
        for group in ("a", "b"):
            one.submit_all([{"group": group, "task_id": f"job-{i}", "shell": "true"}
                            for i in range(3)])
        wait_for("both groups to be told of", lambda: len(hook.conditions()) == 2, 60)
        # Another that tells nobody: what comes is of the first one.
        one.flags, one.port = ["--name", "second"], harness.free_port()
        one.start_tracker()
        wait_for("the groups to be divided", lambda: one.number(
            "SELECT COUNT(DISTINCT p.owner) FROM lts_node_group g "
            "JOIN lts_partition p ON p.partition_id = g.group_id % 64") == 2)
        self.assertIn("rebalanced the node groups", first.log())
        time.sleep(13)  # a look, and a message
        self.assertEqual(hook.conditions(), [("backlog", False)] * 2)
        for group in ("a", "b"):
            one.start_worker("--group", group, "--tracker",
                             f"tcp://127.0.0.1:{first_port},tcp://127.0.0.1:{one.port}")
        wait_for("the end in the group that it kept",
                 lambda: hook.conditions()[2:] == [("backlog", True)], 60)


if __name__ == "__main__":
    harness.main()
