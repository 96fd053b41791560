"""Counts of days, and what people delete from the history, on both stores."""

import datetime

import harness
from harness import BothStores, E2eTest, wait_for


class History:
    def fill(self):
        one = self.cluster(self.store, workers=1)
        for i in range(6):
            one.client("submit", "--task-id", f"fine-{i}", "--shell", "echo hello", "--wait")
        one.client("submit", "--task-id", "bad", "--retries", "1", "--retry-base", "1s",
                   "--shell", "exit 3", "--wait", status=3)
        return one

    def today(self, one, *flags):
        rows = one.client("-o", "jsonl", "report", "--tz", "UTC", *flags).lines()
        # A test may run over midnight.
        return {name: sum(row[name] for row in rows[-2:]) for name in (
            "runs", "succeeded", "failed", "retried", "skipped", "missed", "expired", "cancelled")}

    def test_daily_counts_survive_cleaning_the_history(self):
        one = self.fill()
        one.tracker.kill()
        one.start_tracker()
        expected = {"runs": 8, "succeeded": 6, "failed": 1, "retried": 1, "skipped": 0, "missed": 0,
                    "expired": 0, "cancelled": 0}
        self.assertEqual(self.today(one), expected)
        self.assertEqual(one.client("-o", "json", "clean", "--all").json(), {"removed": 8})
        self.assertEqual(one.history(), [])
        self.assertEqual(self.today(one, "--by-group", "--group", "default"), expected)
        days = [row["day"] for row in one.client("-o", "jsonl", "report", "--days", "3").lines()]
        self.assertEqual(len(days), 3)
        for day in days:
            datetime.date.fromisoformat(day)

    def test_history_is_filtered_by_state(self):
        one = self.fill()
        self.assertEqual([row["task_id"] for row in one.rows("history", "--state", "failed")], ["bad"] * 2)
        self.assertEqual(len(one.rows("history", "--state", "succeeded", "--state", "failed")), 8)
        self.assertEqual(one.rows("history", "--state", "lost"), [])

    def test_each_cleaning_rule_deletes_the_matching_rows(self):
        one = self.fill()

        def clean(*flags):
            return one.client("-o", "json", "clean", *flags).json()["removed"]

        self.assertEqual(clean("--older-than", "1h"), 0)
        self.assertEqual(clean("--task-id", "fine-0", "--all"), 1)
        self.assertEqual(one.number("SELECT COUNT(*) FROM lts_job_output"), 5)
        self.assertEqual(clean("--keep", "3"), 4)
        self.assertEqual([row["task_id"] for row in one.history()], ["bad", "bad", "fine-5"])
        self.assertEqual(clean("--group", "default", "--keep", "10"), 0)
        self.assertEqual(clean("--group", "default", "--older-than", "2999-01-01T00:00:00Z"), 3)
        self.assertEqual(one.number("SELECT COUNT(*) FROM lts_job_output"), 0)
        one.client("clean", "--group", "nowhere", "--all", status=4)
        one.client("clean", status=2)

    def test_rows_of_a_retrying_job_are_not_cleaned(self):
        one = self.cluster(self.store, workers=1)
        ran = one.folder / "ran"
        one.client("submit", "--task-id", "long", "--retries", "1", "--retry-base", "1ms", "--shell",
                   f"echo said; [ -e {ran} ] && sleep 600; touch {ran}; exit 3")
        first = one.wait_ended("long")
        wait_for("the second attempt", lambda: one.rows("executing"))
        self.assertEqual(one.client("-o", "json", "clean", "--all").json(), {"removed": 0})
        self.assertEqual(one.history("long"), [first])
        one.client("cancel", "long")
        wait_for("its end", lambda: len(one.history("long")) == 2)
        self.assertEqual(one.client("-o", "json", "clean", "--all").json(), {"removed": 2})


class HistoryOnSqlite(History, BothStores, E2eTest):
    store_name = "sqlite"


class HistoryOnMariadb(History, BothStores, E2eTest):
    store_name = "mariadb"


if __name__ == "__main__":
    harness.main()
