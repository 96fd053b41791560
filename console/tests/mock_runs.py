"""Answers of the mock about runs, schedules and figures."""

import datetime as dt
import math
import re
import time

import mock_cron
from mock_api import Problem, act, end_run, jobs_of, operate, paged, route, shown, text_in
from mock_data import GROUPS, UTC, now, text_of


def waiting_of(world, query, name):
    return [
        run
        for run in getattr(world, name)
        if (not query.get("group") or run["group"] == query["group"])
        and (not query.get("task_id") or query["task_id"] in run["task_id"])
    ]


def history_of(world, query):
    states = set((query.get("state") or "").split(",")) - {""}
    return [
        run
        for run in world.history
        if (not query.get("group") or run["group"] == query["group"])
        and (not query.get("task_id") or run["task_id"] == query["task_id"])
        and (not states or run["state"] in states)
        and (not query.get("job_id") or run["job_id"] == query["job_id"])
        and text_in(query.get("text"), run["message"], run["task_id"])
        and (not query.get("since") or run["ended_at"] >= query["since"])
        and (not query.get("until") or run["ended_at"] <= query["until"])
    ]


@route("GET", "/runs/(waiting|executing)")
def queue(call, name):
    for run in call.world.executing:
        run["lease_until"] = text_of(now() + dt.timedelta(seconds=3))
    return paged(call, waiting_of(call.world, call.query, name))


@route("GET", "/runs/history")
def history(call):
    return paged(call, history_of(call.world, call.query))


def find_run(call, job_id):
    world = call.world
    for name in ("executing", "waiting"):
        for run in getattr(world, name):
            if run["job_id"] == job_id:
                return name, run
    for run in world.history:
        if run["job_id"] == job_id:
            return "history", run
    raise Problem(404, "not_found", f"job {job_id} is not known")


@route("GET", r"/runs/(\d+)")
def show_run(call, job_id):
    where, run = find_run(call, job_id)
    job = call.world.jobs.get((run["group"], run["task_id"]))
    attempts = [dict(one) for one in call.world.history if one["job_id"] == job_id][::-1]
    if where == "executing":
        attempts.append(
            {
                **run,
                "state": "executing",
                "ended_at": None,
                "lateness_ms": 4.2,
                "exit_code": None,
                "message": "",
            }
        )
    if where == "history" and run["state"] == "failed" and len(attempts) == 1:
        start = dt.datetime.fromisoformat(run["started_at"].replace("Z", "+00:00"))
        attempts.insert(
            0,
            {
                **attempts[0],
                "started_at": text_of(start - dt.timedelta(seconds=12)),
                "ended_at": text_of(start - dt.timedelta(seconds=10)),
                "trigger_time": text_of(start - dt.timedelta(seconds=12.01)),
                "message": "connection refused: db-3:5432",
            },
        )
        attempts[1] |= {
            "attempt": 2,
            "trigger_time": attempts[0]["trigger_time"],
            "claimed_at": text_of(start - dt.timedelta(milliseconds=2)),
        }
    if job and job["spec"].get("route") == "SHARDING_BROADCAST" and where == "history":
        attempts = [
            {**attempts[0], "shard": index, "shard_total": 3, "node": f"http://10.3.0.{7 + index}:9999/"}
            for index in range(3)
        ] + attempts
    return {
        **run,
        "state": run["state"] if where != "executing" else "executing",
        "kind": job["kind"] if job else "now",
        "done": where == "history",
        "attempts": attempts,
        "spec": job["spec"] if job else None,
    }


def act_on_run(call, job_id, action):
    where, run = find_run(call, job_id)
    job = call.world.jobs[run["group"], run["task_id"]]
    if action in ("retry", "trigger"):
        if where == "waiting":
            call.world.waiting.remove(run)
        return act(call, job, "trigger")
    if where == "history":
        raise Problem(409, "conflict", f"job {job_id} has ended")
    if where == "executing":
        end_run(call, run, "killed")
    elif action in ("kill", "cancel"):
        call.world.waiting.remove(run)
        call.world.record(job, now(), "cancelled")
    else:
        run["state"] = "suspended" if action == "suspend" else "waiting"
    call.world.log(action, job, call.principal["name"])
    return {"message": f"job {job_id}: {action}"}


@route("POST", r"/runs/(\d+):(kill|cancel|suspend|resume|trigger|retry)")
def run_action(call, job_id, action):
    return act_on_run(call, job_id, action)


@route("POST", r"/runs/(\d+):priority")
def priority(call, job_id):
    _, run = find_run(call, job_id)
    run["priority"] = int(call.body["priority"])
    call.world.waiting.sort(key=lambda one: (one["priority"], one["due_time"]))
    return {"message": ""}


@route("POST", "/runs/history:clean")
def clean(call):
    if "before" not in call.body:
        raise Problem(400, "invalid_argument", "before is missing", "before")
    history = call.world.history
    kept = [
        run
        for run in history
        if run["ended_at"] >= call.body["before"] or call.body.get("task_id") not in (None, run["task_id"])
    ]
    count = len(history) - len(kept)
    history[:] = kept
    return {"count": count, "message": f"{count} rows removed"}


def output_items(run, count):
    """Some lines of output, with colours and a line on stderr now and then."""
    start = dt.datetime.fromisoformat((run["started_at"] or text_of(now())).replace("Z", "+00:00"))
    items = []
    for index in range(count):
        text = (
            f"\x1b[32mok\x1b[0m   step {index}: copied {index * 137} rows in {index % 17} ms\n"
            if index % 9
            else f"\x1b[1;33mwarn\x1b[0m step {index}: table \x1b[36morders\x1b[0m is locked, waiting\n"
        )
        items.append(
            {
                "attempt": run["attempt"] or 1,
                "seq": index,
                "stream": "stderr" if index % 9 == 0 else "stdout",
                "at": text_of(start + dt.timedelta(milliseconds=40 * index)),
                "text": text,
            }
        )
    if run.get("message"):
        items.append(
            {
                "attempt": run["attempt"],
                "seq": count,
                "stream": "stderr",
                "at": run.get("ended_at"),
                "text": f"\x1b[31merror:\x1b[0m {run['message']}\n",
            }
        )
    return items


@route("GET", r"/runs/(\d+)/output")
def output(call, job_id):
    where, run = find_run(call, job_id)
    lines = 40 if where == "executing" else 0 if where == "waiting" else 60 + int(job_id[-2:]) * 30
    items = output_items(run, lines)
    if call.query.get("format") != "json":
        return "".join(re.sub(r"\x1b\[[0-9;]*m", "", item["text"]) for item in items)
    return paged(call, items, 1000)


@route("POST", "/runs:(kill|cancel|retry)")
def change_runs(call, action):
    world, body = call.world, call.body
    if "filter" in body:
        query = dict(body["filter"])
        runs = {
            "history": history_of,
            "waiting": lambda world, query: waiting_of(world, query, "waiting"),
            "executing": lambda world, query: waiting_of(world, query, "executing"),
        }[query.pop("list", "history")](world, query)
    else:
        runs = [
            run
            for run in [*world.history, *world.waiting, *world.executing]
            if {"job_id": run["job_id"]} in body["items"]
        ]
    return operate(call, action, runs, lambda run: act_on_run(call, run["job_id"], action))


# ---- Schedules and figures


@route("POST", "/schedules:preview")
def preview(call):
    for name in call.body:
        if name not in ("cron", "every", "fixed_delay", "tz", "dst", "at", "first", "from", "n", "draft"):
            raise Problem(400, "invalid_argument", f"unknown field '{name}'", name)
    try:
        fires, words = mock_cron.fires_of(call.body, now(), int(call.body.get("n", 10)))
    except mock_cron.BadSchedule as error:
        return {"words": "", "fires": [], "error": str(error)}
    return {
        "words": words,
        "error": None,
        "fires": [
            {"utc": text_of(at), "local": local.isoformat(timespec="seconds"), "note": "", "dst": note}
            for at, local, note in fires
        ],
    }


@route("GET", "/overview")
def overview(call):
    world = call.world
    failed = [run for run in world.history if run["state"] in ("failed", "timed_out", "killed", "lost")]
    hour_ago = text_of(now() - dt.timedelta(hours=1))
    start = now().replace(second=0, microsecond=0)
    return {
        "jobs_per_second": 412.7 + math.sin(time.time() / 7) * 30,
        "lateness": {"p50_ms": 1.3, "p95_ms": 6.8, "p99_ms": 41.5},
        "failures_1h": sum(run["ended_at"] > hour_ago for run in failed),
        "workers": sum(node["state"] != "gone" for node in world.nodes),
        "threads": sum(node["threads"] or 0 for node in world.nodes),
        "free": sum(node["free"] or 0 for node in world.nodes),
        "backlog": [
            {"group": group, "due": (index * 997) % 1400, "waiting": (index * 997) % 1400 + 40}
            for index, (group, _) in enumerate(GROUPS)
        ],
        "next_hour": [
            {
                "at": text_of(start + dt.timedelta(minutes=minute)),
                "fires": 14 + (minute % 5 == 0) * 60 + (minute % 30 == 0) * 210,
            }
            for minute in range(60)
        ],
        "last_failures": failed[:12],
    }


@route("GET", "/figures")
def figures(call):
    count, step = {"15m": (90, 10), "24h": (288, 300), "7d": (168, 3600)}[call.query.get("range", "15m")]
    end = int(time.time() // step * step)
    points = []
    for index in range(count):
        at = end - (count - 1 - index) * step
        wave = 1 + 0.5 * math.sin(at / step / 9) + 0.15 * math.sin(at / step * 1.7)
        points.append(
            {
                "at": text_of(dt.datetime.fromtimestamp(at, UTC)),
                "ended": round(400 * wave * step),
                "failed": round(9 * wave * step * (1 + (index % 23 == 0) * 6)),
                "started": round(405 * wave * step),
                "submitted": round(390 * wave * step),
                "lateness_p50_ms": 1.3 * wave,
                "lateness_p95_ms": 7 * wave,
                "lateness_p99_ms": 30 * wave + (index % 31 == 0) * 60,
                "backlog": max(0, round(300 * wave - 200)),
            }
        )
    return {"points": points}


@route("GET", "/calendar")
def calendar(call):
    jobs = [
        job
        for job in jobs_of(call.world, {"state": "active", "group": call.query.get("group")})
        if job["kind"] in ("cron", "every", "at")
    ]
    if call.query.get("minute"):
        return {"jobs": [{**shown(job), "fires": 1 + index % 4} for index, job in enumerate(jobs[:14])]}
    start = dt.datetime.fromisoformat(call.query["from"].replace("Z", "+00:00"))
    minutes = []
    for minute in range(1440):
        at = start + dt.timedelta(minutes=minute)
        for index, (group, _) in enumerate(GROUPS):
            if call.query.get("group") in (None, "", group):
                fires = (
                    (at.minute == 0) * 40
                    + (at.minute % 5 == index % 5) * 6
                    + (at.minute == 0 and at.hour == 2) * 900
                    + (at.minute == 30 and at.hour == 8) * 160
                )
                if fires:
                    minutes.append({"at": text_of(at), "group": group, "fires": fires})
    return {
        "minutes": minutes,
        "dst": [
            {
                "at": text_of(start + dt.timedelta(hours=9)),
                "zone": "America/New_York",
                "change": "02:00 becomes 03:00",
            }
        ],
    }


@route("GET", "/openapi.json")
def document(call):
    """Optional operations, by which the console knows that they are there."""
    paths = {
        "/alarms/history": ["get"],
        "/alarms:test": ["post"],
        "/alarms/silences/{group}": ["put", "delete"],
        "/runs/{job_id}:priority": ["post"],
    }
    return {"paths": {path: {method: {} for method in methods} for path, methods in paths.items()}}
