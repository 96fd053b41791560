"""A database that goes away, stalls or is cut off in the middle of a COMMIT, under load.

The job tracker survives it without a restart, and no worker dies: so every job runs exactly once.
"""

import collections
import signal
import time

import accounts
import faults
import harness
from harness import slowness, wait_for
from recovery_test import SCHEDULES, Load, LoadedTest


class Database(LoadedTest):
    uses_mariadb = True

    def loaded(self, database_port=None):
        cluster = self.cluster(self.mariadb, database_port=database_port)
        for _ in range(2):
            self.start_worker(cluster)
        cluster.submit_all(SCHEDULES)
        return cluster, Load(cluster)

    def finish(self, cluster, load, tracker):
        load.finish()
        time.sleep(2)
        self.end_schedules(cluster)
        self.assertIs(cluster.tracker, tracker)
        self.assertTrue(tracker.is_running(), "the job tracker was not restarted")
        self.check(cluster, load)
        self.assertEqual(cluster.stats()["store_away"], 0)
        self.assertEqual([row for row in cluster.history() if row["state"] == "lost"], [])

    def start_again(self, tracker):
        load_before = slowness()
        self.mariadb.start()
        started = time.monotonic()
        wait_for("it to be back", lambda: "the store is reachable again" in tracker.log(), pause=0.02)
        self.assertLess(time.monotonic() - started, 4 * max(load_before, slowness()))

    def test_jobs_run_once_when_the_database_is_killed_and_restarted(self):
        cluster, load = self.loaded()
        time.sleep(self.random.uniform(1.0, 2.5))
        self.mariadb.server.kill()
        wait_for("the tracker to say so", lambda: "the store is unreachable" in cluster.tracker.log())
        time.sleep(self.random.uniform(0.0, 2.0))
        self.start_again(cluster.tracker)
        self.finish(cluster, load, cluster.tracker)

    def test_jobs_run_once_despite_a_minute_without_database(self):
        cluster = self.cluster(self.mariadb)
        self.start_worker(cluster)
        cluster.submit("--task-id", "before", "--shell", f"sleep 40; {accounts.NOTE}")
        wait_for("it to run", lambda: cluster.rows("executing"))
        tracker = cluster.tracker
        self.mariadb.server.kill()
        began = time.monotonic()
        answer = cluster.submit("--task-id", "during", "--shell", accounts.NOTE, status=None,
                                patience=2 * harness.PATIENCE)
        self.assertNotEqual(answer.status, 0)
        self.assertIn("no answer from", answer.err + answer.out)
        self.assertGreater(time.monotonic() - began, 29)
        soon = ("--answer-timeout", "3s")
        stored = cluster.submit(*soon, "--offline", "--task-id", "stored", "--shell", accounts.NOTE)
        self.assertEqual(stored.json()["status"], "stored")
        self.assertIn("no answer from", stored.json()["reason"])
        behind = cluster.client(*soon, "cancel", "before", status=3)
        self.assertIn("stored submissions are delivered first", behind.err)
        time.sleep(max(0.0, began + 60 - time.monotonic()))
        self.start_again(tracker)
        cluster.submit("--task-id", "after", "--shell", accounts.NOTE)
        for task in ("before", "stored", "after"):
            self.assertEqual(cluster.wait_ended(task)["state"], "succeeded")
        wait_for("all to end", cluster.is_idle)
        runs = collections.Counter(run.task_id for run in accounts.notes(self.notes))
        self.assertEqual((runs["before"], runs["stored"], runs["after"]), (1, 1, 1))
        self.assertLessEqual(runs["during"], 1, "its answer was a time-out")
        self.assertIs(cluster.tracker, tracker)
        self.assertTrue(tracker.is_running(), "the job tracker was not restarted")
        self.assertEqual([row for row in cluster.history() if row["state"] == "lost"], [])

    def test_jobs_run_once_when_the_database_stalls_for_ten_seconds(self):
        cluster, load = self.loaded()
        time.sleep(self.random.uniform(1.0, 2.5))
        self.mariadb.server.send(signal.SIGSTOP)
        self.addCleanup(self.mariadb.server.send, signal.SIGCONT)
        time.sleep(10)
        self.mariadb.server.send(signal.SIGCONT)
        time.sleep(1)
        self.finish(cluster, load, cluster.tracker)

    def test_a_second_signal_stops_a_job_tracker_during_a_stall(self):
        cluster, _ = self.loaded()
        self.mariadb.server.send(signal.SIGSTOP)
        self.addCleanup(self.mariadb.server.send, signal.SIGCONT)
        time.sleep(1)
        cluster.tracker.send(signal.SIGTERM)
        time.sleep(2)
        self.assertTrue(cluster.tracker.is_running(), "it waits for what it took to be stored")
        self.assertEqual(cluster.tracker.stop(signal.SIGTERM, patience=2), 0)

    def test_a_stopping_job_tracker_waits_some_seconds_for_the_database(self):
        cluster, _ = self.loaded()
        self.mariadb.server.send(signal.SIGSTOP)
        self.addCleanup(self.mariadb.server.send, signal.SIGCONT)
        time.sleep(1)
        self.assertEqual(cluster.tracker.stop(signal.SIGTERM, patience=15), 0)
        self.assertIn("the store does not answer; this job tracker stops without it", cluster.tracker.log())

    def test_jobs_run_once_when_the_connection_is_cut_during_commit(self):
        proxy = faults.Proxy(self.mariadb.port)
        self.addCleanup(proxy.close)
        cluster, load = self.loaded(database_port=proxy.port)
        outcomes = []
        for when in self.random.sample([faults.BEFORE, faults.AFTER] * 3, 6):
            time.sleep(self.random.uniform(0.1, 0.8))
            settled = cluster.tracker.log().count("the outcome of a commit is known now")
            proxy.cut_at(faults.COMMIT, when)
            self.assertTrue(proxy.struck.wait(harness.PATIENCE), "nothing was committed")
            wait_for("the commit to be settled", lambda: cluster.tracker.log().count(
                "the outcome of a commit is known now") > settled)
            outcomes.append(when)
        self.assertEqual(cluster.tracker.log().count("committed=yes"), outcomes.count(faults.AFTER))
        self.assertEqual(cluster.tracker.log().count("committed=no"), outcomes.count(faults.BEFORE))
        self.finish(cluster, load, cluster.tracker)


if __name__ == "__main__":
    harness.main()
