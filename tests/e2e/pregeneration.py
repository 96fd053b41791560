"""Watches a parallel every-second schedule being generated ahead, over a kill -9 of its tracker."""

import time

import accounts
from harness import wait_for

TASK = "each-second"


class Watch:
    """One cluster's schedule, from submit() to problems()."""

    def __init__(self, cluster, horizon_seconds):
        self.cluster = cluster
        self.horizon = horizon_seconds
        self.samples = []  # (seconds since the start, rows, seconds ahead)
        self.down = []  # when no tracker was there, by time.monotonic()

    def submit(self):
        self.started = accounts.now()
        self.cluster.submit("--task-id", TASK, "--cron", "* * * * * ?", "--tz", "UTC",
                            "--overlap", "parallel", "--handler", "noop")

    def sample(self):
        """How far ahead the rows of the group's table reach."""
        rows, last = self.cluster.sql(
            "SELECT COUNT(*), MAX(trigger_time_us) FROM lts_wjq_default")[0]
        after = time.time()
        ahead = int(last) / 1e6 - after if last is not None else 0.0
        self.samples.append(((accounts.now() - self.started).total_seconds(),
                             int(rows), ahead))
        return ahead

    def kill_and_restart(self, pause):
        begin = self.cluster.tracker.kill()
        time.sleep(pause)
        self.cluster.start_tracker()
        self.down.append((begin, time.monotonic()))

    def finish(self):
        """Ends the schedule after a fire, and waits until nothing of it runs."""
        self.cluster.client("suspend", TASK)
        self.ended = accounts.now()
        wait_for("the last runs to end", self.cluster.is_idle)
        self.rows = self.cluster.history(TASK)

    def problems(self):
        """Between the first and the last fire that has an outcome, every second has one."""
        first, last = accounts.first_end_and_last_run(self.rows)
        # One that was claimed ahead of its time may be called off just before it.
        fires = accounts.every_seconds(1, first - accounts.SECOND, self.ended + accounts.SECOND)
        wrong = accounts.account(fires, self.rows, last)
        if (first - self.started).total_seconds() > 2:
            wrong.append(f"submitted at {self.started}, and the first fire was {first}")
        # What comes due while it is suspended may be left out.
        if (self.ended - last).total_seconds() > 5:
            wrong.append(f"suspended at {self.ended}, and the last fire was {last}")
        wrong += [f"{row['trigger_time']}: {row['state']}: {row['message']}" for row in self.rows
                  if row["state"] not in ("succeeded", "missed", "cancelled")]
        wrong += [f"after {at:.0f} s rows reached {ahead:.1f} s ahead"
                  for at, _, ahead in self.samples if ahead > self.horizon]
        return wrong

    def missed(self):
        return sum(int(row["count"]) for row in self.rows if row["state"] == "missed")
