"""Tasks that are triggered by the success of others, on both stores."""

import json
import time

import harness
from harness import BIN, BothStores, E2eTest, wait_for


class Children:
    def test_a_chain_of_children_runs_and_a_loop_is_refused(self):
        one = self.cluster(self.store, workers=1)
        one.client("submit", "--task-id", "last", "--manual", "--", "echo", "last")
        one.client("submit", "--task-id", "middle", "--manual", "--child", "default/last", "--",
                   "echo", "middle")
        one.client("submit", "--task-id", "first", "--child", "default/middle", "--child",
                   "other/nobody", "--", "echo", "first")
        one.wait_ended("last", {"succeeded"})
        self.assertEqual(one.client("logs", "last").out, "last\n")
        self.assertIn("not triggered: other/nobody is not defined",
                      one.history("first")[0]["message"])
        shown = one.client("-o", "json", "show", "middle").json()
        self.assertEqual(shown["spec"]["children"], [{"group": "default", "task_id": "last"}])
        self.assertIn("last", one.client("show", "middle").out)
        loop = one.client("submit", "--task-id", "last", "--manual", "--replace-on-exist", "--child",
                          "default/middle", "--", "true", status=1)
        self.assertIn("children form a loop: default/last > default/middle > default/last",
                      loop.out + loop.err)
        one.client("submit", "--child", "last", "--", "true", status=2)

    def test_a_child_of_several_parents_waits_until_all_succeed(self):
        one = self.cluster(self.store, workers=1)
        gate = self.folder / "gate"
        ask = (f"{BIN / 'jobclient'} --tracker tcp://127.0.0.1:{one.port} -o jsonl history "
               "--state succeeded --since 12h --limit 1")
        one.client("submit", "--task-id", "report", "--manual", "--retry-base", "500ms", "--shell",
                   f"for task in load-a load-b; do {ask} --task-id $task | grep -q . || exit 75; done; "
                   "echo both")
        for task, line in (("load-a", "true"), ("load-b", f"until [ -e {gate} ]; do sleep 0.1; done")):
            one.client("submit", "--task-id", task, "--child", "default/report", "--shell", line)
        one.wait_ended("report", ["later"])
        gate.touch()
        one.wait_ended("report", ["succeeded"])
        self.assertEqual(one.client("logs", "report").out, "both\n")
        wait_for("everything to end", one.is_idle)
        ran = [row["state"] for row in one.history("report") if row["attempt"]]
        self.assertEqual((ran[0], set(ran[1:])), ("succeeded", {"later"}))

    def test_each_success_triggers_the_child_once_despite_kills(self):
        one = self.cluster(self.store, workers=2)
        one.client("submit", "--task-id", "child", "--manual", "--overlap", "parallel", "--", "true")
        parents = 150
        lines = "".join(json.dumps({"task_id": f"p{i}", "shell": "sleep 0.05",
                                    "children": [{"group": "default", "task_id": "child"}]}) + "\n"
                        for i in range(parents))
        one.client("submit", "--stdin", stdin=lines)
        for _ in range(4):
            time.sleep(0.7)
            one.tracker.kill()
            one.start_tracker()

        def is_over():
            # Idle twice: a parent that ends puts its child into the table in the same moment.
            return one.is_idle() and one.is_idle()
        wait_for("everything to end", is_over)
        ended = [row for row in one.history() if row["state"] == "succeeded"]
        self.assertEqual(len([row for row in ended if row["task_id"] != "child"]), parents)
        children = [row["job_id"] for row in ended if row["task_id"] == "child"]
        self.assertEqual((len(children), len(set(children))), (parents, parents))


class ChildrenOnSqlite(Children, BothStores, E2eTest):
    store_name = "sqlite"


class ChildrenOnMariadb(Children, BothStores, E2eTest):
    store_name = "mariadb"


if __name__ == "__main__":
    harness.main()
