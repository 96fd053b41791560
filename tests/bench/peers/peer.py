"""A rival, as a client program and worker programs over its own database; see lines.js for what
such programs answer."""

import contextlib
import time

import cpu
from figures import percentile
from program import PeerError, Program
from runs import check_each_once

BATCH = 1000  # jobs of one call
CLIENTS = 50  # who submit one by one
WARM_UP = 50  # single jobs before those that count
GAP_MS = 5
BURST_LEAD_MS = 8000  # from the first call to the instant at which all of them are due
FLOW_AHEAD = 20_000
FLOW_WARM_UP = 3.0  # seconds of a flow that do not count
POLL = 0.02


class Peer:
    """What every rival has in common. Derive, and say how it is installed and what it runs on."""

    name = ""
    workers = 2
    jobs_max = None  # more would take too long; a rate needs no more
    workloads = ("submit", "drain", "latency", "flow", "burst")

    def __init__(self, installation):
        self.installation = installation
        self.command = self.install()
        self.durability = ""

    def install(self):
        """The words of the program, to which `client` or `worker` is added."""
        raise NotImplementedError

    def open_store(self, folder):
        """A new, empty store, with `environment`, `durability`, `process` and `close()`."""
        raise NotImplementedError

    def measure(self, workload, options, folder):
        """Figures by name; PeerError if a job was lost or run twice."""
        with contextlib.ExitStack() as stack:
            store = self.open_store(folder)
            stack.callback(store.close)
            self.durability = store.durability
            setting = Setting(self, store, folder, stack)
            return getattr(setting, workload)(options)


class Setting:
    """One store, one client and any workers, for one workload."""

    def __init__(self, peer, store, folder, stack):
        self.peer = peer
        self.store = store
        self.folder = folder
        self.stack = stack
        self.handled = []  # by each worker so far
        self.programs = []
        self.client = self.start("client")
        self.client.ask("prepare")

    def start(self, role, on_line=None):
        log = self.folder / f"{role}-{len(self.programs)}.log"
        program = Program([*self.peer.command, role], log, self.store.environment, on_line=on_line)
        self.stack.callback(program.close)
        self.programs.append(program)
        return program

    def start_workers(self):
        """Ready, but not yet at work."""
        workers = []
        for index in range(self.peer.workers):
            self.handled.append(0)

            def note(line, index=index):
                self.handled[index] = line["handled"]
            worker = self.start("worker", note)
            worker.answer("ready")
            workers.append(worker)
        return workers

    def cpu(self):
        return cpu.of_trees({self.store.process, *(each.process.pid for each in self.programs)})

    def await_all(self, jobs):
        """Until the store says that all have ended, which it is asked when all were run."""
        moved, last = time.monotonic(), -1
        while sum(self.handled) < jobs:
            if sum(self.handled) != last:
                moved, last = time.monotonic(), sum(self.handled)
            if time.monotonic() > moved + 20:
                raise PeerError(f"{last} of {jobs} jobs were run, and no more come")
            time.sleep(POLL)
        while self.client.ask("left")["left"]:
            time.sleep(POLL)

    def check(self, workers, jobs):
        """PeerError unless each job was run once; what the workers say of it."""
        reports = [worker.ask("report") for worker in workers]
        check_each_once(jobs, reports)
        return reports

    # Workloads.

    def at_most(self, jobs):
        return min(jobs, self.peer.jobs_max or jobs)

    def submit(self, options):
        many, few = self.at_most(options.jobs), self.at_most(options.singles)
        bulk = self.client.ask("submit", jobs=many, batch=BATCH)
        self.check_left(many)
        self.client.ask("prepare")
        singles = self.client.ask("singles", jobs=few, clients=CLIENTS)
        self.check_left(few)
        return {"submit": 1000 * many / bulk["ms"],
                "singles": 1000 * few / singles["ms"],
                "singles p99": percentile(singles["took"], 0.99)}

    def check_left(self, jobs):
        left = self.client.ask("left")["left"]
        if left != jobs:
            raise PeerError(f"{jobs} jobs were submitted, but {left} wait")

    def drain(self, options):
        """Without the start of the worker programs, which Carillon's own figure has in it."""
        jobs = self.at_most(options.jobs)
        self.client.ask("submit", jobs=jobs, batch=BATCH)
        workers = self.start_workers()
        used, busy, begin = self.cpu(), cpu.of_machine(), time.monotonic()
        for worker in workers:
            worker.tell("go")
        self.await_all(jobs)
        took = time.monotonic() - begin
        used, busy = self.cpu() - used, cpu.of_machine() - busy
        self.check(workers, jobs)
        return {"drain": jobs / took, "drain cpu": 1e6 * used / jobs,
                "others": cpu.share_of_machine(busy - used, took)}

    def latency(self, options):
        ms = self.client.ask("latency", jobs=options.latency_jobs, warm_up=WARM_UP, gap_ms=GAP_MS)["ms"]
        return {"latency p50": percentile(ms, 0.5), "latency p99": percentile(ms, 0.99)}

    def flow(self, options):
        """The rate at which jobs end while others are submitted."""
        workers = self.start_workers()
        for worker in workers:
            worker.tell("go")
        self.client.tell("flow", seconds=options.seconds, batch=BATCH, ahead=FLOW_AHEAD)
        begin, marks = time.monotonic(), []
        while time.monotonic() < begin + options.seconds:
            time.sleep(POLL)
            self.client.tell("handled", count=sum(self.handled))
            if time.monotonic() > begin + FLOW_WARM_UP:
                marks.append((time.monotonic(), sum(self.handled)))
        submitted = self.client.answer("flow")["submitted"]
        self.await_all(submitted)
        self.check(workers, submitted)
        (first_at, first), (last_at, last) = marks[0], marks[-1]
        return {"flow": (last - first) / (last_at - first_at)}

    def burst(self, options):
        jobs = self.at_most(options.burst_jobs)
        workers = self.start_workers()
        for worker in workers:
            worker.tell("go")
        due = self.client.ask("burst", jobs=jobs, batch=BATCH, lead_ms=BURST_LEAD_MS)["due"]
        if 1000 * time.time() >= due:
            raise PeerError(f"{jobs} jobs were due before all of them were submitted, which takes "
                            "it more than 8 s: give fewer --burst-jobs")
        self.await_all(jobs)
        reports = self.check(workers, jobs)
        first = min(report["first"] for report in reports if report["count"])
        if first < due:
            raise PeerError(f"a job was started {due - first:.0f} ms too soon")
        return {"burst first": first - due,
                "burst last": max(report["last"] for report in reports if report["count"]) - due}
