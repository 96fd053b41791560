#!/usr/bin/env python3
"""The crontab of the end-to-end test for several minutes, on both stores at once.

Every other minute the job tracker is killed, away over the full minute, and started again; then a
busy worker is killed. Ends with an account of every fire. Not a part of ctest; run it by hand:

  tests/e2e/long/crontab.py --minutes 6
"""

import argparse
import datetime
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import harness  # noqa: E402
from crontab_run import CrontabRun, sleep_until_second  # noqa: E402


def say(text):
    print(f"{datetime.datetime.now(datetime.timezone.utc):%H:%M:%S} {text}", flush=True)


def go(runs, minutes):
    for run in runs:
        run.start()
    say(f"{len(runs[0].entries)} entries were imported")
    for minute in range(minutes):
        sleep_until_second(57)
        if minute % 2 == 1:
            say("a quiet minute")
            time.sleep(10)
            continue
        for run in runs:
            run.kill_tracker()
        sleep_until_second(4 + 6 * (minute % 4 // 2))  # shorter and longer than a fire may be late
        for run in runs:
            run.restart_tracker()
        for run in runs:
            run.kill_busy_worker()
        say("the job tracker was killed and restarted, and a busy worker replaced")
    sleep_until_second(15)
    failed = 0
    for run in runs:
        run.finish()
        wrong = run.problems()
        failed += len(wrong)
        say(f"{run.cluster.store_url.split(':')[0]}: {len(run.runs)} runs noted, {run.outcomes()}")
        for line in wrong:
            say(f"WRONG: {line}")
    say("every fire is accounted for" if not failed else f"{failed} problems")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=int, default=6)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="carillon-long-") as folder:
        folder = pathlib.Path(folder)
        mariadb = harness.Mariadb(folder / "mariadb")
        clusters = [harness.Cluster(folder / name, store)
                    for name, store in (("sqlite", "sqlite"), ("mariadb", mariadb))]
        try:
            return go([CrontabRun(cluster) for cluster in clusters], given.minutes)
        finally:
            for cluster in clusters:
                cluster.close()
            mariadb.close()


if __name__ == "__main__":
    sys.exit(main())
