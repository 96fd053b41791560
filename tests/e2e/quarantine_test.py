"""Jobs that kill the task tracker that runs them, three in turn, and task trackers on which all jobs
fail, on both stores."""

import collections

import harness
from harness import BothStores, E2eTest, wait_for


class Quarantine:
    def test_job_that_kills_three_workers_is_quarantined(self):
        one = self.cluster(self.store)
        # Each in a group of its own, so that neither takes the other's worker with it.
        mark = self.folder / "harmless"
        kill = f"test -e {mark} || kill -9 $PPID; echo lived"
        job = one.submit("--task-id", "once", "--group", "a", "--shell", kill).json()["job_id"]
        one.submit("--task-id", "often", "--group", "b", "--every", "2s", "--shell", kill)
        for life in range(3):
            if life == 2:  # The count is in the store.
                one.tracker.kill()
                one.start_tracker()
            killed = [one.start_worker("--group", group, wait=False) for group in ("a", "b")]
            for worker in killed:
                self.assertEqual(harness.exit_status(worker.process.wait(harness.PATIENCE)), "SIGKILL")

        def state_of(task_id, group):
            return one.client("-o", "json", "show", task_id, "--group", group).json()["state"]
        for task_id, group in (("once", "a"), ("often", "b")):
            wait_for(f"{task_id} to be in quarantine", lambda: state_of(task_id, group) == "quarantined")
            lost = [row for row in one.history(task_id) if row["state"] == "lost"]
            self.assertEqual([row["attempt"] for row in lost], [3, 2, 1])
            self.assertIn("in quarantine", lost[0]["message"])
        self.assertEqual([row["state"] for row in one.rows("list")], ["quarantined"])
        self.assertEqual([(row["task_id"], row["state"]) for row in one.rows("waiting")],
                         [("once", "quarantined")])
        self.assertIn("in quarantine", one.client("show", "once", "--group", "a").out)
        self.assertIn("is in quarantine: its task tracker died each time", one.tracker.log())

        safe = [one.start_worker("--group", group) for group in ("a", "b")]
        # A third job shows that the workers are handed what there is.
        for group in ("a", "b"):
            one.client("submit", "--group", group, "--wait", "--", "true")
        self.assertEqual(one.client("trigger", "often", "--group", "b", "--force", status=1).out, "")
        self.assertTrue(all(worker.is_running() for worker in safe))
        self.assertEqual([row["attempt"] for row in one.history("often") if row["state"] == "lost"],
                         [3, 2, 1])

        mark.touch()
        for task_id, group in (("once", "a"), ("often", "b")):
            one.client("resume", task_id, "--group", group)
            self.assertEqual(one.wait_ended(task_id, {"succeeded", "failed"})["state"], "succeeded")
        self.assertEqual(one.client("logs", "--job", job).out, "lived\n")

    def test_only_the_job_that_kills_workers_is_quarantined(self):
        one = self.cluster(self.store)
        killed = [one.start_worker(threads=1) for _ in range(3)]
        # So many short runs that the next ones are fetched ahead.
        one.submit_all([{"task_id": f"warm-{i}", "handler": "noop"} for i in range(3000)])
        wait_for("the short runs to end", one.is_idle)
        others = [f"other-{i}" for i in range(500)]
        one.submit_all([{"task_id": "poison", "priority": 0, "shell": "kill -9 $PPID"},
                        *({"task_id": task_id, "handler": "noop"} for task_id in others)])
        for worker in killed:
            self.assertEqual(harness.exit_status(worker.process.wait(harness.PATIENCE)), "SIGKILL")
        one.start_worker(threads=1)
        wait_for("all but one to end", lambda: not one.rows("executing") and [
            (row["task_id"], row["state"]) for row in one.rows("waiting", "--limit", 0)] == [
                ("poison", "quarantined")])
        ended = collections.Counter(row["task_id"] for row in one.history() if row["state"] == "succeeded")
        self.assertEqual([task_id for task_id in others if ended[task_id] != 1], [])
        self.assertEqual(one.stats()["jobs_quarantined_total"], 1)

    def test_worker_that_fails_every_job_is_isolated_until_it_recovers(self):
        one = self.cluster(self.store, flags=["--isolate-after", "3"])
        mended = self.folder / "mended"
        healthy = one.start_worker(name="healthy")
        one.start_worker(name="broken")

        def run_some(count):
            one.submit_all([{"shell": f'[ "$CARILLON_NODE" = healthy ] || [ -e {mended} ]'}
                            for _ in range(count)])
            wait_for("the runs to end", one.is_idle)
            return collections.Counter((row["node"], row["state"]) for row in one.history()[:count])

        def state():
            return {row["name"]: row["state"] for row in one.rows("nodes") if row["state"] != "gone"}

        def is_isolated():
            run_some(4)
            return state() == {"healthy": "alive", "broken": "isolated"}
        wait_for("the broken one to be isolated", is_isolated)
        # One of them may be the job that it is tried with each minute.
        on_broken = run_some(60)[("broken", "failed")]
        self.assertLessEqual(on_broken, 2)
        self.assertEqual(healthy.stop(), 0)
        self.assertEqual(run_some(3), {("broken", "failed"): 3}, "it is the last that is there")
        self.assertEqual(state(), {"broken": "isolated"})
        mended.touch()
        self.assertEqual(run_some(3), {("broken", "succeeded"): 3})
        self.assertEqual(state(), {"broken": "alive"})


class QuarantineOnSqlite(Quarantine, BothStores, E2eTest):
    store_name = "sqlite"


class QuarantineOnMariadb(Quarantine, BothStores, E2eTest):
    store_name = "mariadb"


if __name__ == "__main__":
    harness.main()
