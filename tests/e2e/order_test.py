"""A million waiting jobs, a thousand times what memory holds, are handed out in the order of SQL.

The backlog is written by SQL below a job tracker that is stopped, which takes seconds; then a worker
drains the first part of it. In the middle of the drain a better job comes in, which starts next.
"""

import time

import harness
from harness import BothStores, E2eTest, wait_for

JOBS = 1_000_000
CAPACITY = 1_000  # of memory
DRAINED = 20_000  # so many are enough to see the order: twenty times what memory holds
FIRST, SLOW = 2, 3  # priorities: about 10 000 jobs, then those that leave time to come between
SLOW_JOBS = 15  # a busy machine needs some seconds of them until a command is answered
SLOW_RUN = "1s"  # what waits behind one is given back, and is in the table again before it ends
AHEAD = 1_000  # more than a worker ever has in advance

# Copies of the job that is there, in an order that is neither that of priorities nor that of times;
# many are equal in both. Older than all that is submitted: smaller ids.
FILL = f"""
INSERT INTO lts_wjq_default (job_id, task_id, definition_id, version, kind, keyed, priority,
                             trigger_time_us, attempt, failures, lost, triggered, forced, bucket, spec)
WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < {JOBS})
SELECT job_id - i, {{task_id}}, definition_id, version, kind, keyed,
       CASE i * 7919 % 97 WHEN 0 THEN {FIRST} ELSE {SLOW} + i * 7919 % 97 END,
       946684800000000 + (i * 104729 % 60 * 60 + i * 1299709 % 60) * 1000000,
       attempt, failures, lost, triggered, forced, i % 64, spec
FROM numbers CROSS JOIN lts_wjq_default WHERE priority = {FIRST}"""
TASK_ID = {"sqlite": "'job-' || (job_id - i)", "mariadb": "CONCAT('job-', job_id - i)"}

ORDER = f"""SELECT job_id FROM lts_wjq_default ORDER BY priority, trigger_time_us, job_id
            LIMIT {DRAINED + AHEAD}"""


class Order(BothStores, E2eTest):
    def backlog(self):
        """A cluster with a stopped tracker, and the first jobs of its table in the order of SQL."""
        cluster = self.cluster(self.store, ["--preload-capacity", CAPACITY])
        cluster.submit("--priority", FIRST, "--handler", "noop")
        cluster.submit_all({"handler": "sleep", "payload": SLOW_RUN, "priority": SLOW}
                           for _ in range(SLOW_JOBS))
        self.assertEqual(cluster.tracker.stop(), 0)
        start = time.monotonic()
        cluster.write(FILL.format(task_id=TASK_ID[self.store_name]))
        self.assertEqual(cluster.number("SELECT COUNT(*) FROM lts_wjq_default"), JOBS + SLOW_JOBS + 1)
        expected = [int(row[0]) for row in cluster.sql(ORDER)]
        print(f"{JOBS} jobs written in {time.monotonic() - start:.1f} s", flush=True)
        return cluster, expected

    def test_claims_follow_sql_order_and_urgent_jobs_start_next(self):
        cluster, expected = self.backlog()
        start = time.monotonic()
        cluster.start_tracker()
        cluster.start_worker(threads=1)
        ended = "SELECT COUNT(*) FROM lts_job_log"
        slow = ended + " WHERE ended_us - started_us >= 900000"
        wait_for("some of the slow ones to end", lambda: cluster.number(slow) >= 3)
        better = int(cluster.submit("--task-id", "better", "--priority", 0, "--handler", "noop").json()["job_id"])
        acknowledged_us = time.time() * 1e6
        before = cluster.number(slow)
        self.assertLess(before, SLOW_JOBS - 2, "it came in the middle of the slow ones")
        self.assertGreater(cluster.number(ended), 5_000, "and in the middle of the drain")
        self.assertLessEqual(cluster.stats()["jobs_in_memory"], 2 * CAPACITY)
        # One thread runs them one after another, so the log has no gap below its end.
        wait_for("enough to end", lambda: cluster.number(ended) > DRAINED)
        print(f"{DRAINED} jobs drained in {time.monotonic() - start:.1f} s", flush=True)

        rows = [tuple(map(int, row)) for row in cluster.sql(
            f"SELECT job_id, attempt, started_us FROM lts_job_log ORDER BY started_us, log_id LIMIT {DRAINED}")]
        place = next(index for index, (job_id, _, _) in enumerate(rows) if job_id == better)
        # The one that is handed out while the other runs may be on its way already.
        later = [job_id for job_id, _, started in rows[:place] if started > acknowledged_us]
        self.assertLessEqual(len(later), 1, f"the better job starts next; it came after {before} slow ones")
        self.check_order([row for row in rows if row[0] != better], expected)

    def check_order(self, rows, expected):
        """What was handed out once ran in the order of SQL. What the worker gave back, as it could not
        start it in 100 ms, was handed out again: in that order too, but after what was on its way;
        and so what it gave back twice."""
        place = {job_id: index for index, job_id in enumerate(expected)}
        self.assertLessEqual({job_id for job_id, _, _ in rows}, place.keys(), "no others were preferred")
        for times in {attempt for _, attempt, _ in rows}:
            places = [place[job_id] for job_id, attempt, _ in rows if attempt == times]
            wrong = [pair for pair in zip(places, places[1:]) if pair[0] > pair[1]]
            self.assertEqual(wrong, [], f"handed out {times} times: in the order of SQL")
        self.assertEqual(len({job_id for job_id, _, _ in rows}), len(rows), "each ran once")
        again = sum(attempt > 1 for _, attempt, _ in rows)
        self.assertLess(again, len(rows) // 10, "what ran in its turn is nearly all of it")


class OrderOnMariadb(Order):
    store_name = "mariadb"


if __name__ == "__main__":
    harness.main()
