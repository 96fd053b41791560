"""Several job trackers on one MariaDB, task trackers and clients under load, while something is killed,
frozen, restarted or cut off all the time; and the account of what became of every job.

Every run writes down itself that it began and how it ended, in one file; there the chaos writes what it
does to whom, and the time. So one order of lines tells which run had to be repeated, and why.
"""

import collections
import itertools
import json
import random
import signal
import subprocess
import threading
import time

import accounts
import faults
import harness
from harness import BIN, Program, exit_status, wait_for
from recovery_test import SCHEDULES, STEPS

GROUPS = ["alpha", "alpha", "beta", "gamma"]  # of each task tracker
SCHEDULE_GROUPS = {"parallel": "alpha", "skipping": "beta", "queueing": "alpha", "catching-up": "beta"}
TRACKERS, CLIENTS = 3, 2
FENCED = 3  # exit status of a job tracker that another one took over from
# A freeze as long as this may outlive a lease of 3 s that is renewed each second; none is in between.
SHORT_FREEZE, LONG_FREEZE = (0.1, 1.0), (4.0, 8.0)
AT_A_TIME = 2  # faults
BEGINS = 2  # after that time its own note has been written, whatever became of its task tracker
# What a run does before it notes its end. A no-op is a handler's, and notes nothing.
KINDS = {"plain": "", "long": "sleep 2; ", "fails-once": "", "noop": None}


def run_of(work, fails_once=False):
    status = '$([ "$CARILLON_ATTEMPT" = 1 ] && echo 1 || echo 0)' if fails_once else "0"
    return (f'n="$CARILLON_TASK_ID $CARILLON_JOB_ID $CARILLON_ATTEMPT $CARILLON_NODE"; s={status}; '
            f'echo "start $n" >> "$NOTES"; {work}echo "end $n $s" >> "$NOTES"; exit $s')


class Run:
    """What a run wrote down, and when, in seconds of the chaos."""

    def __init__(self, words, at):
        self.task, self.job, attempt, self.node = words
        self.attempt = int(attempt)
        self.at = at
        self.status = None  # it noted no end

    def __repr__(self):
        return f"{self.task} attempt {self.attempt} on {self.node} at {self.at:.2f}, ended: {self.status}"


class Notes:
    """The file, read."""

    def __init__(self, path):
        self.runs = []
        self.killed = {}                             # by node: when
        self.frozen = collections.defaultdict(list)  # by node: from, to
        self.stopped = {}
        self.wrong = []
        now, open_runs = 0.0, {}
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
                    run.status = int(words[4])
            elif what == "frozen":
                self.frozen[words[0]].append([now, float("inf")])
            elif what == "thawed":
                self.frozen[words[0]][-1][1] = now
            else:
                getattr(self, what)[words[0]] = now

    def excuse(self, run, again):
        """Why `run` was repeated by `again`; None if nothing excuses it."""
        if run.status:
            return "failed"
        if self.killed.get(run.node, float("inf")) <= again.at:
            return "killed"
        # What it was handed before and had not begun, it must not begin when it goes on.
        if any(to - since >= LONG_FREEZE[0] - 0.5 and since <= again.at and since >= run.at - BEGINS
               for since, to in self.frozen[run.node]):
            return "frozen"
        if run.status is None and self.stopped.get(run.node, float("inf")) <= again.at:
            return "stopped"
        return None

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


class Client:
    """A user who submits batch after batch, each with a jobclient of its own."""

    BATCH, PAUSE = 12, 0.4

    def __init__(self, chaos, number):
        self.chaos, self.name = chaos, f"client-{number}"
        self.random = random.Random(f"{chaos.seed} {self.name}")
        self.accepted = {}  # kind by task
        self.unanswered = 0
        self.problems = []
        self.process = None
        self.was_killed = False
        self._finishing = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def kill(self):
        process = self.process
        if process is None or process.poll() is not None:
            return False
        self.was_killed = True
        process.kill()
        return True

    def finish(self):
        self._finishing.set()
        self._thread.join(300)
        if self._thread.is_alive():
            self.problems.append(f"{self.name} hangs")

    def _run(self):
        for batch in itertools.count():
            if self._finishing.wait(self.PAUSE):
                return
            try:
                self._submit(batch)
            except Exception as error:  # Its thread must not die unheard.
                self.problems.append(f"{self.name}: {error!r}")

    def _submit(self, batch):
        jobs = {f"job-{self.name}-{batch}-{number}": self.random.choice(list(KINDS))
                for number in range(self.BATCH)}
        text = "".join(json.dumps(self._spec(task, kind)) + "\n" for task, kind in jobs.items())
        self.was_killed = False
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", str(BIN / "jobclient"), "-o", "jsonl", "submit", "--stdin"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**self.chaos.cluster.env, "CARILLON_TRACKER": self.chaos.addresses(self.random),
                 "CARILLON_CONNECT_TIMEOUT": "120s", "CARILLON_ANSWER_TIMEOUT": "120s"})
        out, err = self.process.communicate(text)
        answered = 0
        for line in out.splitlines(keepends=True):
            if not line.endswith("\n"):
                break  # It was killed in the middle of it.
            answer = json.loads(line)
            answered += 1
            if answer["status"] == "accepted":
                self.accepted[answer["task_id"]] = jobs[answer["task_id"]]
            else:
                self.problems.append(f"{self.name}: {answer}")
        self.unanswered += self.BATCH - answered
        if answered < self.BATCH and not self.was_killed:
            self.problems.append(f"{self.name}: {answered} answers of {self.BATCH}, status "
                                 f"{exit_status(self.process.returncode)}: {err.strip()}")

    def _spec(self, task, kind):
        spec = {"task_id": task, "group": self.random.choice(GROUPS)}
        if kind == "noop":
            return {**spec, "handler": "noop"}
        return {**spec, "retries": 1 if kind == "fails-once" else 0,
                "shell": run_of(KINDS[kind], fails_once=kind == "fails-once")}


class Member:
    """A job tracker or task tracker, one life after the other."""

    def __init__(self, name, start):
        self.name = name
        self._start = start
        self.program = None
        self.afflicted = False  # a fault lasts, at whose end it runs again

    def start(self):
        self.program = self._start()


class Chaos:
    """One run: start(), then strike() for a while, then settle(), then account()."""

    def __init__(self, folder, seed, say=print):
        self.folder, self.seed, self.say = folder, seed, say
        self.random = random.Random(seed)
        self.mariadb = harness.Mariadb(folder / "mariadb")
        self.cluster = harness.Cluster(folder / "cluster", self.mariadb)
        self.notes_path = folder / "notes"
        self.struck = collections.Counter()
        self.fenced = 0
        self.problems = []
        self.ports = [harness.free_port() for _ in range(TRACKERS)]
        self.proxies = [faults.Proxy(self.mariadb.port) for _ in range(TRACKERS)]
        self.trackers = [Member(f"tracker-{number}", lambda number=number: self._start_tracker(number))
                         for number in range(TRACKERS)]
        self.workers = [Member(f"worker-{number}", lambda number=number: self._start_worker(number))
                        for number in range(len(GROUPS))]
        self.database = Member("database", lambda: self.mariadb.server)
        self.clients = []
        self.lives = 0
        self.under_way = []  # (when to go on, fault, member)
        self.began = time.monotonic()
        self.scheduled_at = None  # the schedules are there from then on, or from before

    # ---- the cluster

    def addresses(self, order=None):
        all_of_them = [f"tcp://127.0.0.1:{port}" for port in self.ports]
        if order:
            order.shuffle(all_of_them)
        return ",".join(all_of_them)

    def _start_tracker(self, number):
        name = f"tracker-{number}"
        return Program(
            [BIN / "jobtracker", "--name", name, "--data", self.folder / name,
             "--store", self.mariadb.url(self.cluster.database, self.proxies[number].port),
             "--listen", f"tcp://127.0.0.1:{self.ports[number]}"],
            self.folder / f"{name}.log", {**self.cluster.env, "CARILLON_HTTP": "off"}, "jobtracker")

    def _start_worker(self, number):
        # Each life has its name; the lives of a place share a data folder, and so its outbox.
        self.lives += 1
        name = f"worker-{number}-{self.lives}"
        return Program(
            [BIN / "tasktracker", "--tracker", self.addresses(self.random), "--group", GROUPS[number],
             "--name", name, "--threads", 4, "--data", self.folder / f"worker-{number}",
             "--kill-grace", "500ms"],
            self.folder / f"worker-{number}.log", {**self.cluster.env, "NOTES": str(self.notes_path)},
            name)

    def client(self, *args, **kwargs):
        env = {"CARILLON_TRACKER": self.addresses(), "CARILLON_CONNECT_TIMEOUT": "60s",
               "CARILLON_ANSWER_TIMEOUT": "60s"}
        return self.cluster.client(*args, env=env, patience=300, **kwargs)

    def rows(self, *args):
        return self.client("-o", "jsonl", *args).lines()

    def start(self):
        self.note_time()
        self.database.start()
        for member in [*self.trackers, *self.workers]:
            member.start()
        for tracker in self.trackers:
            tracker.program.ready()
        schedules = [{**schedule, "group": SCHEDULE_GROUPS[schedule["task_id"]], "shell": run_of("")}
                     for schedule in SCHEDULES]
        self.client("submit", "--stdin", stdin="".join(json.dumps(one) + "\n" for one in schedules))
        self.scheduled_at = accounts.now()
        self.clients = [Client(self, number) for number in range(CLIENTS)]

    def close(self):
        for member in [self.database, *self.trackers, *self.workers]:
            if member.program:
                member.program.send(signal.SIGCONT)
                member.program.kill()
        for proxy in self.proxies:
            proxy.close()

    def note(self, text):
        with open(self.notes_path, "a", encoding="utf-8") as notes:
            notes.write(text + "\n")

    def note_time(self):
        self.note(f"time {time.monotonic() - self.began:.3f}")

    # ---- what happens to it: each is a generator, which yields how long it lasts

    def kill(self, member):
        self.note(f"killed {member.program.name}")
        member.program.kill()
        yield self.random.uniform(0, 3)
        if member is self.database:
            self.mariadb.start()
        member.start()

    def freeze(self, member, seconds):
        program = member.program
        self.note(f"frozen {program.name}")
        program.send(signal.SIGSTOP)
        yield seconds
        program.send(signal.SIGCONT)
        self.note_time()
        self.note(f"thawed {program.name}")

    def freeze_shortly(self, member):
        yield from self.freeze(member, self.random.uniform(*SHORT_FREEZE))

    def freeze_long(self, member):
        yield from self.freeze(member, self.random.uniform(*LONG_FREEZE))

    def restart(self, member):
        program = member.program
        self.note(f"stopped {program.name}")
        program.send(signal.SIGTERM)
        for _ in range(400):
            if not program.is_running():
                break
            yield 0.1
        self.expect_status(program, {0, FENCED} if member in self.trackers else {0})
        yield self.random.uniform(0, 1)
        member.start()

    def cut(self, member, when=None):
        proxy = self.proxies[self.trackers.index(member)]
        proxy.cut_at("COMMIT", when or self.random.choice([faults.BEFORE, faults.AFTER]))
        yield 2
        proxy.takes_cut(b"COMMIT")  # Not later, if it has not come to one.

    def hang(self, member):
        yield from self.cut(member, faults.HANG)

    def kill_client(self, member):
        member.kill()
        yield 0

    MENU = {
        "a job tracker is killed": ("trackers", kill, 3),
        "a job tracker freezes shortly": ("trackers", freeze_shortly, 2),
        "a job tracker freezes": ("trackers", freeze_long, 3),
        "a job tracker is restarted": ("trackers", restart, 2),
        "a commit is cut off": ("trackers", cut, 3),
        "a commit hangs": ("trackers", hang, 1),
        "a task tracker is killed": ("workers", kill, 3),
        "a task tracker freezes shortly": ("workers", freeze_shortly, 2),
        "a task tracker freezes": ("workers", freeze_long, 2),
        "a task tracker is restarted": ("workers", restart, 2),
        "a client is killed": ("clients", kill_client, 2),
        "the database is killed": ("databases", kill, 1),
        "the database freezes shortly": ("databases", freeze_shortly, 1),
        "the database freezes": ("databases", freeze_long, 1),
    }

    @property
    def databases(self):
        return [self.database]

    def begin_fault(self, name):
        kind, fault, _ = self.MENU[name]
        whole = [member for member in getattr(self, kind) if not getattr(member, "afflicted", False)]
        if not whole:
            return
        member = self.random.choice(whole)
        self.struck[name] += 1
        self.say(f"{time.monotonic() - self.began:7.2f} {name}: {member.name}")
        member.afflicted = True
        self.under_way.append((0.0, fault(self, member), member))

    def go_on(self):
        """A look at everything: faults that are due go on, who ended in order is started again."""
        self.note_time()
        now = time.monotonic()
        for entry in list(self.under_way):
            due, fault, member = entry
            if now < due:
                continue
            self.under_way.remove(entry)
            try:
                self.under_way.append((time.monotonic() + next(fault), fault, member))
            except StopIteration:
                member.afflicted = False
        for member in [*self.trackers, *self.workers]:
            if member.program.is_running() or self.is_handled(member):
                continue
            self.expect_status(member.program, {FENCED} if member in self.trackers else set())
            self.fenced += 1
            member.start()

    def is_handled(self, member):
        """By a fault that starts it again; a cut does not."""
        return any(fault.gi_code.co_name in ("kill", "restart")
                   for _, fault, whom in self.under_way if whom is member)

    def expect_status(self, program, allowed):
        status = exit_status(program.process.poll())
        if status not in allowed:
            self.problems.append(f"{program.name} ended with {status}: {program.log()[-500:]}")

    def strike(self, seconds, names=None):
        """Each of the menu once, in random order, and then by their weights, for so long."""
        names = names or list(self.MENU)
        queue = self.random.sample(names, len(names))
        weights = [self.MENU[name][2] for name in names]
        end, next_at = time.monotonic() + seconds, 0.0
        while time.monotonic() < end or queue:
            if time.monotonic() >= next_at and len(self.under_way) < AT_A_TIME:
                self.begin_fault(queue.pop() if queue else self.random.choices(names, weights)[0])
                next_at = time.monotonic() + self.random.uniform(0.3, 2.5)
            self.go_on()
            time.sleep(0.05)

    # ---- the end

    def settle(self):
        while self.under_way:
            self.go_on()
            time.sleep(0.05)
        self.say("all faults are over")
        keeper_stops = threading.Event()

        def keep():
            while not keeper_stops.wait(0.1):
                self.go_on()

        keeper = threading.Thread(target=keep, daemon=True)
        keeper.start()
        try:
            for client in self.clients:
                client.finish()
            time.sleep(3)  # The last fires while everything is well again.
            for task, group in SCHEDULE_GROUPS.items():
                self.client("suspend", "--group", group, task)
            wait_for("all to end", self.is_over, patience=240, pause=0.5)
        finally:
            keeper_stops.set()
            keeper.join()

    def is_over(self):
        waiting = self.rows("waiting")
        for row in waiting:
            if row["state"] == "quarantined":
                self.struck["a job went into quarantine"] += 1
                self.client("resume", "--group", row["group"], row["task_id"])
        return not waiting and not self.rows("executing")

    def account(self):
        """What is wrong, as texts; [] if nothing. Prints what there was."""
        wrong = list(self.problems)
        accepted = {}
        for client in self.clients:
            wrong.extend(client.problems)
            accepted.update(client.accepted)
        notes = Notes(self.notes_path)
        repeats = notes.repeats()
        wrong.extend(notes.wrong)
        history = self.rows("history", "--limit", 0)
        states = collections.Counter(row["state"] for row in history)
        done = {row["task_id"]: row for row in history
                if row["state"] == "succeeded" and row["task_id"].startswith("job-")}
        wrong.extend(f"acknowledged, and never succeeded: {task} ({kind})"
                     for task, kind in accepted.items() if task not in done)
        ran = {(run.job, run.attempt, run.node): run for run in notes.runs}
        for task, kind in accepted.items():
            row = done.get(task)
            if row is None or kind == "noop":
                continue
            run = ran.get((str(row["job_id"]), row["attempt"], row["node"]))
            if run is None or run.status != 0:
                wrong.append(f"recorded as succeeded, and not written down so by a run: {row} {run}")
        wrong.extend(f"ended twice: {task}" for (task,) in self.cluster.sql(
            "SELECT task_id FROM lts_job_log WHERE final = 1 AND task_id LIKE 'job-%' "
            "GROUP BY task_id HAVING COUNT(*) > 1"))
        wrong.extend(self.account_of_fires(history))
        for table in ["lts_executing_job_queue", "lts_inbox", *(f"lts_wjq_{group}" for group in set(GROUPS))]:
            left = self.cluster.number(f"SELECT COUNT(*) FROM {table}")
            if left:
                wrong.append(f"{left} rows are left in {table}")
        self.say(f"submitted: {len(accepted)} acknowledged, "
                 f"{sum(client.unanswered for client in self.clients)} without an answer")
        self.say(f"runs: {len(notes.runs)} written down, repeated because: {dict(repeats)}")
        self.say(f"history: {dict(states)}")
        self.say(f"faults: {sum(self.struck.values())}, job trackers fenced: {self.fenced}")
        for name, count in sorted(self.struck.items()):
            self.say(f"  {count:4} {name}")
        return wrong

    def account_of_fires(self, history):
        wrong = []
        for task, step in STEPS.items():
            rows = [row for row in history if row["task_id"] == task]
            first, last = accounts.first_end_and_last_run(rows)
            fires = accounts.every_seconds(step, min(self.scheduled_at, first - accounts.SECOND),
                                           accounts.now())
            wrong.extend(f"{task}: {problem}" for problem in accounts.account(fires, rows, last))
        return wrong
