#!/usr/bin/env python3
"""The benchmark fails when a row of the history is lost, there twice or wrong, or a job is left."""

import os
import shutil
import sqlite3
import subprocess
import tempfile
import unittest
from pathlib import Path

BENCH = Path(os.environ["CARILLON_BIN_DIR"]) / "carillon-bench"

# What is run, and which row of the log, counted from the first, is meant: of fires one that was
# written before the time that is measured.
WORKLOADS = [
    ("burst", ["--jobs", "60", "--lead", "2s"], 30),
    ("cron", ["--fires", "20", "--seconds", "2"], 7),
    ("cron", ["--fires", "20", "--seconds", "2", "--spread"], 7),
    ("drain", ["--jobs", "60"], 7),
    ("flow", ["--maximum", "100", "--loads", "50", "--seconds", "1"], 7),
    ("http-submit", ["--jobs", "60", "--turns", "1"], 30),
    ("latency", ["--jobs", "20", "--warm-up-jobs", "2"], 7),
    ("limit", ["--jobs", "1000"], 30),
    ("overload", ["--maximum", "100", "--seconds", "1"], 7),
    ("push", ["--fires", "20", "--seconds", "2"], 7),
    ("push-overload", ["--fires", "20", "--seconds", "2", "--lead", "2s"], 7),
    ("recover", ["--jobs", "20", "--hold", "8s"], 30),
    ("submit", ["--jobs", "60", "--singles", "60"], 30),
]
# What is said of a lost row and of one that is there twice, where it is not what the others say.
REASONS = {"recover": ("ended as lost, not as expected", "ended as lost succeeded succeeded, not")}
LOSE = "DELETE FROM lts_job_log WHERE log_id = NEW.log_id"
DOUBLE = "INSERT INTO lts_job_log ({names}) SELECT {values} FROM lts_job_log WHERE log_id = NEW.log_id"
EARLY = "UPDATE lts_job_log SET started_us = trigger_time_us - 5000 WHERE log_id = NEW.log_id"
MOVE = "UPDATE lts_job_log SET trigger_time_us = trigger_time_us - 5000 WHERE log_id = NEW.log_id"
KEEP = "INSERT INTO lts_executing_job_queue ({names}) SELECT {values} WHERE true"


def columns(database, table):
    return [row[1] for row in database.execute(f"PRAGMA table_info({table})")]


def doubling(database):
    names = columns(database, "lts_job_log")
    values = ["log_id + 1" if name == "log_id" else name for name in names]
    return DOUBLE.format(names=", ".join(names), values=", ".join(values))


def keeping(database):
    names = columns(database, "lts_executing_job_queue")
    values = [f"OLD.{name}" for name in names]
    return KEEP.format(names=", ".join(names), values=", ".join(values))


# What happens to the row of the log with that number, counted from now on; or, for "keep", to that
# of an executing job when it ends.
def put_fault(store, fault, row):
    with sqlite3.connect(store) as database:
        event = "DELETE ON lts_executing_job_queue" if fault == "keep" else "INSERT ON lts_job_log"
        act = {"lose": LOSE, "double": doubling(database), "early": EARLY, "move": MOVE,
               "keep": keeping(database)}[fault]
        database.executescript(f"""
            CREATE TABLE rows_seen (count INTEGER);
            INSERT INTO rows_seen VALUES (0);
            CREATE TRIGGER fault AFTER {event} BEGIN
              UPDATE rows_seen SET count = count + 1;
              {act} AND (SELECT count FROM rows_seen) = {row};
            END;""")
    database.close()


class HistoryFaultTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="carillon-bench-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.empty = self.folder / "empty.db"
        made = self.bench(self.empty, "drain", ["--jobs", "1"])
        self.assertEqual(made.returncode, 0, made.stderr)

    def bench(self, store, workload, flags):
        return subprocess.run(
            [BENCH, workload, "--warm-up", "0", "--store", f"sqlite:{store}", *flags],
            capture_output=True, text=True, timeout=180, check=False)

    def check_fails(self, workload, flags, fault, row, reason):
        with self.subTest(workload=workload, flags=flags, fault=fault):
            store = Path(tempfile.mkdtemp(dir=self.folder)) / "faulty.db"
            shutil.copy(self.empty, store)
            put_fault(store, fault, row)
            run = self.bench(store, workload, flags)
            self.assertNotEqual(run.returncode, 0, run.stdout)
            self.assertIn(reason, run.stderr)

    def test_every_workload_fails_when_a_row_is_lost_or_duplicated(self):
        for workload, flags, row in WORKLOADS:
            lost, twice = REASONS.get(workload, ("never ended", "ended twice"))
            self.check_fails(workload, flags, "lose", row, lost)
            self.check_fails(workload, flags, "double", row, twice)

    def test_early_starts_and_wrong_trigger_times_are_detected(self):
        for workload, flags, row in WORKLOADS:
            if workload not in ("burst", "cron"):
                continue
            self.check_fails(workload, flags, "early", row, "5.000000 ms before its time")
            moved = "and was to run at" if workload == "burst" else "which is none of its times"
            self.check_fails(workload, flags, "move", row, moved)

    def test_an_ended_job_that_still_executes_is_detected(self):
        for workload, flags, row in WORKLOADS:
            if workload in ("burst", "drain", "flow", "latency", "submit"):
                self.check_fails(workload, flags, "keep", row, "0 wait and 1 execute")


if __name__ == "__main__":
    unittest.main()
