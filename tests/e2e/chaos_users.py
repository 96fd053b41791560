"""Who loads a chaos: users that call jobclient again and again, each in a way of its own, and write
down what they were promised. Any of them may be killed in the middle of a call."""

import collections
import itertools
import json
import random
import subprocess
import threading
import time

import accounts
import harness
from harness import BIN, exit_status

GROUPS = ["alpha", "alpha", "beta", "gamma"]  # of each task tracker
SPLIT_GROUP = "alpha"  # its task trackers work for several job trackers
# What a run does before it notes its end. A no-op is a handler's, and notes nothing.
KINDS = {"plain": "", "long": "sleep 2; ", "fails-once": "", "noop": None}
OFTEN = [3, 1, 2, 2]
AHEAD = 10  # the priority of what must not wait for the load
CLIENT_GROUP = "billing"
PATIENT = {"CARILLON_CONNECT_TIMEOUT": "120s", "CARILLON_ANSWER_TIMEOUT": "120s"}
NOT_FOUND = 4


def run_of(work, status="0"):
    return (f'n="$CARILLON_TASK_ID $CARILLON_JOB_ID $CARILLON_ATTEMPT $CARILLON_NODE"; s={status}; '
            f'echo "start $n" >> "$NOTES"; {work}echo "end $n $s" >> "$NOTES"; exit $s')


FAILS_ONCE = '$([ "$CARILLON_ATTEMPT" = 1 ] && echo 1 || echo 0)'
# Each is suspended and resumed in turn.
SUSPENDED = {"held-parallel": {"group": "alpha", "overlap": "parallel"}, "held-skip": {"group": "gamma"}}
# Each of their runs is told to listeners; and sets off a child.
TOLD = {"told-alpha": {"group": "alpha"}, "told-gamma": {"group": "gamma"}}
TRIGGERED = {"triggered": {"group": "beta", "manual": True, "overlap": "parallel", "shell": run_of(
    'read -r t; echo "token $t $CARILLON_JOB_ID" >> "$NOTES"; ')}}
CHILDREN = {f"child-{group}": {"group": group, "manual": True, "overlap": "parallel"}
            for group in sorted(set(GROUPS))}


def child_in(group):
    return {"group": group, "task_id": f"child-{group}"}


def definitions():
    """Of the tasks above, as lines for `submit --stdin`."""
    found = []
    for tasks, more in [(CHILDREN, {}), (TRIGGERED, {}), (SUSPENDED, {"every": "500ms"}),
                        (TOLD, {"every": "500ms", "overlap": "queue", "need_feedback": True,
                                "client_group": CLIENT_GROUP, "children": [child_in("beta")]})]:
        found += [{"task_id": task, "priority": AHEAD, "shell": run_of(""), **more, **own}
                  for task, own in tasks.items()]
    return found


class User:
    """Takes turns until it is told to finish. What goes wrong is a problem, unless it was killed."""

    PAUSE = 0.4

    def __init__(self, chaos, name):
        self.chaos, self.name = chaos, name
        self.random = random.Random(f"{chaos.seed} {name}")
        self.problems = []
        self.there = set()  # tasks that were submitted and acknowledged
        self.jobs = {}  # by task, where that was said
        self.process = None
        self.was_killed = False
        self.finishing = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self):
        self._thread.start()

    def kill(self):
        process = self.process
        if process is None or process.poll() is not None:
            return False
        self.was_killed = True
        process.kill()
        return True

    def finish(self):
        self.finishing.set()

    def join(self):
        self._thread.join(300)
        if self._thread.is_alive():
            self.problems.append(f"{self.name} hangs")

    def _run(self):
        try:
            for number in itertools.count():
                if self.finishing.wait(self.PAUSE):
                    break
                self.turn(number)
            self.end()
        except Exception as error:  # Its thread must not die unheard.
            self.problems.append(f"{self.name}: {error!r}")

    def end(self):
        pass

    def call(self, *args, stdin="", env=None):
        self.was_killed = False
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", str(BIN / "jobclient"), "-o", "jsonl", *map(str, args)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**self.chaos.cluster.env, "CARILLON_TRACKER": self.chaos.addresses(self.random),
                 **(env or PATIENT)})
        out, err = self.process.communicate(stdin)
        # It was killed in the middle of a line.
        lines = [json.loads(line) for line in out.splitlines(keepends=True) if line.endswith("\n")]
        return exit_status(self.process.returncode), lines, err.strip()

    def until_done(self, *args, also=None, patience=300):
        """Calls until it is acknowledged: what it was told then; None for the exit status or the words
        `also`, which say that a call before, whose answer is not known, did it."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            status, lines, err = self.call(*args)
            if status == 0:
                return lines[0]
            if also is not None and (status == also or status == 1 and str(also) in err):
                return None
            is_passing = (self.was_killed or status == 3 or "try again" in err or "check it again" in err)
            if not is_passing:
                self.problems.append(f"{self.name}: {args}: status {status}: {err}")
            time.sleep(0.1)
        raise AssertionError(f"{args} was not done in {patience} s")

    def take(self, answer):
        """A submission was acknowledged."""
        self.there.add(answer["task_id"])
        if answer["status"] == "accepted":
            self.jobs[answer["task_id"]] = answer["job_id"]

    def submit_all(self, specs, patience=300):
        """Until each of them is there, whatever becomes of a call."""
        end = time.monotonic() + patience
        left = {spec["task_id"]: spec for spec in specs}
        while left and time.monotonic() < end:
            _, lines, err = self.call("submit", "--stdin",
                                      stdin="".join(json.dumps(spec) + "\n" for spec in left.values()))
            for line in lines:
                if line["status"] in ("accepted", "duplicate"):
                    self.take(line)
                    left.pop(line["task_id"])
                else:
                    self.problems.append(f"{self.name}: {line}")
            if len(lines) == 0 and not self.was_killed:
                self.problems.append(f"{self.name}: no answer: {err}")
        if left:
            raise AssertionError(f"not submitted in {patience} s: {left}")


class Client(User):
    """Submits batch after batch: what is acknowledged has to succeed, and is told and sets off a child
    where that was asked for."""

    BATCH = 12
    FLAGS, ENV = (), PATIENT

    def __init__(self, chaos, name):
        super().__init__(chaos, name)
        self.accepted = {}  # kind by task
        self.told, self.silent = set(), set()
        self.children = {}  # by task
        self.unanswered = 0

    def turn(self, number):
        jobs = {f"job-{self.name}-{number}-{job}": self.random.choices(list(KINDS), OFTEN)[0]
                for job in range(self.BATCH)}
        text = "".join(json.dumps(self.spec(task, kind)) + "\n" for task, kind in jobs.items())
        status, lines, err = self.call("submit", *self.FLAGS, "--stdin", stdin=text, env=self.ENV)
        for answer in lines:
            self.answered(answer, jobs)
        self.unanswered += self.BATCH - len(lines)
        if len(lines) < self.BATCH and not self.was_killed:
            self.problems.append(f"{self.name}: {len(lines)} answers of {self.BATCH}, status {status}: {err}")

    def answered(self, answer, jobs):
        if answer["status"] == "accepted":
            self.take(answer)
            self.accepted[answer["task_id"]] = jobs[answer["task_id"]]
        else:
            self.problems.append(f"{self.name}: {answer}")

    def spec(self, task, kind):
        spec = {"task_id": task, "group": self.random.choice(GROUPS)}
        if self.random.random() < 0.25:
            spec |= {"need_feedback": True, "client_group": CLIENT_GROUP}
            self.told.add(task)
        if self.random.random() < 0.2:
            child = child_in(self.random.choice(GROUPS))
            spec["children"] = [child]
            self.children[task] = (child["group"], child["task_id"])
        if kind == "noop":
            self.silent.add(task)
            return {**spec, "handler": "noop"}
        if kind == "fails-once":
            return {**spec, "retries": {"max": 1, "base": "5s"}, "shell": run_of("", FAILS_ONCE)}
        return {**spec, "shell": run_of(KINDS[kind])}


class OfflineClient(Client):
    """A client with an outbox: what is stored has to succeed as well, though it is killed with it."""

    BATCH, FLAGS, PAUSE = 4, ("--offline",), 0.2

    def __init__(self, chaos, name):
        super().__init__(chaos, name)
        self.data = chaos.folder / name
        self.ENV = {"CARILLON_CONNECT_TIMEOUT": "700ms", "CARILLON_ANSWER_TIMEOUT": "3s",
                    "CARILLON_DATA": str(self.data)}
        self.stored = collections.Counter()  # by reason
        self.killed_with_jobs = 0

    def has_jobs(self):
        return any((self.data / "outbox/submissions").glob("*.db"))

    def kill(self):
        had_jobs = self.has_jobs()
        if not super().kill():
            return False
        self.killed_with_jobs += had_jobs
        return True

    def answered(self, answer, jobs):
        if answer["status"] != "stored":
            return super().answered(answer, jobs)
        self.take(answer)
        self.accepted[answer["task_id"]] = jobs[answer["task_id"]]
        why = "is there" if "no job tracker reachable" in answer["reason"] else "answers"
        self.stored[f"no job tracker {why}"] += 1

    def end(self):
        deadline = time.monotonic() + 120
        while self.has_jobs() and time.monotonic() < deadline:
            status, lines, err = self.call("flush", env={**self.ENV, "CARILLON_ANSWER_TIMEOUT": "30s"})
            self.problems += [f"{self.name}: delivered: {line}" for line in lines
                              if line["status"] != "accepted"]
            if status not in (0, 3) and not self.was_killed:
                self.problems.append(f"{self.name}: flush: status {status}: {err}")
        if self.has_jobs():
            self.problems.append(f"{self.name}: its outbox was not delivered")


class Canceller(User):
    """Cancels jobs that fail again and again: one that waits, one that runs, one that waits for a retry."""

    RETRIES = {"max": 15, "policy": "fixed", "jitter": 0}

    def __init__(self, chaos, name):
        super().__init__(chaos, name)
        self.said = {}  # by task: what the cancellation was answered

    def turn(self, number):
        group = self.random.choice(GROUPS)
        more = {"group": group, "priority": AHEAD}
        noted_before = self.chaos.notes_path.stat().st_size
        waiting, running, retrying = (f"cancel-{number}-{what}" for what in ("waits", "runs", "retries"))
        at = accounts.now() + 3 * accounts.SECOND
        failing = run_of("", "1")
        self.submit_all([
            {"task_id": waiting, "at": at.isoformat(), "shell": failing,
             "retries": {**self.RETRIES, "base": "2s"}, **more},
            {"task_id": running, "shell": run_of("sleep 3; ", "1"),
             "retries": {**self.RETRIES, "base": "500ms"}, **more},
            {"task_id": retrying, "shell": failing, "retries": {**self.RETRIES, "base": "4s"}, **more}])
        self.cancel(waiting, group)
        for task, mark in ((running, f"start {running} "), (retrying, f"end {retrying} ")):
            end = time.monotonic() + 20
            while not self.is_noted(mark, noted_before) and time.monotonic() < end:
                time.sleep(0.1)
            self.cancel(task, group)

    def is_noted(self, mark, since):
        with open(self.chaos.notes_path, encoding="utf-8") as notes:
            notes.seek(since)
            return mark in notes.read()

    def cancel(self, task, group):
        answer = self.until_done("cancel", "--group", group, task, also=NOT_FOUND)
        self.chaos.note(f"cancelled {task}")
        self.said[task] = answer and answer["message"]


class Suspender(User):
    """Suspends and resumes two schedules in turn."""

    def __init__(self, chaos, name):
        super().__init__(chaos, name)
        self.spans = collections.defaultdict(list)  # by task

    def turn(self, number):
        task = list(SUSPENDED)[number % len(SUSPENDED)]
        of_task = ("--group", SUSPENDED[task]["group"], task)
        self.until_done("suspend", *of_task, also="is already suspended")
        since = time.time()
        self.chaos.note(f"suspended {task}")
        self.finishing.wait(self.random.uniform(1.5, 5))
        to = time.time()
        self.chaos.note(f"resuming {task}")
        self.until_done("resume", *of_task, also="is not suspended")
        self.spans[task].append((since, to))


class Triggerer(User):
    """Triggers a task, each time with something else on its stdin."""

    PAUSE = 0.3

    def __init__(self, chaos, name):
        super().__init__(chaos, name)
        self.acknowledged = {}  # job by token
        self.unknown = set()

    def turn(self, number):
        task, = TRIGGERED
        token = f"token-{number}"
        status, lines, err = self.call("trigger", "--group", TRIGGERED[task]["group"], "--payload",
                                       token, task)
        if status == 0:
            self.acknowledged[token] = lines[0]["job_id"]
        else:
            self.unknown.add(token)
            if not self.was_killed:
                self.problems.append(f"{self.name}: status {status}: {err}")


class Listener(harness.Program):
    """One life of somebody who listens to the client group. All write to one file, which so has what
    was printed in the order in which it was printed."""

    def __init__(self, chaos, name):
        super().__init__(
            ["sh", "-c", 'exec "$0" -o jsonl feedback --client-group "$1" >> "$2"', BIN / "jobclient",
             CLIENT_GROUP, chaos.told_path],
            chaos.folder / f"{name}.log",
            {**chaos.cluster.env, "CARILLON_TRACKER": chaos.addresses(chaos.random)}, name)
