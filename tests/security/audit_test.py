"""Who changed what: every change has a row with its author, on both stores and after kill -9."""

import getpass
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
from harness import BothStores, E2eTest  # noqa: E402


class Audit(BothStores):
    def setUp(self):
        super().setUp()
        self.one = self.cluster(self.store)

    def audit(self, *more):
        return self.one.rows("audit", "--limit", 0, *more)

    def test_changes_name_their_author_and_survive_a_kill(self):
        self.one.submit("--task-id", "nightly", "--cron", "0 3 * * *", "--", "true")
        self.one.client("suspend", "nightly")
        self.one.submit("--task-id", "nightly", "--cron", "0 4 * * *", "--replace-on-exist", "--", "true")
        self.one.submit_all([{"task_id": f"bulk-{i}", "shell": "true"} for i in range(1000)])
        self.one.client("cancel", "nowhere", status=4)
        self.one.tracker.kill()
        self.one.start_tracker()
        rows = self.audit()
        self.assertEqual([(row["action"], row["task_id"]) for row in rows],
                         [("cancel", "nowhere"), ("submit", ""), ("replace", "nightly"),
                          ("suspend", "nightly"), ("submit", "nightly")])
        for row in rows:
            self.assertEqual((row["by"], row["kind"], row["address"]),
                             (getpass.getuser(), "local", "127.0.0.1"), row)
        self.assertIn("refused", rows[0]["outcome"])
        self.assertEqual(json.loads(rows[1]["after"])["jobs"], 1000)
        self.assertEqual(json.loads(rows[2]["before"])["cron"], "0 3 * * *")
        self.assertEqual(json.loads(rows[2]["after"])["cron"], "0 4 * * *")
        self.assertEqual([row["action"] for row in self.audit("--task-id", "nightly", "--group", "default")],
                         ["replace", "suspend", "submit"])
        self.assertEqual(self.audit("--by", "somebody else"), [])
        shown = self.one.client("-o", "json", "show", "nightly").json()
        self.assertEqual((shown["changed_by"], shown["changed_at"]), (getpass.getuser(), rows[2]["time"]))


class AuditOnSqlite(Audit, E2eTest):
    store_name = "sqlite"


class AuditOnMariadb(Audit, E2eTest):
    store_name = "mariadb"


if __name__ == "__main__":
    harness.main()
