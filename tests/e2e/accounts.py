"""Says what became of every fire and every run, from the tracker's history and the runs' own notes.

The notes are what the runs themselves wrote, so they know of runs that the tracker does not. The
fires that a schedule demands are worked out here once more, by trying every second or minute.
"""

import collections
import datetime
import pathlib
import zoneinfo

UTC = datetime.timezone.utc
SECOND = datetime.timedelta(seconds=1)

# A run of this shell line notes that it was started, by which worker and as which attempt.
NOTE = ('echo "$CARILLON_TASK_ID $CARILLON_JOB_ID $CARILLON_ATTEMPT $CARILLON_NODE '
        '$CARILLON_TRIGGER_TIME" >> "$NOTES"')

Run = collections.namedtuple("Run", "task_id job_id attempt node trigger_time")


def now():
    return datetime.datetime.now(UTC)


def instant(text):
    """Of an RFC 3339 text."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def notes(path):
    """What the runs noted, in order."""
    path = pathlib.Path(path)
    if not path.exists():
        return []
    lines = path.read_text().splitlines()
    return [Run(task, job, int(attempt), node, trigger)
            for task, job, attempt, node, trigger in (line.split(" ") for line in lines)]


def every_seconds(step, start, end):
    """The multiples of `step` seconds of the minute, later than start and up to end."""
    at = start.replace(microsecond=0)
    while at <= end:
        if at > start and at.second % step == 0:
            yield at
        at += datetime.timedelta(seconds=1)


def every_so_often(step, first, end):
    """The first time and those each `step` milliseconds after it, up to end."""
    step = datetime.timedelta(milliseconds=step)
    return [first + number * step for number in range((end - first) // step + 1)]


def _numbers(field, lowest, highest):
    chosen = set()
    for item in field.split(","):
        what, _, step = item.partition("/")
        first, _, last = what.partition("-")
        if what == "*":
            first, last = lowest, highest
        last = last or (highest if step else first)
        chosen.update(range(int(first), int(last) + 1, int(step or 1)))
    return chosen


def every_minutes(expression, zone, start, end):
    """The fires of a five-field expression of numbers, later than start and up to end."""
    minute, hour, day, month, weekday = expression.split()
    minutes, hours = _numbers(minute, 0, 59), _numbers(hour, 0, 23)
    days, months = _numbers(day, 1, 31), _numbers(month, 1, 12)
    weekdays = {number % 7 for number in _numbers(weekday, 0, 7)}
    either = not day.startswith("*") and not weekday.startswith("*")
    tz = zoneinfo.ZoneInfo(zone)
    at = start.replace(second=0, microsecond=0)
    while at <= end:
        local = at.astimezone(tz)
        is_day, is_weekday = local.day in days, local.isoweekday() % 7 in weekdays
        is_right_day = (is_day or is_weekday) if either else (is_day and is_weekday)
        if (at > start and local.minute in minutes and local.hour in hours
                and local.month in months and is_right_day):
            yield at
        at += datetime.timedelta(minutes=1)


ATTEMPT_STATES = {"succeeded", "failed", "timed_out", "killed", "lost", "later", "discarded"}
RANGE_STATES = {"skipped", "missed", "expired", "cancelled"}


def first_end_and_last_run(rows):
    """The trigger times between which a task's history can be held to account."""
    # Its first fires may all have been missed.
    return (min(instant(row["trigger_time"]) for row in rows),
            max(instant(row["trigger_time"]) for row in rows if row["attempt"]))


def account(expected, rows, through=None):
    """What is wrong with a task's history, if each of the expected fires ended once; [] if nothing.

    A fire has an end of its own: a job with its trigger time. Or it lies in a range: a row without
    an attempt that names the first fire and how many, passing over those that ended by themselves.
    Fires later than `through` need not have ended.
    """
    expected = set(expected)
    wrong = []
    fires = sorted(expected)
    jobs = collections.defaultdict(list)
    ranges = []
    for row in rows:
        if row["state"] == "cancelled" and row["job_id"]:
            jobs[row["job_id"]].append(row)  # suspended just before its start
        elif row["state"] in ATTEMPT_STATES:
            jobs[row["job_id"]].append(row)
        elif row["state"] in RANGE_STATES:
            ranges.append((instant(row["trigger_time"]), int(row["count"]), row["state"]))
        else:
            wrong.append(f"a row with the state {row['state']}")
    by_fire = collections.defaultdict(list)
    for job_id, attempts in jobs.items():
        for fire in {instant(row["trigger_time"]) for row in attempts}:
            by_fire[fire].append(job_id)
    for fire, ids in sorted(by_fire.items()):
        if len(ids) > 1:
            wrong.append(f"{fire} was run by {len(ids)} jobs")
        if fire not in expected:
            wrong.append(f"{fire} ran, and is no fire of the schedule")
    left = [fire for fire in fires if fire not in by_fire]
    for first, count, state in sorted(ranges, reverse=True):  # one within another, before that
        covered = [fire for fire in left if fire >= first][:count]
        if len(covered) < count or covered[0] != first:
            wrong.append(f"{count} {state} from {first}, where only {covered} are unaccounted for")
        left = [fire for fire in left if fire not in set(covered)]
    wrong.extend(f"{fire} was lost" for fire in left if through is None or fire <= through)
    return wrong


def doubled(runs, dead_nodes):
    """Runs of one job that nothing excuses: an earlier one's worker was not killed.

    Requires: nothing that was run asks to be run again.
    """
    wrong = []
    by_job = collections.defaultdict(list)
    for run in runs:
        by_job[run.job_id].append(run)
    for job_id, of_job in by_job.items():
        if len({run.attempt for run in of_job}) != len(of_job):
            wrong.append(f"job {job_id} ran one attempt twice: {of_job}")
        for run in sorted(of_job, key=lambda run: run.attempt)[:-1]:
            if run.node not in dead_nodes:
                wrong.append(f"job {job_id} ran again, and {run.node} was alive: {of_job}")
    return wrong
