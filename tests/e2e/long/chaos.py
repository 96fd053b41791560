#!/usr/bin/env python3
"""carillon-chaos: 3 job trackers, 4 task trackers and 2 clients on one MariaDB, under load, a node group of
theirs in parts, while for minutes something is killed, frozen, restarted or cut off; the database too.

Ends with a report: what was submitted, run and recorded, which runs were repeated and why, and whatever
does not add up; exit status 1 if anything does not. Not a part of ctest; run it by hand:

  build/release/bin/carillon-chaos --minutes 10 [--seed N] [--keep FOLDER]
"""

import argparse
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from chaos_run import Chaos  # noqa: E402


def go(folder, minutes, seed):
    print(f"seed {seed}, {minutes} minutes", flush=True)
    chaos = Chaos(folder, seed, say=lambda text: print(text, flush=True))
    try:
        chaos.start()
        chaos.strike(minutes * 60)
        chaos.settle()
        wrong = chaos.account()
    finally:
        chaos.close()
    for line in wrong:
        print(f"WRONG: {line}", flush=True)
    print("every job is accounted for" if not wrong else f"{len(wrong)} problems", flush=True)
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--keep", type=pathlib.Path, help="a new folder, which is kept, with all logs")
    given = parser.parse_args()
    if not 0 < given.minutes <= 10080:
        parser.error(f"--minutes is {given.minutes:g}, must be above 0 and at most 10080")
    if given.keep:
        try:
            given.keep.mkdir()
        except OSError as error:
            parser.error(f"--keep {given.keep} cannot be made: {error.strerror} (name a new folder)")
        return go(given.keep.resolve(), given.minutes, given.seed)
    with tempfile.TemporaryDirectory(prefix="carillon-chaos-") as folder:
        return go(pathlib.Path(folder), given.minutes, given.seed)


if __name__ == "__main__":
    sys.exit(main())
