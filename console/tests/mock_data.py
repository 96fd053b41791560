"""The made-up cluster of the mock: groups, workers, jobs, runs, scripts, people."""

import datetime as dt
import random
import threading

import mock_cron

UTC = dt.timezone.utc
GROUPS = [
    ("default", 5),
    ("billing", 4),
    ("reports", 3),
    ("etl", 3),
    ("mail", 2),
    ("orders-java", 3),
    ("lab", 0),
]
TASKS = [
    "invoice",
    "ledger",
    "sync-customers",
    "export-csv",
    "rotate-logs",
    "backup-db",
    "refresh-cache",
    "send-digest",
    "import-orders",
    "reindex",
    "cleanup-tmp",
    "fx-rates",
    "payroll",
    "aggregate-hourly",
    "vacuum",
    "thumbnails",
    "audit-copy",
    "price-feed",
]
CRONS = [
    "0 0 2 * * ?",
    "0 0/5 * * * ?",
    "*/10 * * * *",
    "0 30 8 ? * MON-FRI",
    "0 0 * * * ?",
    "0 15 10 1 * ?",
    "0/30 * * * * ?",
    "0 45 23 * * ?",
]
ZONES = ["Asia/Shanghai", "Europe/Berlin", "America/New_York", "UTC"]
OWNERS = ["ann", "bo", "chen.wei", "dispatch-team", "maria"]
TAGS = ["nightly", "critical", "pci", "export", "eu", "experimental"]
MESSAGES = [
    "exit status 1",
    "index is locked",
    "HTTP 502 from https://rates.example.org/v2",
    "connection refused: db-3:5432",
    "java.lang.IllegalStateException: no rows for day 2026-11-28",
    "killed by ann",
    "no space left on device",
]
SCRIPT = """#!/bin/bash
# Copies the day's {name} to the archive.
set -euo pipefail
day=${{CARILLON_PARAM_DAY:-$(date +%F)}}
for table in orders lines payments; do
  pg_dump --table "$table" shop | gzip -9 > "/backup/$day-$table.sql.gz"
  echo "$table done"
done
{more}curl --fail --silent https://hooks.example.org/done -d "day=$day"
"""


def text_of(time):
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ") if time else None


def now():
    return dt.datetime.now(UTC)


class World:
    def __init__(self, seed=7):
        self.random = random.Random(seed)
        self.lock = threading.RLock()
        self.sequence = 385103640605491264
        self.jobs = {}
        self.history = []  # newest first
        self.waiting = []
        self.executing = []
        self.operations = {}
        self.silences = {}
        self.audit = []
        self.nodes = self.make_nodes()
        self.executors = [
            {
                "group": "orders-java",
                "address": f"http://10.3.0.{index}:9999/",
                "state": state,
                "last_seen": text_of(now()),
                "is_manual": index == 9,
            }
            for index, state in ((7, "alive"), (8, "alive"), (9, "unreachable"))
        ]
        self.people()
        for group, _ in GROUPS:
            for task in TASKS:
                if self.random.random() < 0.82:
                    self.make_job(group, task)
        self.history.sort(key=lambda run: run["ended_at"], reverse=True)
        for _ in range(64):
            self.wait(self.any_job())
        for _ in range(14):
            self.start(self.any_job())
        self.started_at = now()

    def next_id(self):
        self.sequence += self.random.randint(1000, 130000)
        return str(self.sequence)

    def any_job(self):
        return self.random.choice(list(self.jobs.values()))

    def make_nodes(self):
        nodes = []
        for group, count in GROUPS:
            for index in range(count):
                is_executor = group == "orders-java"
                threads = self.random.choice([4, 8, 16])
                state = self.random.choices(
                    ["alive", "draining", "overloaded", "isolated", "gone"], [20, 1, 2, 1, 1]
                )[0]
                nodes.append(
                    {
                        "name": f"http://10.3.0.{7 + index}:9999/" if is_executor else f"{group}-{index + 1}",
                        "kind": "executor" if is_executor else "tasktracker",
                        "group": group,
                        "address": (
                            "" if is_executor else f"10.1.{index}.{20 + index} pid {4000 + index * 37}"
                        ),
                        "state": state,
                        "threads": None if is_executor else threads,
                        "free": None if is_executor else self.random.randint(0, threads),
                        "last_seen": text_of(now()),
                        "labels": {"zone": f"eu-{index % 3 + 1}", "disk": "ssd"} if not is_executor else {},
                        "version": "0.1.0" if not is_executor else "xxl-job 3.3.2",
                        "overload": "CPU 96 % is above 90 %" if state == "overloaded" else "",
                        "lateness_p95_ms": self.random.choice([1.4, 3.2, 12, 85]),
                    }
                )
        return nodes

    def people(self):
        past = text_of(now() - dt.timedelta(days=40))
        self.users = [
            {
                "name": name,
                "role": role,
                "groups": groups,
                "language": "en",
                "created_at": past,
                "created_by": "admin",
            }
            for name, role, groups in (
                ("ann", "admin", ["*"]),
                ("bo", "editor", ["billing*", "reports"]),
                ("chen.wei", "operator", ["*"]),
                ("visitor", "viewer", ["*"]),
            )
        ]
        self.tokens = [
            {
                "name": "ci-deploy",
                "role": "editor",
                "groups": ["*"],
                "created_at": past,
                "created_by": "ann",
                "expires_at": text_of(now() + dt.timedelta(days=50)),
                "last_used_at": text_of(now()),
            }
        ]
        self.keys = [
            {
                "name": "worker-eu",
                "role": "worker",
                "groups": ["*"],
                "public_key": "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID",
                "created_at": past,
                "created_by": "ann",
            }
        ]

    def make_job(self, group, task):
        chance = self.random
        kind = chance.choices(["cron", "every", "fixed_delay", "manual", "at"], [60, 12, 6, 16, 4])[0]
        spec = {
            "task_id": task,
            "group": group,
            "owner": chance.choice(OWNERS),
            "tags": chance.sample(TAGS, chance.randint(0, 2)),
            "description": f"{task.replace('-', ' ').capitalize()} of {group}",
        }
        if kind == "cron":
            spec |= {"cron": chance.choice(CRONS), "tz": chance.choice(ZONES)}
        elif kind == "manual":
            spec["manual"] = True
        elif kind == "at":
            spec["at"] = text_of(now() + dt.timedelta(hours=chance.randint(1, 80)))
        else:
            spec[kind] = chance.choice(["30s", "5m", "1h", "90s"])
        what = chance.choice(["command", "shell", "script", "http", "handler"])
        spec |= {
            "command": {"command": ["/usr/local/bin/" + task, "--full", "--day", "2026-11-28"]},
            "shell": {"shell": f"{task} --all | gzip -9 > /var/tmp/{task}.gz"},
            "script": {
                "script": {
                    "language": chance.choice(["bash", "python"]),
                    "source": SCRIPT.format(name=task, more=""),
                }
            },
            "http": {
                "http": {
                    "method": "POST",
                    "url": f"https://{group}.example.org/{task}",
                    "headers": {"Content-Type": "application/json"},
                }
            },
            "handler": {"handler": task.replace("-", "_"), "params": {"day": "2026-11-28", "region": "eu"}},
        }[what]
        if group == "orders-java":
            spec |= {"dispatch": "push", "route": chance.choice(["ROUND", "SHARDING_BROADCAST", "FAILOVER"])}
        if chance.random() < 0.5:
            spec["retries"] = {"max": 3, "policy": "exponential", "base": "10s"}
        if chance.random() < 0.3:
            spec["timeout"] = "10m"
        state = chance.choices(["active", "suspended", "quarantined", "ended"], [88, 7, 2, 2])[0]
        self.put_job(spec, state)
        for _ in range(chance.randint(0, 30) if kind != "at" else 0):
            self.record(self.jobs[group, task], now() - dt.timedelta(seconds=chance.expovariate(1 / 20000)))

    def put_job(self, spec, state="active", by="ann"):
        kind = next(
            (name for name in ("cron", "every", "fixed_delay", "at", "manual") if spec.get(name)), "now"
        )
        key = (spec.get("group", "default"), spec["task_id"])
        version = str(int(now().timestamp() * 1000))
        versions = self.jobs[key]["versions"] if key in self.jobs else []
        if spec.get("script"):
            if not versions:
                versions = [
                    {
                        "version": str(int(version) - 86400000 * age),
                        "language": spec["script"]["language"],
                        "by": "bo",
                        "remark": remark,
                        "at": text_of(now() - dt.timedelta(days=age)),
                        "source": spec["script"]["source"].replace("lines ", f"lines-{age} "),
                    }
                    for age, remark in ((9, "skips empty files"), (30, "first version"))
                ]
            if versions[0]["source"] != spec["script"]["source"]:
                versions = [
                    {
                        "version": version,
                        "language": spec["script"]["language"],
                        "by": by,
                        "remark": spec["script"].get("remark", ""),
                        "at": text_of(now()),
                        "source": spec["script"]["source"],
                    },
                    *versions,
                ]
        self.jobs[key] = {
            "task_id": key[1],
            "group": key[0],
            "kind": kind,
            "schedule": "" if kind in ("manual", "now") else spec[kind],
            "tz": spec.get("tz", "UTC" if kind == "cron" else None),
            "dst": spec.get("dst", "auto") if kind == "cron" else None,
            "state": state,
            "priority": spec.get("priority", 100),
            "overlap": spec.get("overlap", "skip"),
            "running": 0,
            "tags": spec.get("tags", []),
            "description": spec.get("description", ""),
            "owner": spec.get("owner", ""),
            "last_result": None,
            "last_fire": None,
            "success_rate": None,
            "spec": spec,
            "versions": versions,
            "changed_by": by,
            "changed_at": text_of(now()),
            "next_fire": None,
            "etag": f'"{version}{self.next_id()}"',
        }
        self.plan(self.jobs[key])
        return self.jobs[key]

    def plan(self, job):
        job["next_fire"] = None
        if job["state"] == "active" and job["kind"] in ("cron", "every", "fixed_delay", "at"):
            fires, _ = mock_cron.fires_of(
                {"kind": job["kind"], "tz": job["tz"], job["kind"]: job["spec"][job["kind"]]},
                now() + dt.timedelta(seconds=self.random.randint(1, 60)),
                1,
            )
            job["next_fire"] = text_of(fires[0][0]) if fires else None

    def record(self, job, end, state=None, run=None):
        """An ended attempt, or a fire that did not run."""
        chance = self.random
        state = (
            state
            or chance.choices(
                ["succeeded", "failed", "timed_out", "killed", "lost", "skipped", "missed"],
                [86, 7, 2, 1, 1, 2, 1],
            )[0]
        )
        span = chance.lognormvariate(0.5, 1.3)
        late = chance.lognormvariate(1.2, 1.2)
        start = end - dt.timedelta(seconds=span)
        trigger = start - dt.timedelta(milliseconds=late)
        has_run = state not in ("skipped", "missed", "cancelled", "expired")
        is_bad = state in ("failed", "timed_out", "killed", "lost")
        entry = {
            "job_id": self.next_id(),
            "task_id": job["task_id"],
            "group": job["group"],
            "attempt": 1 if has_run else 0,
            "state": state,
            "trigger_time": text_of(trigger),
            "started_at": text_of(start) if has_run else None,
            "ended_at": text_of(end),
            "lateness_ms": round(late, 1) if has_run else None,
            "node": chance.choice(self.nodes)["name"] if has_run else "",
            "exit_code": (1 if is_bad else 0) if has_run else None,
            "count": 1 if has_run else chance.randint(1, 9),
            "message": chance.choice(MESSAGES) if is_bad else "",
        }
        if run:
            entry |= {name: run[name] for name in ("job_id", "attempt", "trigger_time", "started_at", "node")}
        if not job["last_fire"] or entry["trigger_time"] > job["last_fire"]:
            job["last_fire"], job["last_result"] = entry["trigger_time"], state
        job["success_rate"] = round(
            min(
                1,
                max(
                    0,
                    (job["success_rate"] if job["success_rate"] is not None else 0.95)
                    + (0.02 if not is_bad else -0.15),
                ),
            ),
            2,
        )
        self.history.insert(0, entry)
        return entry

    def wait(self, job, due=None, priority=None):
        due = due or now() + dt.timedelta(seconds=self.random.randint(-40, 900))
        run = {
            "job_id": self.next_id(),
            "task_id": job["task_id"],
            "group": job["group"],
            "trigger_time": text_of(due),
            "due_time": text_of(due),
            "priority": job["priority"] if priority is None else priority,
            "attempt": self.random.choice([0, 0, 0, 1]),
            "kind": job["kind"],
            "state": "waiting" if due < now() + dt.timedelta(minutes=10) else "delayed",
        }
        self.waiting.append(run)
        self.waiting.sort(key=lambda one: (one["priority"], one["due_time"]))
        return run

    def start(self, job, run=None):
        job["running"] += 1
        start = now() - (dt.timedelta() if run else dt.timedelta(seconds=self.random.randint(0, 90)))
        one = {
            "job_id": run["job_id"] if run else self.next_id(),
            "task_id": job["task_id"],
            "group": job["group"],
            "attempt": 1,
            "node": self.random.choice(self.nodes)["name"],
            "trigger_time": text_of(start - dt.timedelta(milliseconds=self.random.randint(1, 30))),
            "started_at": text_of(start),
            "lease_until": text_of(now() + dt.timedelta(seconds=3)),
        }
        self.executing.insert(0, one)
        return one

    def log(self, action, job=None, by="ann", outcome="done", before=None, after=None, group=""):
        self.audit.insert(
            0,
            {
                "time": text_of(now()),
                "by": by,
                "kind": "user",
                "address": "10.0.4.17",
                "action": action,
                "group": job["group"] if job else group,
                "task_id": job["task_id"] if job else "",
                "outcome": outcome,
                "before": before,
                "after": after,
            },
        )
