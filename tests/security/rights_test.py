"""Roles and node groups: each request of the protocol, by each role, within its node groups and
outside, over ZeroMQ; management calls over HTTP; and what revoking ends. On both stores."""

import http.client
import json
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
from harness import SOURCE, BothStores, E2eTest, wait_for  # noqa: E402
from wire import DENIED, ERROR, ROWS, Peer  # noqa: E402

ROLES = ("viewer", "operator", "editor", "worker", "admin")
RIGHTS = {"any": ROLES, "read": ("viewer", "operator", "editor", "admin"),
          "operate": ("operator", "editor", "admin"), "edit": ("editor", "admin"),
          "work": ("worker", "admin"), "administer": ("admin",)}
MINE, THEIRS = "billing-eu", "payroll"
HASH = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def requests():
    """(request, right, scope) of the table in docs/reference/access.md."""
    page = (SOURCE / "docs/reference/access.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `([A-Za-z_ ]+)` \| (\w+) \| (\w+) \|$", page, re.MULTILINE)


class Request:
    """A request of the table, about a node group. Nothing that it asks for is done: it has a field that
    is refused after the check of the rights, or names what does not exist."""

    verbs = ("cancel", "suspend", "resume", "trigger", "kill", "add_executors", "split_group",
             "clean_history", "set_script", "remove_group", "drain_node", "isolate_node",
             "release_node", "set_priority", "silence", "test_alarm", "tag", "untag")
    sequence = 0

    def __init__(self, name, group):
        self.message, _, self.what = name.partition(" ")
        self.group = group

    def number(self):
        Request.sequence += 1
        return {"client": 77, "sequence": Request.sequence}

    def body(self):
        session = {"session": 4711}
        return {
            "Submit": lambda: {"request": self.number(), "jobs": [{"task_id": "x" * 300, "group": self.group}]},
            "Act": lambda: {"request": self.number(), "verb": self.verbs.index(self.what), "group": self.group,
                            "task_id": "nothing", "parts": 3, "addresses": ["nonsense"], "until": 1},
            "Query": lambda: {"what": self.what, "group": self.group, "task_id": "nothing", "job_id": 1},
            "Register": lambda: {**session, "name": "", "group": self.group},
            "Pull": lambda: session, "Report": lambda: session, "GiveBack": lambda: session,
            "Output": lambda: session, "Bye": lambda: session,
            "FetchFeedback": lambda: {"client_group": self.group, "listener": 1},
            "PutPrincipal": lambda: {"kind": "token", "name": "-", "role": "viewer", "groups": ["x"]},
            "RemovePrincipal": lambda: {"kind": "token", "name": "nobody"},
        }[self.message]()


class Rights(BothStores):
    def setUp(self):
        super().setUp()
        self.keys = self.folder / "keys"
        self.one = self.cluster(self.store, tracker=False)
        self.one.client("keys", "new", self.keys)
        self.one.flags += ["--keys", str(self.keys)]
        self.one.env["CARILLON_KEYS"] = str(self.keys)
        self.one.start_tracker()

    def new_key(self, name, role, *groups):
        folder = self.folder / name
        flags = [flag for group in groups for flag in ("--group", group)]
        self.one.client("keys", "new", name, "--role", role, *flags, "--to", folder)
        return folder

    def peer(self, keys):
        peer = Peer(self.one.port, keys)
        self.addCleanup(peer.close)
        return peer

    def all_rows(self, peer, what):
        rows, after = [], ""
        while True:
            kind, body = peer.ask("Query", {"what": what, "after": after})
            self.assertEqual(kind, ROWS, (what, body))
            rows += body.get("rows", [])
            after = body.get("next", "")
            if not after:
                return rows

    def is_denied(self, peer, request, group):
        answer = peer.ask(request.split()[0], Request(request, group).body(), patience=12)
        self.assertIsNotNone(answer, request)
        kind, body = answer
        return kind == ERROR and body["error"].get("code") == DENIED

    def test_each_request_by_each_role_within_and_outside_its_groups(self):
        table = requests()
        self.assertGreater(len(table), 30)
        for role in ROLES:
            peer = self.peer(self.new_key(f"{role}-key", role, "billing-*"))
            everywhere = self.peer(self.new_key(f"{role}-all", role, "*"))
            for request, right, scope in table:
                if request == "FetchFeedback" and role in RIGHTS[right]:
                    continue  # it waits for results
                with self.subTest(role=role, request=request):
                    may = role in RIGHTS[right]
                    self.assertEqual(self.is_denied(everywhere, request, THEIRS), not may, "all groups")
                    self.assertEqual(self.is_denied(peer, request, MINE), not (may and scope != "all"), "within")
                    outside = may and scope == "none"
                    self.assertEqual(self.is_denied(peer, request, THEIRS), not outside, "outside")

    def test_nothing_tells_what_exists_in_other_groups(self):
        jobs = {}
        for group in (MINE, THEIRS):
            answer = self.one.submit("--task-id", f"task-{group}", "--group", group, "--at", "+1h", "--", "true").json()
            jobs[group] = int(answer["job_id"])
            self.one.submit("--task-id", f"cron-{group}", "--group", group, "--cron", "0 3 * * *", "--", "true")
        peer = self.peer(self.new_key("anna", "editor", "billing-*"))

        for what in ("list", "waiting", "executing", "history", "nodes", "groups", "audit"):
            rows = self.all_rows(peer, what)
            self.assertLessEqual({row["group"] for row in rows}, {MINE}, what)
            if what in ("list", "waiting", "groups"):
                self.assertTrue(rows, what)

        def answer(name, body, job):
            kind, told = peer.ask(name, body)
            return kind, json.dumps(told, default=str).replace(str(job), "JOB")
        for what in ("job", "output", "history", "show"):
            existing, missing = (answer("Query", {"what": what, "job_id": job}, job)
                                 for job in (jobs[THEIRS], jobs[THEIRS] + 1))
            self.assertEqual(existing, missing, what)
        for verb in (*range(5), Request.verbs.index("set_priority")):
            existing, missing = (answer("Act", {"request": Request("Act", "").number(), "verb": verb, "job_id": job,
                                                "priority": 5}, job) for job in (jobs[THEIRS], jobs[THEIRS] + 1))
            self.assertEqual(existing, missing, verb)
        shown = [answer("Query", {"what": "show", "group": THEIRS, "task_id": task}, task)
                 for task in (f"cron-{THEIRS}", "nothing")]
        self.assertEqual(shown[0], shown[1])
        self.assertIn("is not one of", shown[0][1])
        self.assertLessEqual({f"task-{MINE}", f"task-{THEIRS}"},
                             {row["task_id"] for row in self.one.rows("waiting")}, "nothing was cancelled")

    def test_a_worker_key_runs_jobs_and_submits_none(self):
        folder = self.new_key("worker-7", "worker", MINE)
        self.one.start_worker("--group", MINE, env={"CARILLON_KEYS": str(folder)})
        self.one.submit("--task-id", "mine", "--group", MINE, "--", "true")
        self.assertEqual(self.one.wait_ended("mine")["state"], "succeeded")
        refused = self.one.client("submit", "--group", MINE, "--", "true", env={"CARILLON_KEYS": str(folder)}, status=1)
        self.assertIn("it needs the role editor", refused.err)
        other = self.one.start_worker("--group", THEIRS, env={"CARILLON_KEYS": str(folder)}, wait=False)
        wait_for("the refusal", lambda: f"node group '{THEIRS}' is not one of" in other.log())

    def test_whoami_and_lists(self):
        self.assertEqual(self.one.client("-o", "json", "whoami").json()["role"], "admin")
        folder = self.new_key("anna", "viewer", "billing-*", "ops")
        shown = self.one.client("-o", "json", "whoami", env={"CARILLON_KEYS": str(folder)}).json()
        self.assertEqual((shown["kind"], shown["name"], shown["role"], shown["groups"]),
                         ("key", "anna", "viewer", "billing-* ops"))
        token = self.one.client("tokens", "new", "ci", "--role", "editor", "--group", "*", "--expires", "90d").out.strip()
        self.assertRegex(token, r"^crl_[\w-]{43}$")
        self.one.client("users", "new", "bert", "--role", "operator", "--group", "ops", stdin="correct horse\n")
        self.assertEqual([row["name"] for row in self.one.rows("tokens", "list")], ["ci"])
        self.assertEqual([row["name"] for row in self.one.rows("users", "list")], ["bert"])
        self.assertEqual([row["name"] for row in self.one.rows("keys", "list")], ["anna"])
        stored = str(self.one.sql("SELECT * FROM lts_principal"))
        self.assertNotIn(token, stored)
        self.assertNotIn("correct horse", stored)
        self.assertIn("$argon2id$", stored)
        self.one.client("users", "change", "bert", "--role", "admin")
        self.assertEqual(self.one.rows("users", "list")[0]["role"], "admin")
        self.one.client("users", "remove", "bert")
        self.one.client("users", "remove", "bert", status=4)
        self.one.client("tokens", "new", "ci", "--role", "editor", "--group", "*", status=1)
        actions = [row["action"] for row in self.one.rows("audit", "--limit", 0)]
        for action in ("put_key", "put_token", "put_user", "remove_user"):
            self.assertIn(action, actions)

    def test_revoking_a_key_ends_its_connections_within_5_seconds(self):
        folder = self.new_key("anna", "editor", "*")
        peer = self.peer(folder)
        self.assertEqual(peer.ask("Query", {"what": "whoami"})[0], ROWS)
        self.one.client("keys", "revoke", "anna")
        started = time.monotonic()
        wait_for("the end", lambda: peer.ask("Query", {"what": "whoami"}, patience=0.5) is None, patience=5)
        self.assertLess(time.monotonic() - started, 5)
        refused = self.one.client("list", env={"CARILLON_KEYS": str(folder)}, status=1)
        self.assertIn("denied", refused.err)


class RightsOnSqlite(Rights, E2eTest):
    store_name = "sqlite"


class RightsOnMariadb(Rights, E2eTest):
    store_name = "mariadb"

    def test_revoking_at_one_job_tracker_counts_at_the_other(self):
        other = self.cluster(self.store, tracker=False)
        other.store_url, other.database = self.one.store_url, self.one.database
        other.flags += ["--keys", str(self.keys), "--name", "second"]
        other.env["CARILLON_KEYS"] = str(self.keys)
        other.start_tracker()
        folder = self.new_key("anna", "editor", "*")
        wait_for("the key to be known there", lambda: other.client(
            "list", env={"CARILLON_KEYS": str(folder)}, status=None).status == 0, patience=5)
        peer = Peer(other.port, folder)
        self.addCleanup(peer.close)
        self.assertEqual(peer.ask("Query", {"what": "whoami"})[0], ROWS)
        self.one.client("keys", "revoke", "anna")
        wait_for("the end", lambda: peer.ask("Query", {"what": "whoami"}, patience=0.5) is None, patience=5)


class Executors(E2eTest):
    """Access tokens of xxl-job executors are principals that may manage the jobs of their app."""

    CALLS = ("addJob", "updateJob", "removeJob", "startJob", "stopJob", "triggerJob")

    def setUp(self):
        super().setUp()
        self.port = harness.free_port()
        self.one = self.cluster(flags=["--http", f"127.0.0.1:{self.port}"])
        for app in ("orders", "payroll"):
            self.one.client("groups", "add", app, "--executor", "--address", "http://10.0.0.7:9999/",
                            "--token", f"token-of-{app}")

    def call(self, name, app, token):
        headers = {"Content-Type": "application/json", "XXL-JOB-APPNAME": app}
        if token:
            headers["XXL-JOB-ACCESS-TOKEN"] = token
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE)
        job = {"id": 1, "name": "orders", "author": "ann", "scheduleType": "CRON", "scheduleConf": "0 0 3 * * ?",
               "executorHandler": "h", "glueType": "BEAN", "executorRouteStrategy": "FIRST"}
        connection.request("POST", f"/api/{name}", json.dumps(job), headers)
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    def test_each_management_call_needs_the_token_of_its_app(self):
        for name in self.CALLS:
            for token in ("", "wrong", "token-of-payroll"):
                with self.subTest(name, token=token):
                    self.assertNotEqual(self.call(name, "orders", token)["code"], 200)
        self.assertEqual(self.one.rows("list"), [])
        added = self.call("addJob", "orders", "token-of-orders")
        self.assertEqual(added["code"], 200, added)
        self.assertEqual([row["group"] for row in self.one.rows("list")], ["orders"])
        self.assertEqual(self.one.rows("audit", "--by", "orders")[0]["kind"], "app")
        self.assertEqual({row["name"] for row in self.one.rows("tokens", "list")}, {"orders", "payroll"})


if __name__ == "__main__":
    harness.main()
