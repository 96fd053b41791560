#!/usr/bin/env python3
"""Half an hour of pre-generation with the real defaults: ten minutes ahead, every nine minutes.

A parallel schedule fires every second; once a minute the group's table is asked how far ahead it
reaches. In the middle the job tracker is killed with kill -9 and started again. Ends with an account of
every second. Not a part of ctest; run it by hand:

  tests/e2e/long/pregenerate.py --minutes 25 --kill-after 13 [--store mariadb]
"""

import argparse
import datetime
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import harness  # noqa: E402
import pregeneration  # noqa: E402


def say(text):
    print(f"{datetime.datetime.now(datetime.timezone.utc):%H:%M:%S} {text}", flush=True)


def watch(cluster, minutes, kill_after):
    watching = pregeneration.Watch(cluster, horizon_seconds=600)
    watching.submit()
    start = time.monotonic()
    for minute in range(minutes + 1):
        time.sleep(max(0.0, start + minute * 60 - time.monotonic()))
        if minute == kill_after:
            watching.kill_and_restart(pause=8)
            say("the job tracker was killed, and started again after 8 s")
        ahead = watching.sample()
        say(f"minute {minute}: {watching.samples[-1][1]} rows, the last {ahead:.1f} s ahead")
    watching.finish()
    wrong = watching.problems()
    states = {}
    for row in watching.rows:
        states[row["state"]] = states.get(row["state"], 0) + int(row["count"])
    worst = max(ahead for _, _, ahead in watching.samples)
    say(f"fires by outcome: {states}; furthest ahead: {worst:.1f} s")
    for line in wrong:
        say(f"WRONG: {line}")
    say("every second is accounted for" if not wrong else f"{len(wrong)} problems")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=int, default=25)
    parser.add_argument("--kill-after", type=int, default=13, help="minutes")
    parser.add_argument("--store", choices=["sqlite", "mariadb"], default="sqlite")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="carillon-long-") as folder:
        folder = pathlib.Path(folder)
        mariadb = harness.Mariadb(folder / "mariadb") if given.store == "mariadb" else None
        cluster = harness.Cluster(folder / "cluster", mariadb or "sqlite")
        try:
            cluster.start_tracker()
            cluster.start_worker(threads=4)
            return watch(cluster, given.minutes, given.kill_after)
        finally:
            cluster.close()
            if mariadb:
                mariadb.close()


if __name__ == "__main__":
    sys.exit(main())
