#!/usr/bin/env python3
"""The benchmark fails when the history has lost a row, or has one twice."""

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
    ("latency", ["--jobs", "20", "--warm-up-jobs", "2"], 7),
    ("limit", ["--jobs", "1000"], 30),
    ("overload", ["--maximum", "100", "--seconds", "1"], 7),
    ("push", ["--fires", "20", "--seconds", "2"], 7),
    ("push-overload", ["--fires", "20", "--seconds", "2", "--lead", "2s"], 7),
    ("recover", ["--jobs", "20", "--hold", "8s"], 30),
    ("submit", ["--jobs", "60", "--singles", "60"], 30),
]
LOSE = "DELETE FROM lts_job_log WHERE log_id = NEW.log_id"
DOUBLE = "INSERT INTO lts_job_log ({names}) SELECT {values} FROM lts_job_log WHERE log_id = NEW.log_id"


def doubling(database):
    names = [row[1] for row in database.execute("PRAGMA table_info(lts_job_log)")]
    values = ["log_id + 1" if name == "log_id" else name for name in names]
    return DOUBLE.format(names=", ".join(names), values=", ".join(values))


# The row with that number, counted from now on, is lost or there twice.
def put_fault(store, fault, row):
    with sqlite3.connect(store) as database:
        act = LOSE if fault == "lose" else doubling(database)
        database.executescript(f"""
            CREATE TABLE rows_written (count INTEGER);
            INSERT INTO rows_written VALUES (0);
            CREATE TRIGGER fault AFTER INSERT ON lts_job_log BEGIN
              UPDATE rows_written SET count = count + 1;
              {act} AND (SELECT count FROM rows_written) = {row};
            END;""")
    database.close()


class HistoryFaultTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="carillon-bench-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def bench(self, store, workload, flags):
        return subprocess.run(
            [BENCH, workload, "--warm-up", "0", "--store", f"sqlite:{store}", *flags],
            capture_output=True, text=True, timeout=180, check=False)

    def test_each_workload_fails_when_a_row_is_lost_or_doubled(self):
        empty = self.folder / "empty.db"
        made = self.bench(empty, "drain", ["--jobs", "1"])
        self.assertEqual(made.returncode, 0, made.stderr)
        for number, (workload, flags, row) in enumerate(WORKLOADS):
            for fault, word in (("lose", "never ended"), ("double", "ended twice")):
                with self.subTest(workload=workload, row=row, fault=fault):
                    store = self.folder / f"{number}-{fault}.db"
                    shutil.copy(empty, store)
                    put_fault(store, fault, row)
                    run = self.bench(store, workload, flags)
                    self.assertNotEqual(run.returncode, 0, run.stdout)
                    self.assertIn(word, run.stderr)


if __name__ == "__main__":
    unittest.main()
