"""Several job trackers on one MariaDB, task trackers and clients under load, while something is killed,
frozen, restarted or cut off all the time; and the account of what became of every job.

Every run writes down itself that it began and how it ended, in one file; there the chaos writes what it
does to whom, and the time. So one order of lines tells which run had to be repeated, and why.
"""

import collections
import json
import random
import signal
import threading
import time

import accounts
import chaos_account
import chaos_users
import faults
import harness
from chaos_account import LONG_FREEZE, SHORT_FREEZE, Notes
from chaos_users import GROUPS, SPLIT_GROUP, run_of
from harness import BIN, Program, exit_status, wait_for
from recovery_test import SCHEDULES, STEPS

SCHEDULE_GROUPS = {"parallel": "alpha", "skipping": "beta", "queueing": "alpha", "catching-up": "beta"}
TRACKERS, CLIENTS, LISTENERS = 3, 2, 2
PARTS = 4
FENCED = 3  # exit status of a job tracker that another one took over from, among others
AT_A_TIME = 2  # faults


class Member:
    """A job tracker or task tracker, one life after the other."""

    def __init__(self, name, start):
        self.name = name
        self._start = start
        self.program = None
        self.afflicted = False  # a fault lasts, at whose end it runs again

    def start(self):
        self.program = self._start()


class All:
    """Several members that meet the same fault at once."""

    def __init__(self, name, members):
        self.name, self.members = name, members

    @property
    def afflicted(self):
        return any(member.afflicted for member in self.members)

    @afflicted.setter
    def afflicted(self, is_so):
        for member in self.members:
            member.afflicted = is_so


class Chaos:
    """One run: start(), then strike() for a while, then settle(), then account()."""

    def __init__(self, folder, seed, say=print):
        self.folder, self.seed, self.say = folder, seed, say
        self.random = random.Random(seed)
        self.mariadb = harness.Mariadb(folder / "mariadb")
        self.cluster = harness.Cluster(folder / "cluster", self.mariadb)
        self.notes_path, self.told_path = folder / "notes", folder / "told"
        self.struck = collections.Counter()
        self.counts = collections.Counter()  # what the account had to check
        self.fenced = 0
        self.problems = []
        self.ports = [harness.free_port() for _ in range(TRACKERS)]
        self.proxies = [faults.Proxy(self.mariadb.port) for _ in range(TRACKERS)]
        self.trackers = [Member(f"tracker-{number}", lambda number=number: self._start_tracker(number))
                         for number in range(TRACKERS)]
        self.workers = [Member(f"worker-{number}", lambda number=number: self._start_worker(number))
                        for number in range(len(GROUPS))]
        self.listeners = [Member(f"listener-{number}", lambda number=number: self._start_listener(number))
                          for number in range(LISTENERS)]
        self.database = Member("database", lambda: self.mariadb.server)
        self.databases = [self.database]
        self.whole = [All("every-job-tracker", self.trackers)]
        self.clients = [chaos_users.Client(self, f"client-{number}") for number in range(CLIENTS)]
        self.offline = chaos_users.OfflineClient(self, "client-offline")
        self.canceller = chaos_users.Canceller(self, "canceller")
        self.suspender = chaos_users.Suspender(self, "suspender")
        self.triggerer = chaos_users.Triggerer(self, "triggerer")
        self.users = [*self.clients, self.offline, self.canceller, self.suspender, self.triggerer]
        self.lives = 0
        self.under_way = []  # (when to go on, fault, member)
        self.closing = threading.Event()
        self.began = time.monotonic()
        self.began_at = time.time()
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

    def _start_listener(self, number):
        self.lives += 1
        return chaos_users.Listener(self, f"listener-{number}-{self.lives}")

    def client(self, *args, **kwargs):
        env = {"CARILLON_TRACKER": self.addresses(), "CARILLON_CONNECT_TIMEOUT": "60s",
               "CARILLON_ANSWER_TIMEOUT": "60s"}
        return self.cluster.client(*args, env=env, patience=300, **kwargs)

    def rows(self, *args):
        """Asks again where the answer is that a job tracker is just starting."""
        def ask():
            answer = self.client("-o", "jsonl", *args, status=None)
            if answer.status != 0 and "try again" not in answer.err:
                raise AssertionError(repr(answer))
            return answer if answer.status == 0 else None
        return wait_for(f"an answer to {args}", ask, pause=0.3).lines()

    def start(self):
        threading.Thread(target=self._note_time, daemon=True).start()
        self.database.start()
        for member in [*self.trackers, *self.workers]:
            member.start()
        for tracker in self.trackers:
            tracker.program.ready()
        tasks = [*chaos_users.definitions(),
                 *({**schedule, "group": SCHEDULE_GROUPS[schedule["task_id"]], "shell": run_of("")}
                   for schedule in SCHEDULES)]
        # Children first: those of one call may be stored by different job trackers in any order.
        for some in (tasks[:len(chaos_users.CHILDREN)], tasks[len(chaos_users.CHILDREN):]):
            self.client("submit", "--stdin", stdin="".join(json.dumps(one) + "\n" for one in some))
        self.scheduled_at = accounts.now()
        self.client("groups", "split", SPLIT_GROUP, "--parts", PARTS)
        for listener in self.listeners:
            listener.start()
        for user in self.users:
            user.start()

    def close(self):
        self.closing.set()
        for member in [self.database, *self.trackers, *self.workers, *self.listeners]:
            if member.program:
                member.program.send(signal.SIGCONT)
                member.program.kill()
        for proxy in self.proxies:
            proxy.close()

    def note(self, *lines):
        text = "\n".join([f"time {time.monotonic() - self.began:.3f}", *lines, ""])
        with open(self.notes_path, "a", encoding="utf-8") as notes:
            notes.write(text)

    def _note_time(self):
        """What is written down in between happened then, whatever else waits for something."""
        while not self.closing.wait(0.05):
            self.note()

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
        self.note(f"thawed {program.name}")

    def freeze_shortly(self, member):
        yield from self.freeze(member, self.random.uniform(*SHORT_FREEZE))

    def freeze_long(self, member):
        yield from self.freeze(member, self.random.uniform(*LONG_FREEZE))

    def restart(self, member):
        program = member.program
        while program.is_running() and not program.takes_signals():
            yield 0.05
        self.note(f"stopped {program.name}")
        program.send(signal.SIGTERM)
        for _ in range(400):
            if not program.is_running():
                break
            yield 0.1
        self.note(f"left {program.name}")
        self.expect_status(program, {0, FENCED} if member in self.trackers else {0})
        yield self.random.uniform(0, 1)
        member.start()

    def cut(self, member, when=None):
        proxy = self.proxies[self.trackers.index(member)]
        proxy.cut_at(faults.COMMIT, when or self.random.choice([faults.BEFORE, faults.AFTER]))
        yield 2
        proxy.spare()

    def hang(self, member):
        yield from self.cut(member, faults.HANG)

    def kill_client(self, member):
        member.kill()
        yield 0

    def kill_with_results(self, listener):
        """It does not read what it is given for a while, and then never will."""
        listener.program.send(signal.SIGSTOP)
        yield self.random.uniform(0.5, 2)
        yield from self.kill(listener)

    def take_away(self, everyone):
        """No job tracker is there, until somebody has stored a job and was killed with it."""
        for tracker in everyone.members:
            self.note(f"killed {tracker.program.name}")
            tracker.program.send(signal.SIGKILL)
        kills = self.offline.killed_with_jobs
        for _ in range(100):
            if self.offline.has_jobs() and self.offline.kill() and self.offline.killed_with_jobs > kills:
                break
            yield 0.1
        yield self.random.uniform(0.5, 2)
        for tracker in everyone.members:
            tracker.program.kill()
            tracker.start()
        yield self.random.uniform(0.1, 1)
        self.offline.kill()  # Perhaps while it delivers.

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
        "every job tracker is killed": ("whole", take_away, 1),
        "a client is killed": ("users", kill_client, 3),
        "a listener is killed": ("listeners", kill, 2),
        "a listener is killed with results": ("listeners", kill_with_results, 2),
        "the database is killed": ("databases", kill, 1),
        "the database freezes shortly": ("databases", freeze_shortly, 1),
        "the database freezes": ("databases", freeze_long, 1),
    }

    def begin_fault(self, name):
        """Whether there was somebody whom it could befall."""
        kind, fault, _ = self.MENU[name]
        whole = [member for member in getattr(self, kind) if not getattr(member, "afflicted", False)]
        if not whole:
            return False
        member = self.random.choice(whole)
        self.struck[name] += 1
        self.say(f"{time.monotonic() - self.began:7.2f} {name}: {member.name}")
        member.afflicted = True
        if self.is_server(member):
            self.note(f"trouble {member.name}")
        self.under_way.append((0.0, fault(self, member), member))
        return True

    def go_on(self):
        """A look at everything: faults that are due go on, who ended in order is started again."""
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
                if self.is_server(member):
                    self.note(f"over {member.name}")
        for member in [*self.trackers, *self.workers, *self.listeners]:
            if member.program.is_running() or self.is_handled(member):
                continue
            self.expect_status(member.program, {FENCED} if member in self.trackers else set())
            self.fenced += 1
            if self.is_server(member):
                self.note(f"trouble fenced-{member.name}", f"over fenced-{member.name}")
            member.start()

    def is_server(self, member):
        """What befalls it may hold up the results of every task tracker."""
        return member in [*self.trackers, *self.databases, *self.whole]

    def is_handled(self, member):
        """By a fault that starts it again; a cut does not."""
        return any(fault.gi_code.co_name in ("kill", "restart", "kill_with_results", "take_away")
                   for _, fault, whom in self.under_way if member in getattr(whom, "members", [whom]))

    def expect_status(self, program, allowed):
        status = exit_status(program.process.poll())
        log = program.own_log()
        # That status is also of one whose store is away or full, which nothing here may lead to.
        if status not in allowed or (status == FENCED and "another job tracker took over" not in log):
            self.problems.append(f"{program.name} ended with {status}: {log[-500:]}")

    def strike(self, seconds, names=None):
        """Each of the menu once, in random order, and then by their weights, for so long."""
        names = names or list(self.MENU)
        queue = self.random.sample(names, len(names))
        weights = [self.MENU[name][2] for name in names]
        end, next_at = time.monotonic() + seconds, 0.0
        while time.monotonic() < end or queue:
            if time.monotonic() >= next_at and len(self.under_way) < AT_A_TIME:
                name = queue[-1] if queue else self.random.choices(names, weights)[0]
                if self.begin_fault(name):
                    del queue[-1:]
                    next_at = time.monotonic() + self.random.uniform(0.3, 2.5)
            self.go_on()
            time.sleep(0.05)

    # ---- the end

    def settle(self):
        while self.under_way:
            self.go_on()
            time.sleep(0.05)
        self.say(f"{time.monotonic() - self.began:7.2f} all faults are over")
        keeper_stops = threading.Event()

        def keep():
            while not keeper_stops.wait(0.1):
                self.go_on()

        keeper = threading.Thread(target=keep, daemon=True)
        keeper.start()
        try:
            for user in self.users:
                user.finish()
            for user in self.users:
                user.join()
            time.sleep(3)  # The last fires while everything is well again.
            wait_for("what was suspended to fire again", self.are_resumed, patience=120, pause=0.5)
            for task, group in self.scheduled().items():
                self.client("suspend", "--group", group, task)
            wait_for("all to end", self.is_over, patience=240, pause=0.5)
            wait_for("all to be told", lambda: not self.left_in("lts_feedback_queue"), patience=120, pause=0.5)
        finally:
            keeper_stops.set()
            keeper.join()

    def scheduled(self):
        """The group of each task that fires."""
        more = {**chaos_users.SUSPENDED, **chaos_users.TOLD}
        return {**SCHEDULE_GROUPS, **{task: spec["group"] for task, spec in more.items()}}

    def are_resumed(self):
        for task, spans in self.suspender.spans.items():
            rows = self.rows("history", "--task-id", task, "--state", "succeeded", "--limit", 1)
            if not rows or accounts.instant(rows[0]["trigger_time"]).timestamp() <= spans[-1][1]:
                return False
        return True

    def left_in(self, table):
        return self.cluster.number(f"SELECT COUNT(*) FROM {table}")

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
        clients = [*self.clients, self.offline]
        for user in self.users:
            wrong.extend(user.problems)
        for client in clients:
            accepted.update(client.accepted)
        notes = Notes(self.notes_path)
        repeats = notes.repeats()
        wrong.extend(notes.wrong)
        history = self.rows("history", "--limit", 0)
        states = collections.Counter(row["state"] for row in history)
        done = {row["task_id"] for row in history if row["state"] == "succeeded"}
        wrong.extend(f"acknowledged, and never succeeded: {task} ({kind})"
                     for task, kind in accepted.items() if task not in done)
        wrong.extend(self.account_of_fires(history))
        wrong.extend(self.account_of_users(notes, history))
        parts = int(self.cluster.number(f"SELECT COUNT(*) FROM lts_node_group WHERE name LIKE '{SPLIT_GROUP}%'"))
        if parts != PARTS:
            wrong.append(f"the group {SPLIT_GROUP} has {parts} parts")
        for table in ["lts_executing_job_queue", "lts_inbox", "lts_feedback_queue",
                      *(table for table, in self.cluster.sql("SELECT table_name FROM lts_node_group"))]:
            if left := self.left_in(table):
                wrong.append(f"{left} rows are left in {table}")
        self.say(f"submitted: {len(accepted)} acknowledged, "
                 f"{sum(client.unanswered for client in clients)} without an answer")
        self.say(f"runs: {len(notes.runs)} written down, repeated because: {dict(repeats)}")
        self.say(f"history: {dict(states)}")
        self.say("checked:")
        for what, count in sorted(self.counts.items()):
            self.say(f"  {count:6} {what}")
        self.say(f"faults: {sum(self.struck.values())}, job trackers fenced: {self.fenced}")
        for name, count in sorted(self.struck.items()):
            self.say(f"  {count:4} {name}")
        return wrong

    def job_log(self):
        rows = self.cluster.sql("SELECT job_id, task_id, attempt, state, node, final, started_us, ended_us "
                                "FROM lts_job_log ORDER BY log_id")
        return [chaos_account.Row(job, task, int(attempt), int(state), node, final == "1",
                                  int(since) / 1e6 - self.began_at, int(to) / 1e6 - self.began_at)
                for job, task, attempt, state, node, final, since, to in rows]

    def account_of_users(self, notes, history):
        counts = self.counts
        finals = collections.Counter({task: int(count) for task, count in self.cluster.sql(
            "SELECT task_id, COUNT(*) FROM lts_job_log WHERE final = 1 AND task_id LIKE 'cancel-%' "
            "GROUP BY task_id")})
        successes = self.cluster.sql(
            "SELECT log_id, group_id, job_id, attempt, task_id FROM lts_job_log "
            "WHERE final = 1 AND state = 0 ORDER BY log_id")
        clients = [*self.clients, self.offline]
        told = set(chaos_users.TOLD).union(*(client.told for client in clients))
        children = {task: ("beta", "child-beta") for task in chaos_users.TOLD}
        for client in clients:
            children.update(client.children)
        acknowledged = {pair for user in self.users for pair in user.jobs.items()}
        acknowledged.update(("triggered", job) for job in self.triggerer.acknowledged.values())
        counts["listeners killed"] = sum(self.struck[name] for name in self.MENU if "listener" in name)
        counts["jobs stored in an outbox"] = sum(self.offline.stored.values())
        for why, count in self.offline.stored.items():
            counts[f"jobs stored in an outbox because {why}"] = count
        counts["kills of a client with jobs in its outbox"] = self.offline.killed_with_jobs
        return [
            *chaos_account.of_jobs(notes, self.job_log(), set().union(*(user.there for user in self.users)),
                                   acknowledged, set().union(*(client.silent for client in clients)), counts),
            *chaos_account.of_cancellations(notes, history, self.canceller.said, finals, counts),
            *chaos_account.of_suspensions(notes, history, self.suspender.spans, counts),
            *chaos_account.of_triggers(notes, history, self.triggerer.acknowledged,
                                       self.triggerer.unknown, counts),
            *chaos_account.of_children(history, children, counts),
            *chaos_account.of_feedback(chaos_account.told(self.told_path), successes,
                                       told.__contains__, counts),
            *chaos_account.not_exercised(counts)]

    def account_of_fires(self, history):
        wrong = []
        for task, step in STEPS.items():
            rows = [row for row in history if row["task_id"] == task]
            first, last = accounts.first_end_and_last_run(rows)
            fires = accounts.every_seconds(step, min(self.scheduled_at, first - accounts.SECOND),
                                           accounts.now())
            wrong.extend(f"{task}: {problem}" for problem in accounts.account(fires, rows, last))
        return wrong
