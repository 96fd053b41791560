"""A real crontab, imported and run by two workers, with everything killed in the middle once."""

import collections
import time

import accounts
from accounts import NOTE
from harness import SOURCE, wait_for

CRONTAB = SOURCE / "tests/data/crontab/frequent"
MACROS = {"@hourly": "0 * * * *", "@daily": "0 0 * * *"}


class CrontabRun:
    """On one cluster, from start() to problems()."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.tools = cluster.folder / "tools"
        self.notes = cluster.folder / "notes"
        self.dead = set()

    def start(self):
        self.tools.mkdir()
        note = self.tools / "note"
        note.write_text(f"#!/bin/sh\n{NOTE}\n")
        note.chmod(0o755)
        self.cluster.start_tracker()
        for _ in range(2):
            self.start_worker()
        self.started = accounts.now()
        answers = self.cluster.client("-o", "jsonl", "import", "crontab", CRONTAB, "--apply", status=1).lines()
        self.imported = accounts.now()
        self.entries = [row for row in answers if row["status"] == "accepted"]
        self.refused = [row for row in answers if row["status"] != "accepted"]

    def start_worker(self):
        return self.cluster.start_worker("--kill-grace", "500ms", threads=4,
                                         env={"E2E": str(self.tools), "NOTES": str(self.notes)})

    def kill_tracker(self):
        self.cluster.tracker.kill()

    def restart_tracker(self):
        self.cluster.start_tracker()

    def kill_busy_worker(self):
        """The worker that runs something; it is replaced."""
        node = wait_for("a run", lambda: self.cluster.rows("executing"))[0]["node"]
        index = [worker.node for worker in self.cluster.workers].index(node)
        self.cluster.workers.pop(index).kill()
        self.dead.add(node)
        self.start_worker()

    def finish(self):
        """When what was due has had time to end."""
        wait_for("nothing to execute", lambda: not self.cluster.rows("executing"))
        time.sleep(1)
        self.ended = accounts.now()
        for entry in self.entries:
            self.cluster.client("suspend", entry["task_id"])
        wait_for("nothing to be under way", self.cluster.is_idle)
        self.rows = self.cluster.history()
        self.runs = accounts.notes(self.notes)

    def outcomes(self):
        counts = collections.Counter()
        for row in self.rows:
            counts[row["state"]] += int(row["count"])
        return dict(counts)

    def problems(self):
        """Every fire that was due has one outcome; none ran twice while its worker was alive."""
        wrong = accounts.doubled(self.runs, self.dead)
        noted = {run.job_id for run in self.runs}
        by_task = collections.defaultdict(list)
        for row in self.rows:
            by_task[row["task_id"]].append(row)
            if row["state"] == "succeeded" and row["job_id"] not in noted:
                wrong.append(f"succeeded without a run: {row}")
        for entry in self.entries:
            expression = MACROS.get(entry["schedule"], entry["schedule"])
            # Around the import and the end, a fire of the same second may have come or not.
            due = set(accounts.every_minutes(expression, entry["tz"], self.imported, self.ended))
            may = set(accounts.every_minutes(expression, entry["tz"], self.started, accounts.now())) - due
            own = {accounts.instant(row["trigger_time"]) for row in by_task[entry["task_id"]]}
            for line in accounts.account(due | (may & own), by_task.pop(entry["task_id"])):
                wrong.append(f"{entry['schedule']} ({entry['tz']}): {line}")
        wrong += [f"history of an unknown task: {task}" for task in by_task]
        wrong += [f"{row['state']}: {row['message']}" for row in self.rows
                  if row["state"] not in ("succeeded", "lost", "missed", "skipped", "cancelled")]
        return wrong


def sleep_until_second(second):
    """Of a minute, by the wall clock."""
    time.sleep((second - time.time()) % 60)
