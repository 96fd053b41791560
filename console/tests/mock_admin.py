"""More answers of the mock: groups, workers, scripts, alarms, people, the cluster."""

import datetime as dt

from mock_api import JOB, Problem, job_of, jobs_of, paged, route, text_in
from mock_data import GROUPS, now, text_of


@route("GET", "/groups")
def groups(call):
    world = call.world
    items = []
    for index, (name, _) in enumerate(GROUPS):
        nodes = [node for node in world.nodes if node["group"] == name and node["state"] != "gone"]
        items.append(
            {
                "group": name,
                "kind": "push" if name == "orders-java" else "pull",
                "nodes": len(nodes),
                "threads": sum(node["threads"] or 0 for node in nodes),
                "parts": 4 if name == "etl" else 1,
                "waiting": sum(run["group"] == name for run in world.waiting),
                "executing": sum(run["group"] == name for run in world.executing),
                "due": (index * 997) % 1400,
                "lateness_p95_ms": [1.8, 3.4, 920, 15, 2.2, 48, None][index],
            }
        )
    items += [
        {
            "group": name,
            "kind": "push",
            "nodes": 0,
            "threads": 0,
            "parts": 1,
            "waiting": 0,
            "executing": 0,
            "due": 0,
            "lateness_p95_ms": None,
        }
        for name in getattr(world, "added", [])
    ]
    return paged(call, [item for item in items if text_in(call.query.get("text"), item["group"])])


@route("POST", r"/groups/([^/:]+):split")
def split(call, group):
    return {"message": f"group '{group}' has {call.body['parts']} partitions"}


@route("POST", r"/groups/([^/:]+)/executors")
def set_executors(call, group):
    world = call.world
    if group not in dict(GROUPS):
        world.added = [*getattr(world, "added", []), group]
    world.executors = [one for one in world.executors if one["group"] != group or not one["is_manual"]]
    world.executors += [
        {"group": group, "address": address, "state": "alive", "last_seen": text_of(now()), "is_manual": True}
        for address in call.body["addresses"]
    ]
    return {"message": ""}


@route("DELETE", r"/groups/([^/:]+)")
def remove_group(call, group):
    if group in dict(GROUPS):
        raise Problem(409, "conflict", f"group '{group}' has jobs")
    call.world.added.remove(group)
    return {}


@route("GET", "/nodes")
def nodes(call):
    for node in call.world.nodes:
        if node["state"] != "gone":
            node["last_seen"] = text_of(now())
    return paged(
        call, [node for node in call.world.nodes if call.query.get("group") in (None, "", node["group"])]
    )


@route("POST", r"/nodes/(.+):(drain|isolate|release)")
def act_on_node(call, name, action):
    for node in call.world.nodes:
        if node["name"] == name:
            node["state"] = {"drain": "draining", "isolate": "isolated", "release": "alive"}[action]
            call.publish("node.joined", {"name": name})
            return {"message": ""}
    raise Problem(404, "not_found", f"no node '{name}'")


@route("GET", "/executors")
def executors(call):
    return {
        "items": [one for one in call.world.executors if call.query.get("group") in (None, "", one["group"])]
    }


@route("GET", "/trackers")
def trackers(call):
    return {
        "items": [
            {
                "name": f"jobs-{index}",
                "address": f"tcp://10.0.0.{index}:35001",
                "session_age": f"{3 + index}d2h",
                "partitions": 4 + index,
                "groups": 3 + index,
                "version": "0.1.0",
                "is_self": index == 1,
                "batch_p95_ms": 2.4 + index,
            }
            for index in (1, 2, 3)
        ]
    }


@route("GET", "/config")
def config(call):
    return {
        "items": [
            {"name": name, "value": value, "source": source}
            for name, value, source in (
                ("alarm", "ops@example.com", "carillon.toml"),
                ("alarm-when", "unserved=1m, late=10m, failures=20%", "carillon.toml"),
                ("http", "0.0.0.0:8080", "flag"),
                ("history-retention", "90d", "default"),
                ("listen", "tcp://0.0.0.0:35001", "flag"),
                ("smtp", "***", "environment"),
                ("store", "mysql://carillon@db/carillon", "carillon.toml"),
                ("tz", "Etc/UTC", "default"),
                ("xxl-token", "***", "environment"),
            )
        ]
    }


@route("GET", "/stats")
def stats(call):
    return {
        "carillon_jobs_submitted_total": 18233012,
        "carillon_runs_started_total": 18232801,
        "carillon_runs_failed_total": 40211,
        "carillon_waiting": len(call.world.waiting),
        "carillon_store_batch_seconds_p95": 0.0034,
        "carillon_store_batch_operations_mean": 41.7,
        "carillon_store_away": 0,
        "carillon_alarms_waiting": 0,
        "carillon_executor_late_results_total": 12,
        "carillon_groups": len(GROUPS),
    }


# ---- Scripts


@route("GET", "/scripts")
def scripts(call):
    text = call.query.get("text") or ""
    items = []
    for job in call.world.jobs.values():
        if job["versions"]:
            newest = job["versions"][0]
            matches = [
                {"line": number, "text": line}
                for number, line in enumerate(newest["source"].splitlines(), 1)
                if text and text.lower() in line.lower()
            ]
            if matches or not text:
                items.append(
                    {
                        "group": job["group"],
                        "task_id": job["task_id"],
                        "language": newest["language"],
                        "remark": newest["remark"],
                        "version": newest["version"],
                        "matches": matches,
                    }
                )
    return paged(call, items)


@route("GET", JOB + "/scripts")
def versions(call, group, task_id):
    job = job_of(call, group, task_id)
    return {
        "items": [
            {**{name: value for name, value in one.items() if name != "source"}, "is_current": index == 0}
            for index, one in enumerate(job["versions"])
        ]
    }


@route("GET", JOB + r"/scripts/(\d+)")
def version(call, group, task_id, number):
    for index, one in enumerate(job_of(call, group, task_id)["versions"]):
        if one["version"] == number:
            return {**one, "is_current": index == 0}
    raise Problem(404, "not_found", f"no version {number}")


@route("PUT", JOB + "/script")
def set_script(call, group, task_id):
    job = job_of(call, group, task_id)
    spec = {
        **job["spec"],
        "script": {
            "language": call.body["language"],
            "source": call.body["source"],
            "remark": call.body.get("remark", ""),
        },
    }
    call.world.put_job(spec, job["state"], call.principal["name"])
    return {"message": f"task '{task_id}' now has another script"}


@route("POST", JOB + r"/scripts/(\d+):restore")
def restore(call, group, task_id, number):
    one = version(call, group, task_id, number)
    job = job_of(call, group, task_id)
    call.world.put_job(
        {**job["spec"], "script": {"language": one["language"], "source": one["source"]}},
        job["state"],
        call.principal["name"],
    )
    return {"message": ""}


# ---- Alarms


@route("GET", "/alarms")
def alarms(call):
    world = call.world
    items = [
        ("a1", "late=10m", "reports", "firing", "late: a due job waits for 14 minutes (limit 10 minutes)"),
        ("a2", "unserved=1m", "lab", "firing", "unserved: 3 due jobs and no worker for 2 hours"),
        ("a3", "failures=20%", "billing", "ok", ""),
        ("a4", "backlog=10000", "etl", "ok", ""),
    ]
    return {
        "items": [
            {
                "id": name,
                "rule": rule,
                "group": group,
                "state": "silenced" if group in world.silences and state == "firing" else state,
                "since": text_of(world.started_at - dt.timedelta(minutes=20)),
                "message": message,
                "until": world.silences.get(group),
            }
            for name, rule, group, state, message in items
            if call.query.get("group") in (None, "", group)
        ]
    }


@route("GET", "/alarms/history")
def alarm_history(call):
    return paged(
        call,
        [
            {
                "id": str(index),
                "at": text_of(now() - dt.timedelta(hours=3 * index)),
                "group": "billing" if index % 2 else "reports",
                "rule": "failures=20%",
                "message": "failures: 31 % of the last 64 runs failed (limit 20 %)",
                "state": ("over", "firing", "delivered", "failed")[index % 4],
                "recipients": ["ops@example.com"],
            }
            for index in range(30)
        ],
    )


@route("GET", "/alarms/rules")
def alarm_rules(call):
    return {
        "items": [
            {"rule": rule, "limit": value, "group": group, "recipients": ["ops@example.com"]}
            for rule, value, group in (
                ("unserved", "1m", "*"),
                ("late", "10m", "*"),
                ("late", "2h", "reports"),
                ("failures", "20%", "*"),
                ("output", "OutOfMemoryError|No space left", "*"),
            )
        ],
        "recipients": ["ops@example.com"],
    }


@route("POST", "/alarms:test")
def test_alarm(call):
    if "@" not in call.body["recipient"] and "://" not in call.body["recipient"]:
        raise Problem(
            400,
            "invalid_argument",
            f"recipient '{call.body['recipient']}' is neither a mail address nor a URL",
            "recipient",
        )
    return {"message": ""}


@route("PUT", r"/alarms/silences/([^/]+)")
def silence(call, group):
    call.world.silences[group] = call.body["until"]
    return {}


@route("DELETE", r"/alarms/silences/([^/]+)")
def unsilence(call, group):
    call.world.silences.pop(group, None)
    return {}


# ---- Search, audit, people


@route("GET", "/search")
def search(call):
    text = call.query.get("text", "")
    items = [
        {"type": "job", "group": job["group"], "task_id": job["task_id"], "label": job["task_id"]}
        for job in jobs_of(call.world, {"text": text})[:8]
    ]
    items += [{"type": "group", "group": name, "label": name} for name, _ in GROUPS if text in name]
    items += [
        {"type": "node", "group": node["group"], "label": node["name"]}
        for node in call.world.nodes
        if text in node["name"]
    ][:4]
    items += [
        {
            "type": "run",
            "group": run["group"],
            "task_id": run["task_id"],
            "job_id": run["job_id"],
            "label": run["job_id"],
        }
        for run in call.world.history
        if text and run["job_id"].startswith(text)
    ][:5]
    return {"items": items}


@route("GET", "/audit")
def audit(call):
    query = call.query
    return paged(
        call,
        [
            entry
            for entry in call.world.audit
            if query.get("task_id") in (None, "", entry["task_id"])
            and query.get("group") in (None, "", entry["group"])
            and text_in(query.get("by"), entry["by"])
            and (not query.get("since") or entry["time"] >= query["since"])
        ],
    )


@route("GET", "/(users|tokens|keys)")
def people(call, kind):
    if call.principal["role"] != "admin" and kind != "tokens":
        raise Problem(403, "denied", "this needs the role admin")
    return paged(call, getattr(call.world, kind))


@route("POST", "/(users|tokens|keys)")
def add_person(call, kind):
    if kind == "users" and len(call.body.get("password", "")) < 8:
        raise Problem(400, "invalid_argument", "the password has fewer than 8 characters", "password")
    item = {name: call.body[name] for name in ("name", "role", "groups") if name in call.body} | {
        "created_at": text_of(now()),
        "created_by": call.principal["name"],
    }
    getattr(call.world, kind).append(item)
    if kind == "tokens":
        return {**item, "token": "ct_5bJ2mX7sQ0yV1nR8kT4wE6uZ3aP9dLhC"}
    if kind == "keys" and "public_key" not in call.body:
        return {**item, "secret_key": "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"}
    return item


@route("PATCH", "/(users|tokens|keys)/([^/]+)")
def change_person(call, kind, name):
    for item in getattr(call.world, kind):
        if item["name"] == name:
            item.update({key: call.body[key] for key in ("role", "groups", "language") if key in call.body})
            return item
    raise Problem(404, "not_found", f"no {kind[:-1]} '{name}'")


@route("DELETE", "/(users|tokens|keys)/([^/]+)")
def remove_person(call, kind, name):
    setattr(call.world, kind, [item for item in getattr(call.world, kind) if item["name"] != name])
    return {}
