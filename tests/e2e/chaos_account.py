"""What became of every job, trigger, suspension, cancellation and result of a chaos: who was promised
what is held against what the runs wrote down, what the job log says, and what the listeners printed.

Each check returns what is wrong, as texts, and adds to `counts` how often it had something to check.
"""

import collections
import itertools
import json

import accounts

# A freeze as long as this may outlive a lease of 3 s that is renewed each second; none is in between.
SHORT_FREEZE, LONG_FREEZE = (0.1, 1.0), (4.0, 8.0)
BEGINS = 2  # after that time its own note has been written, whatever became of its task tracker
# What was handed out before has begun by then, or never does: the other side of a short freeze too.
SENT = BEGINS + SHORT_FREEZE[1]
EARLY = 0.3  # so long before its time a fire may be with a task tracker
STORED = 2  # by then a result is stored, where nothing befalls job trackers or database
SETTLES = 5  # so long after a fault of these everything works again
SOONEST = 0.5  # a lease does not end sooner after what befell its task tracker


class Run:
    """What a run wrote down, and when, in seconds of the chaos."""

    def __init__(self, words, at):
        self.task, self.job, attempt, self.node = words
        self.attempt = int(attempt)
        self.at = at
        self.status = None  # it noted no end
        self.ended_at = float("inf")

    def __repr__(self):
        return f"{self.task} attempt {self.attempt} on {self.node} at {self.at:.2f}, ended: {self.status}"


class Notes:
    """The file, read."""

    def __init__(self, path):
        self.runs = []
        self.killed = {}                             # by node: when
        self.frozen = collections.defaultdict(list)  # by node: from, to
        self.stopped, self.left = {}, {}             # by node: when it was told to, and had ended
        self.trouble = []                            # of job trackers and database: from, to
        self.cancelled = {}                          # by task: when that was acknowledged
        self.held = collections.defaultdict(list)    # by task: acknowledged from, asked to end
        self.tokens = collections.defaultdict(set)   # by what a trigger gave it: jobs that had it
        self.wrong = []
        now, open_runs, open_trouble = 0.0, {}, {}
        for line in path.read_text().splitlines():
            what, *words = line.split(" ")
            if what == "time":
                now = float(words[0])
            elif what == "start":
                run = Run(words, now)
                if (run.job, run.attempt) in open_runs:
                    self.wrong.append(f"one attempt ran twice: {run}, {open_runs[run.job, run.attempt]}")
                open_runs[run.job, run.attempt] = run
                self.runs.append(run)
            elif what == "end":
                run = open_runs.get((words[1], int(words[2])))
                if run is None:
                    self.wrong.append(f"a run ended that never began: {line}")
                else:
                    run.status, run.ended_at = int(words[4]), now
            elif what == "token":
                self.tokens[words[0]].add(words[1])
            elif what == "frozen":
                self.frozen[words[0]].append([now, float("inf")])
            elif what == "thawed":
                self.frozen[words[0]][-1][1] = now
            elif what == "trouble":
                open_trouble[words[0]] = span = [now, float("inf")]
                self.trouble.append(span)
            elif what == "over":
                open_trouble.pop(words[0])[1] = now
            elif what == "suspended":
                self.held[words[0]].append([now, float("inf")])
            elif what == "resuming":
                self.held[words[0]][-1][1] = now
            else:
                getattr(self, what)[words[0]] = now
        self.began = {(run.job, run.attempt, run.node) for run in self.runs}
        self.of_task = collections.defaultdict(list)
        for run in self.runs:
            self.of_task[run.task].append(run)

    def long_freezes(self, node):
        return [span for span in self.frozen[node] if span[1] - span[0] >= LONG_FREEZE[0] - 0.5]

    def stored_by(self, ended_at):
        """When a result of then is stored at the latest."""
        by = ended_at
        for since, to in self.trouble:  # by their beginnings
            if since > by + STORED:
                break
            by = max(by, to + SETTLES)
        return by + STORED

    def hits(self, at, run, again):
        """Whether what befell its task tracker then cost the run its lease before `again` began: it had
        begun, or what was handed out had, and its result was not stored yet."""
        return run.at - BEGINS <= at <= min(again.at - SOONEST, self.stored_by(run.ended_at))

    def excuse(self, run, again):
        """Why `run` was repeated by `again`; None if nothing excuses it. One that was stopped in order
        ends what it runs, and what befalls job trackers and database repeats nothing."""
        if run.status and run.ended_at <= again.at:
            return "failed"
        if self.hits(self.killed.get(run.node, float("inf")), run, again):
            return "killed"
        # What it was handed before and had not begun, it must not begin when it goes on.
        if any(self.hits(since, run, again) for since, _ in self.long_freezes(run.node)):
            return "frozen"
        return None

    def may_lose(self, row):
        """Whether something befell the task tracker of a lost attempt before that was recorded; or it
        stopped while it could not say so, and what it was handed then never began."""
        by = row.ended_at - SOONEST
        if self.killed.get(row.node, float("inf")) <= by:
            return True
        if any(since <= by and to >= row.at - BEGINS for since, to in self.long_freezes(row.node)):
            return True
        stopped, left = (of.get(row.node, float("inf")) for of in (self.stopped, self.left))
        return (left <= by and (row.job, row.attempt, row.node) not in self.began
                and any(since <= left and to + SETTLES >= stopped for since, to in self.trouble))

    def repeats(self):
        """How many runs were repeated for which reason; what has none goes to `wrong`."""
        found = collections.Counter()
        by_job = collections.defaultdict(list)
        for run in self.runs:
            by_job[run.job].append(run)
        for runs in by_job.values():
            runs.sort(key=lambda run: run.attempt)
            for run, again in itertools.pairwise(runs):
                why = self.excuse(run, again)
                found[why or "NOTHING"] += 1
                if why is None:
                    self.wrong.append(f"ran again without need: {run}, then {again}")
        return found


# A row of the job log: when the attempt was handed out or began, and when it ended, in seconds of the chaos.
Row = collections.namedtuple("Row", "job task attempt state node final at ended_at")
SUCCEEDED, FAILED, LOST = 0, 1, 4  # states in the tables


def of_jobs(notes, log, there, acknowledged, silent, counts):
    """Each job ended once, each of its attempts too, and as the runs wrote down. `log`: rows in the order of
    their numbers. `there`: tasks that were submitted and acknowledged; `acknowledged`: the jobs that they were
    said to be, as far as that is known, and of triggers, (task, job). `silent`: tasks whose runs write nothing."""
    wrong = []
    rows_of, jobs_of = collections.defaultdict(list), collections.defaultdict(set)
    for row in log:
        if row.job != "0":
            rows_of[row.job].append(row)
            jobs_of[row.task].add(row.job)
    for job, rows in rows_of.items():
        counts["jobs in the history"] += 1
        finals = [row for row in rows if row.final]
        if len(finals) != 1:
            wrong.append(f"{len(finals)} final rows of one job: {rows}")
        elif finals[0] is not rows[-1]:
            wrong.append(f"it went on after its end: {rows}")
        attempts = [row.attempt for row in rows if row.attempt]
        if any(before >= after for before, after in itertools.pairwise(attempts)):
            wrong.append(f"an attempt ended twice or too late: {rows}")
    statuses = {(run.job, run.attempt, run.node): run.status for run in notes.runs}
    logged = set()
    for row in itertools.chain.from_iterable(rows_of.values()):
        logged.add((row.job, row.attempt, row.node))
        if row.state == LOST:
            counts["attempts that were lost"] += 1
            if not notes.may_lose(row):
                wrong.append(f"lost, and nothing befell its task tracker: {row}")
        elif row.state in (SUCCEEDED, FAILED) and row.task not in silent:
            status = statuses.get((row.job, row.attempt, row.node))
            if status is None or (status == 0) != (row.state == SUCCEEDED):
                wrong.append(f"recorded otherwise than it was written down by its run, {status}: {row}")
    wrong.extend(f"ran, and has no row: {run}" for run in notes.runs
                 if (run.job, run.attempt, run.node) not in logged)
    # Their task ids are used once.
    for task in {*there, *(task for task in jobs_of if task.startswith(("job-", "cancel-")))}:
        counts["jobs acknowledged"] += task in there
        if len(jobs_of[task]) != 1:
            wrong.append(f"submitted once, and has {len(jobs_of[task])} jobs in the history: {task}")
    for task, job in acknowledged:
        counts["jobs whose number was said"] += 1
        if job not in jobs_of[task]:
            wrong.append(f"acknowledged as job {job}, and the history has {jobs_of[task]}: {task}")
    return wrong


def ends(history):
    """Rows by task."""
    found = collections.defaultdict(list)
    for row in history:
        found[row["task_id"]].append(row)
    return found


def of_cancellations(notes, history, said, finals, counts):
    """`said`: what each cancellation was answered, by task; None where only a second one was, with
    "not found". `finals`: how many final rows the job log has of a task. None of the jobs ever succeeds."""
    wrong = []
    rows_of = ends(history)
    for task, answer in said.items():
        at = notes.cancelled[task]
        before = [run for run in notes.of_task[task] if run.at <= at]
        late = [run for run in notes.of_task[task] if run.at > at + SENT]
        wrong.extend(f"began after it had been cancelled at {at:.2f}: {run}" for run in late)
        stage = ("waiting" if not before else
                 "retrying" if max(before, key=lambda run: run.attempt).ended_at <= at else "running")
        counts[f"cancelled while {stage}" if answer else "cancelled by a call that had no answer"] += 1
        if finals[task] != 1:
            wrong.append(f"cancelled ({stage}), and has {finals[task]} final rows: {task}")
        states = {row["state"] for row in rows_of[task]}
        if "succeeded" in states:
            wrong.append(f"cancelled ({stage}), and succeeded: {task}")
        # A run that was told to stop ends as it ends: by that, by itself, or with its task tracker.
        last = rows_of[task][0]["state"] if rows_of[task] else "nothing"  # newest first
        allowed = {"cancelled"} if answer and "told to stop" not in answer else {
            "cancelled", "killed", "failed", "lost"}
        if last not in allowed:
            wrong.append(f"'{answer}', and the history ends with {last}: {task}")
    return wrong


def of_suspensions(notes, history, spans, counts):
    """`spans`: by task, from when to when it was suspended, by the wall clock."""
    wrong = []
    rows_of = ends(history)
    for task, held in spans.items():
        due = {str(row["job_id"]): accounts.instant(row["trigger_time"]).timestamp()
               for row in rows_of[task] if row["trigger_time"]}
        for run in notes.of_task[task]:
            counts["runs of what was suspended in between"] += 1
            if any(since + SENT < run.at < to for since, to in notes.held[task]):
                wrong.append(f"began while it was suspended: {run}, {notes.held[task]}")
            at = due.get(run.job)
            if at is None:
                wrong.append(f"ran, and is not in the history: {run}")
            elif any(since + EARLY < at < to - EARLY for since, to in held):
                wrong.append(f"its fire of {at:.2f} came while it was suspended: {run}, {held}")
        for since, to in held:
            counts["suspensions"] += 1
            counts["seconds suspended"] += round(to - since)
        last = max(to for _, to in held)
        if not any(at > last for at in due.values()):
            wrong.append(f"resumed, and never fired again: {task}")
    return wrong


def of_triggers(notes, history, acknowledged, unknown, counts):
    """`acknowledged`: the job that each token's trigger was answered; `unknown`: tokens without one."""
    wrong = []
    succeeded = collections.Counter(row["job_id"] for row in history if row["state"] == "succeeded")
    for token, job in acknowledged.items():
        counts["triggers acknowledged"] += 1
        if notes.tokens[token] != {job}:
            wrong.append(f"trigger {token} was acknowledged as job {job}, and was run by {notes.tokens[token]}")
        if succeeded[job] != 1:
            wrong.append(f"trigger {token}: job {job} succeeded {succeeded[job]} times")
    for token in unknown:
        counts["triggers without an answer"] += 1
        if len(notes.tokens[token]) > 1:
            wrong.append(f"trigger {token} had no answer, and was run by {notes.tokens[token]}")
    wrong.extend(f"nobody triggered {token}: {jobs}" for token, jobs in notes.tokens.items()
                 if jobs and token not in acknowledged and token not in unknown)
    return wrong


def of_children(history, children_of, counts):
    """`children_of`: the child of each task that has one, as (group, task)."""
    wrong = []
    expected = collections.Counter()
    for row in history:
        child = children_of.get(row["task_id"])
        if child is None or row["state"] != "succeeded":
            continue
        if "not triggered: " in (row["message"] or ""):
            counts["successes that name a child in quarantine"] += 1
            if "quarantine" not in row["message"]:
                wrong.append(f"set nothing off: {row}")
            continue
        counts["successes with a child"] += 1
        expected[child] += 1
    jobs = collections.defaultdict(set)
    for row in history:
        child = (row["group"], row["task_id"])
        if child not in set(children_of.values()):
            continue
        if row["state"] == "succeeded":
            if row["job_id"] in jobs[child]:
                wrong.append(f"a child ended twice: {row}")
            jobs[child].add(row["job_id"])
        elif row["attempt"] == 0:  # Not triggered, as another job tracker looks after it.
            if "quarantine" in (row["message"] or ""):
                counts["successes that name a child in quarantine"] += 1
                expected[child] -= 1
            else:
                wrong.append(f"a child did not run: {row}")
    for child in set(expected) | set(jobs):
        counts["runs of children"] += len(jobs[child])
        if len(jobs[child]) != expected[child]:
            wrong.append(f"{child}: {expected[child]} successes set it off, and {len(jobs[child])} of "
                         "its jobs succeeded")
    return wrong


def told(path):
    """What listeners printed, in order. One that was killed may leave a line without its end."""
    found = []
    for line in path.read_text().splitlines() if path.exists() else []:
        start = line.rfind('{"job_id"')
        try:
            found.append(json.loads(line[start:] if start > 0 else line))
        except ValueError:
            continue  # It was not printed, so it was not acknowledged: another line has it.
    return found


def of_feedback(printed, stored, is_wanted, counts):
    """`stored`: the final row of each success, (log id, group, job, attempt, task), in order of log ids.
    `is_wanted`: whether feedback was asked for, by task."""
    wrong = []
    first = {}
    for place, row in enumerate(printed):
        if not is_wanted(row["task_id"]):
            wrong.append(f"told, and nobody asked: {row}")
        first.setdefault(str(row["job_id"]), (place, row))
    counts["results told again"] += len(printed) - len(first)
    places = collections.defaultdict(list)
    for log_id, group, job, attempt, task in stored:
        if not is_wanted(task):
            continue
        if job not in first:
            wrong.append(f"never told: {task}, job {job}")
            continue
        place, row = first[job]
        counts["results told"] += 1
        if (row["state"], str(row["attempt"])) != ("succeeded", attempt):
            wrong.append(f"told otherwise than it is recorded, succeeded by attempt {attempt}: {row}")
        places[group].append((place, log_id, task))
    # Of one node group: its job tracker stores ends in the order of their numbers. Others store at the
    # same time, and what is stored is told at once.
    for of_group in places.values():
        for (place, log_id, task), (next_place, next_log_id, next_task) in itertools.pairwise(of_group):
            counts["pairs of results in order"] += 1
            if next_place < place:
                wrong.append(f"told in another order than that of their ends: {next_task} ({next_log_id}) "
                             f"before {task} ({log_id})")
    return wrong


# What a chaos has to come to, so that its account says something.
NEEDED = [
    "cancelled while waiting", "cancelled while running", "cancelled while retrying", "suspensions",
    "runs of what was suspended in between", "triggers acknowledged", "successes with a child",
    "results told", "pairs of results in order", "listeners killed",
    "jobs acknowledged", "jobs whose number was said",
    "jobs stored in an outbox", "kills of a client with jobs in its outbox",
]


def not_exercised(counts):
    return [f"never exercised: {what}" for what in NEEDED if not counts[what]]
