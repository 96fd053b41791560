"""The answers of the mock: a table of routes over the made-up cluster."""

import re
import threading
import time
import urllib.parse

import mock_cron
from mock_data import now, text_of

ROUTES = []
JOB = r"/jobs/([^/:]+)/([^/:]+)"


class Problem(Exception):
    def __init__(self, status, code, detail, field=None):
        super().__init__(detail)
        self.document = {
            "type": "about:blank",
            "title": code.replace("_", " ").capitalize(),
            "status": status,
            "code": code,
            "detail": detail,
        }
        if field:
            self.document["field"] = field


def route(method, pattern):
    def add(function):
        ROUTES.append((method, re.compile(pattern + "$"), function))
        return function

    return add


class Call:
    def __init__(self, world, principal, query, body, headers, publish):
        self.world, self.principal, self.query, self.body, self.headers, self.publish = (
            world,
            principal,
            query,
            body,
            headers,
            publish,
        )


PAGE = {"page_size", "page_token"}
JOBS = {"group", "state", "kind", "tag", "owner", "task_prefix", "text"}
RUNS = PAGE | {"group", "task_id", "task_prefix", "state", "since", "until", "job_id", "node", "text"}
# What lists take; another parameter is refused, as a job tracker does.
PARAMETERS = {
    "/jobs": PAGE | JOBS | {"results"},
    "/jobs:export": JOBS,
    "/runs/waiting": RUNS,
    "/runs/executing": RUNS,
    "/runs/history": RUNS,
    "/groups": PAGE | {"text", "kind"},
    "/nodes": PAGE | {"group", "kind", "state", "text"},
    "/executors": PAGE | {"group", "state", "text"},
    "/scripts": PAGE | {"group", "text"},
    "/calendar": {"from", "to", "group", "minute"},
    "/alarms": PAGE | {"group", "state"},
    "/figures": {"range", "group"},
    "/search": {"text"},
    "/audit": PAGE | {"group", "task_id", "by", "action", "since", "until", "text"},
    "/overview": set(),
    "/stats": set(),
}


def answer(method, path, call):
    for name in call.query:
        if method == "GET" and name not in PARAMETERS.get(path, {name}):
            raise Problem(400, "invalid_argument", f"unknown parameter '{name}'", name)
    fault = call.query.get("text") or call.query.get("group") or ""
    if fault == "unavailable":
        raise Problem(503, "unavailable", "the database of the job tracker is not reachable")
    for known, pattern, function in ROUTES:
        match = pattern.match(path)
        if match and known == method:
            with call.world.lock:
                return function(call, *(urllib.parse.unquote(part) for part in match.groups()))
    raise Problem(404, "not_found", f"no resource {path}")


def paged(call, items, default=50):
    size = min(1000, int(call.query.get("page_size") or default))
    at = int(call.query.get("page_token") or 0)
    page = {"items": items[at : at + size]}
    if at + size < len(items):
        page["next_page_token"] = str(at + size)
    if call.query.get("total"):
        page["total"] = len(items)
    return page


def text_in(text, *places):
    return not text or any(text.lower() in str(place).lower() for place in places)


# ---- Jobs


def jobs_of(world, query):
    return [
        job
        for job in world.jobs.values()
        if (not query.get("group") or job["group"] == query["group"])
        and (not query.get("state") or job["state"] in query["state"].split(","))
        and (not query.get("kind") or job["kind"] == query["kind"])
        and (not query.get("tag") or query["tag"] in job["tags"])
        and (not query.get("owner") or query["owner"] in job["owner"])
        and job["task_id"].startswith(query.get("task_prefix") or "")
        and text_in(query.get("text"), job["task_id"], job["description"], job["owner"], job["spec"])
    ]


def shown(job):
    return {
        name: value
        for name, value in job.items()
        if name not in ("spec", "versions", "etag", "changed_by", "changed_at")
    }


def job_of(call, group, task_id):
    job = call.world.jobs.get((group, task_id))
    if not job:
        raise Problem(404, "not_found", f"task '{task_id}' is not in group '{group}'")
    return job


def checked(spec):
    """Refuses what a job tracker would refuse."""
    kinds = [name for name in ("now", "at", "cron", "every", "fixed_delay", "manual") if spec.get(name)]
    kind = kinds[0] if kinds else "now"
    try:
        mock_cron.fires_of({"kind": kind, "tz": spec.get("tz"), kind: spec.get(kind)}, now(), 1)
    except mock_cron.BadSchedule as error:
        raise Problem(400, "invalid_argument", str(error), error.field) from None
    if not 0 <= int(spec.get("priority", 100)) <= 999:
        raise Problem(
            400, "invalid_argument", f"priority is {spec['priority']}, must be 0 to 999", "priority"
        )
    what = [name for name in ("command", "shell", "script", "http", "handler") if spec.get(name)]
    if len(what) != 1 or spec.get("command") == [""]:
        raise Problem(400, "invalid_argument", "choose exactly one thing to run", "command")
    if spec.get("timeout"):
        try:
            mock_cron.seconds_of(spec["timeout"])
        except mock_cron.BadSchedule as error:
            raise Problem(400, "invalid_argument", f"timeout {error}", "timeout") from None
    return spec


@route("GET", "/jobs")
def list_jobs(call):
    jobs = [
        shown(job)
        for job in sorted(jobs_of(call.world, call.query), key=lambda job: (job["group"], job["task_id"]))
    ]
    if call.query.get("results") != "true":
        jobs = [job | {"last_result": None, "success_rate": None} for job in jobs]
    return paged(call, jobs)


@route("POST", "/jobs")
def submit(call):
    specs = call.body.get("jobs", [call.body])
    results = []
    for spec in specs:
        checked(spec)
        spec.setdefault("group", "default")
        spec.setdefault("task_id", "task-" + call.world.next_id()[-6:])
        nodes = [node for node in call.world.nodes if node["group"] == spec["group"]]
        result = {
            "task_id": spec["task_id"],
            "group": spec["group"],
            "tz": "UTC",
            "reason": None,
            "warning": None if nodes else f"no task tracker of group '{spec['group']}' has ever connected",
        }
        if call.query.get("dry_run"):
            result["status"] = "valid"
        elif (spec["group"], spec["task_id"]) in call.world.jobs and not spec.get("replace_on_exist"):
            result["status"] = "duplicate"
        else:
            replaced = spec.pop("replace_on_exist", False)
            job = call.world.put_job(
                spec, "suspended" if call.body.get("suspended") else "active", call.principal["name"]
            )
            call.world.log("replace" if replaced else "submit", job, call.principal["name"], after=spec)
            result |= {"status": "accepted", "job_id": call.world.next_id()}
            call.publish("job.changed", {"group": job["group"], "task_id": job["task_id"]})
        results.append(result)
    return {"results": results}


@route("GET", "/jobs:export")
def export(call):
    return [job["spec"] for job in jobs_of(call.world, call.query)]


@route("POST", "/jobs:import")
def import_jobs(call):
    results = []
    for number, spec in enumerate(call.body, 1):
        if not isinstance(spec, dict):
            results.append(
                {
                    "task_id": "",
                    "group": "",
                    "change": "invalid",
                    "diff": [],
                    "reason": f"line {number}: not JSON at character 1",
                }
            )
            continue
        key = (spec.get("group", "default"), spec.get("task_id", ""))
        old = call.world.jobs.get(key)
        entry = {"task_id": key[1], "group": key[0], "diff": [], "reason": None}
        try:
            checked(spec)
            fields = sorted({*spec, *old["spec"]}) if old else []
            entry["diff"] = [
                {"field": name, "before": old["spec"].get(name), "after": spec.get(name)}
                for name in fields
                if old["spec"].get(name) != spec.get(name)
            ]
            entry["change"] = "new" if not old else "changed" if entry["diff"] else "same"
        except Problem as error:
            entry |= {"change": "invalid", "reason": error.document["detail"]}
        if not call.query.get("dry_run") and entry["change"] in ("new", "changed"):
            call.world.log(
                "submit", call.world.put_job(spec, by=call.principal["name"]), call.principal["name"]
            )
        results.append(entry)
    return {"results": results}


@route("GET", JOB)
def show_job(call, group, task_id):
    job = job_of(call, group, task_id)
    fires, _ = mock_cron.fires_of(
        {"kind": job["kind"], "tz": job["tz"], job["kind"]: job["spec"].get(job["kind"])}, now(), 10
    )
    reason = {
        "suspended": "the task is suspended",
        "quarantined": "the task is in quarantine: its run was lost three times in a row",
    }.get(job["state"])
    if not reason and not any(node["group"] == group for node in call.world.nodes):
        reason = f"no task tracker of group '{group}' is connected"
    return {
        **shown(job),
        "spec": job["spec"],
        "changed_by": job["changed_by"],
        "changed_at": job["changed_at"],
        "reason": reason,
        "etag": job["etag"],
        "next_fires": [text_of(fire[0]) for fire in fires],
    }


@route("PUT", JOB)
def replace_job(call, group, task_id):
    job = job_of(call, group, task_id)
    if "If-Match" not in call.headers:
        raise Problem(428, "precondition_failed", "If-Match is missing")
    if call.headers["If-Match"] not in (job["etag"], "*"):
        raise Problem(412, "precondition_failed", "the job was changed meanwhile")
    before = job["spec"]
    job = call.world.put_job(checked(call.body), job["state"], call.principal["name"])
    call.world.log("replace", job, call.principal["name"], before=before, after=call.body)
    call.publish("job.changed", {"group": group, "task_id": task_id})
    return {
        "results": [
            {"task_id": task_id, "group": group, "status": "accepted", "job_id": call.world.next_id()}
        ]
    }


def end_run(call, run, state):
    world = call.world
    world.executing.remove(run)
    job = world.jobs.get((run["group"], run["task_id"]))
    if job:
        job["running"] = max(0, job["running"] - 1)
        ended = world.record(job, now(), state, run)
        call.publish("run.ended", ended)


def act(call, job, action, tag=None):
    world = call.world
    before = {"state": job["state"], "tags": list(job["tags"])}
    if action == "trigger":
        run = world.start(job)
        call.publish("run.started", {"job_id": run["job_id"]})
        world.log(action, job, call.principal["name"])
        return {
            "job_id": run["job_id"],
            "message": f"task '{job['task_id']}' runs now as job {run['job_id']}",
        }
    if action in ("kill", "cancel"):
        for run in [
            one for one in world.executing if (one["group"], one["task_id"]) == (job["group"], job["task_id"])
        ]:
            end_run(call, run, "killed")
    if action == "cancel":
        job["state"] = "ended"
        world.waiting[:] = [
            one for one in world.waiting if (one["group"], one["task_id"]) != (job["group"], job["task_id"])
        ]
    elif action in ("suspend", "resume"):
        job["state"] = "suspended" if action == "suspend" else "active"
    elif action == "tag" and tag not in job["tags"]:
        job["tags"] = job["spec"]["tags"] = [*job["tags"], tag]
    elif action == "untag":
        job["tags"] = job["spec"]["tags"] = [one for one in job["tags"] if one != tag]
    world.plan(job)
    world.log(
        action, job, call.principal["name"], before=before, after={"state": job["state"], "tags": job["tags"]}
    )
    call.publish("job.changed", {"group": job["group"], "task_id": job["task_id"]})
    return {
        "message": {
            "suspend": "task '{}' suspended",
            "resume": "task '{}' resumed",
            "cancel": "task '{}' cancelled",
        }
        .get(action, "task '{}' changed")
        .format(job["task_id"])
    }


@route("POST", JOB + ":(trigger|suspend|resume|cancel|kill)")
def act_on_job(call, group, task_id, action):
    return act(call, job_of(call, group, task_id), action)


@route("GET", JOB + "/children")
def children(call, group, task_id):
    others = [job for job in call.world.jobs.values() if job["group"] == group and job["task_id"] != task_id][
        :3
    ]
    return {
        "items": [
            {"group": job["group"], "task_id": job["task_id"], "direction": direction}
            for job, direction in zip(others, ("parent", "child", "child"))
        ]
    }


# ---- Operations over many


def operate(call, action, targets, work):
    operation = {
        "id": str(len(call.world.operations) + 1),
        "action": action,
        "total": len(targets),
        "done": 0,
        "failed": 0,
        "state": "running",
        "errors": [],
        "created_at": text_of(now()),
    }
    call.world.operations[operation["id"]] = operation

    def run():
        for target in targets:
            if operation["state"] != "running":
                return
            time.sleep(min(0.05, 1 / len(targets)))
            with call.world.lock:
                try:
                    work(target)
                except Problem as error:
                    operation["failed"] += 1
                    operation["errors"].append(
                        {
                            "group": target["group"],
                            "task_id": target["task_id"],
                            "detail": error.document["detail"],
                        }
                    )
                operation["done"] += 1
        operation["state"] = "done"

    threading.Thread(target=run, daemon=True).start()
    return 202, operation


@route("POST", "/jobs:(suspend|resume|trigger|kill|cancel|tag|untag)")
def change_jobs(call, action):
    body = call.body
    jobs = (
        jobs_of(call.world, body["filter"])
        if "filter" in body
        else [job_of(call, one["group"], one["task_id"]) for one in body["items"]]
    )

    def work(job):
        if action == "suspend" and job["state"] == "ended":
            raise Problem(409, "conflict", f"task '{job['task_id']}' has ended")
        act(call, job, action, body.get("tag"))

    return operate(call, action, jobs, work)


@route("GET", "/operations")
def operations(call):
    return {"items": list(call.world.operations.values())[::-1]}


@route("GET", "/operations/([^/:]+)")
def operation(call, name):
    return call.world.operations[name]


@route("POST", "/operations/([^/:]+):stop")
def stop(call, name):
    call.world.operations[name]["state"] = "stopped"
    return call.world.operations[name]
