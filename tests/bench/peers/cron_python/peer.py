"""How fast libraries for Python compile expressions and find next fires; see compare_cron.py."""

import datetime
import json
import sys
import time
import zoneinfo

from croniter import croniter
from cronsim import CronSim

PLAN = json.loads(sys.argv[1])
START = datetime.datetime.fromisoformat(PLAN["start"].replace("Z", "+00:00")).astimezone(
    zoneinfo.ZoneInfo(PLAN["zone"]))


def nanoseconds(call):
    begin = time.perf_counter_ns()
    until, calls = begin + PLAN["ms"] * 1_000_000, 0
    while time.perf_counter_ns() < until:
        for _ in range(10):
            call()
        calls += 10
    return (time.perf_counter_ns() - begin) / calls


def walk(open_at_start):
    """From fire to fire, and from the start again before the years run out."""
    fires = open_at_start()

    def step():
        nonlocal fires
        if next(fires).year > 2190:
            fires = open_at_start()
    return step


LIBRARIES = {
    "cronsim": lambda text: CronSim(text, START),
    "croniter": lambda text: croniter(text, START, ret_type=datetime.datetime),
}

print(json.dumps({
    name: {what: {"compile": nanoseconds(lambda: open_at(text)),
                  "next": nanoseconds(walk(lambda: open_at(text)))}
           for what, text in PLAN["expressions"].items()}
    for name, open_at in LIBRARIES.items()}))
