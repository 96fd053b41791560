"""A task tracker that is given several addresses works for the one job tracker that serves at one of
them, and goes on to the next with all that it holds."""

import signal

import accounts
import harness
from harness import E2eTest, wait_for


class AddressesTest(E2eTest):
    def setUp(self):
        super().setUp()
        self.notes = self.folder / "notes"

    def start_worker(self, cluster, *more):
        """One that looks at the cluster's address, and then at `more`."""
        return cluster.start_worker("--tracker", ",".join(more), threads=4, name="worker",
                                    env={"NOTES": str(self.notes)})

    def submit_runs(self, cluster, seconds):
        """Three jobs that run so long; returns when all of them do."""
        tasks = [f"run-{number}" for number in range(3)]
        cluster.submit_all([{"task_id": task, "shell": f"{accounts.NOTE}; sleep {seconds}; echo end"}
                            for task in tasks])
        wait_for("them to run", lambda: len(accounts.notes(self.notes)) >= 3)
        return tasks

    def check_each_ran_once(self, cluster, tasks):
        """And that is what the tracker knows, output included."""
        wait_for("all to end", cluster.is_idle)
        self.assertEqual(sorted((run.task_id, run.attempt) for run in accounts.notes(self.notes)),
                         [(task, 1) for task in tasks])
        self.assertEqual(
            sorted((row["task_id"], row["attempt"], row["state"], row["node"])
                   for row in cluster.history() if row["task_id"] in tasks),
            [(task, 1, "succeeded", "worker") for task in tasks])
        for task in tasks:
            self.assertEqual(cluster.client("logs", task).out, "end\n")


class Twice(AddressesTest):
    """One job tracker at two addresses."""

    def check(self, second):
        cluster = self.cluster()
        self.start_worker(cluster, f"tcp://{second}:{cluster.port}")
        self.check_each_ran_once(cluster, self.submit_runs(cluster, 4))
        self.assertEqual(len(cluster.rows("nodes")), 1)

    def test_an_address_given_twice_counts_as_one_job_tracker(self):
        self.check("127.0.0.1")

    def test_two_names_of_an_address_count_as_one_job_tracker(self):
        self.check("localhost")


class Standby(AddressesTest):
    """A second job tracker takes over the store of the first, at the second address."""

    uses_mariadb = True

    def check(self, store, leave, come_back):
        cluster = self.cluster(store)
        first, port = cluster.tracker, harness.free_port()
        self.addCleanup(first.kill)
        self.start_worker(cluster, f"tcp://127.0.0.1:{port}")
        tasks = self.submit_runs(cluster, 10)
        leave(first)
        cluster.port = port
        cluster.start_tracker()
        come_back(first)
        cluster.submit("--task-id", "after", "--handler", "noop")
        self.assertEqual(cluster.wait_ended("after")["state"], "succeeded")
        self.check_each_ran_once(cluster, tasks)
        self.assertEqual(cluster.stats()["workers_lost_total"], 0)

    def test_a_second_job_tracker_adopts_runs_of_a_killed_one(self):
        self.check("sqlite", lambda first: first.kill(), lambda first: None)

    def test_a_second_job_tracker_adopts_runs_of_a_stalled_one(self):
        self.check(self.mariadb, lambda first: first.send(signal.SIGSTOP),
                   lambda first: first.send(signal.SIGCONT))


class Another(AddressesTest):
    """Two job trackers with a store each. That is not meant to be, and must harm nothing."""

    def test_a_worker_serves_another_job_tracker_without_losing_runs(self):
        one, other = self.cluster(), self.cluster(tracker=False)
        other.env["XDG_RUNTIME_DIR"] = one.env["XDG_RUNTIME_DIR"]
        other.port = harness.free_port()
        self.start_worker(one, f"tcp://127.0.0.1:{other.port}")
        other.start_tracker()
        self.submit_runs(one, 1)
        one.tracker.kill()
        other.submit("--task-id", "other", "--handler", "noop")
        other.wait_ended("other")
        wait_for("late reports of the runs", lambda: other.stats()["late_reports_total"] >= 3)
        one.start_tracker()
        other.tracker.kill()
        wait_for("the first tracker's jobs to end", one.is_idle)
        ends = sorted((row["task_id"], row["state"]) for row in one.history()
                      if row["state"] != "lost")
        self.assertEqual(ends, [(f"run-{number}", "succeeded") for number in range(3)])


if __name__ == "__main__":
    harness.main()
