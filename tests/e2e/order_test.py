"""A backlog far larger than memory's cap is handed out in the order that SQL would give.

With other sizes, by hand:
  CARILLON_ORDER_JOBS=1000000 CARILLON_ORDER_CAPACITY=1000 tests/e2e/order_test.py
"""

import json
import os
import subprocess
import time

import harness
from harness import E2eTest, wait_for

JOBS = int(os.environ.get("CARILLON_ORDER_JOBS", 30_000))
CAPACITY = int(os.environ.get("CARILLON_ORDER_CAPACITY", 200))
SLOW_JOBS = 100  # they come first, and leave time to come between


class Order(E2eTest):
    def jobs(self):
        for number in range(JOBS):
            # Scattered, so that neither priorities nor times come in their order; many are equal.
            minute, second = number * 104729 % 60, number * 1299709 % 60
            yield {"handler": "noop", "priority": 2 + number * 7919 % 97,
                   "at": f"2000-01-01T00:{minute:02d}:{second:02d}Z"}
        for number in range(SLOW_JOBS):
            yield {"handler": "sleep", "payload": "100ms", "priority": 1, "task_id": f"slow-{number}"}

    def submit(self, cluster):
        path = self.folder / "jobs.jsonl"
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(job) + "\n" for job in self.jobs())
        start = time.monotonic()
        with open(path, encoding="utf-8") as file:
            done = subprocess.run([harness.BIN / "jobclient", "-o", "jsonl", "submit", "--stdin"],
                                  stdin=file, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=cluster.client_env(), timeout=900)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        self.assertEqual(done.stdout.count(b'"accepted"'), JOBS + SLOW_JOBS)
        print(f"{JOBS} jobs submitted in {time.monotonic() - start:.1f} s", flush=True)

    def test_the_order_of_hand_out_is_sqls_and_a_better_newcomer_starts_next(self):
        cluster = self.cluster(flags=["--preload-capacity", CAPACITY])
        self.submit(cluster)
        expected = [row[0] for row in cluster.sql(
            "SELECT job_id FROM lts_wjq_default ORDER BY priority, trigger_time_us, job_id")]
        self.assertEqual(len(expected), JOBS + SLOW_JOBS)
        cluster.start_worker(threads=1)

        def ended():
            return cluster.stats()["attempts_ended_total"]
        wait_for("some to end", lambda: ended() >= 5)
        better = int(cluster.submit("--task-id", "better", "--priority", 0, "--handler", "noop").json()["job_id"])
        acknowledged_us = time.time() * 1e6
        self.assertLess(ended(), SLOW_JOBS, "it came in the middle of the slow ones")
        self.assertLessEqual(cluster.stats()["jobs_in_memory"], 2 * CAPACITY)
        wait_for("the slow ones to end", lambda: ended() > SLOW_JOBS)
        start = time.monotonic()
        wait_for("all to end", lambda: ended() > JOBS + SLOW_JOBS, patience=1800, pause=0.2)
        print(f"{JOBS} jobs drained in {time.monotonic() - start:.1f} s", flush=True)

        rows = cluster.sql("SELECT job_id, started_us FROM lts_job_log ORDER BY started_us, log_id")
        place = next(index for index, (job_id, _) in enumerate(rows) if job_id == better)
        # The one that is handed out while the other runs may be on its way already.
        later = [job_id for job_id, started in rows[:place] if started > acknowledged_us]
        self.assertLessEqual(len(later), 1, "the better job starts next")
        self.assertEqual([job_id for job_id, _ in rows if job_id != better], expected,
                         "the order of hand-out is the order of SQL")


if __name__ == "__main__":
    harness.main()
