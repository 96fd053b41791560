"""The HTTP API at a real job tracker: everything that jobclient can do, rights, pages, repeated
requests, events, and two job trackers of which each answers for the whole cluster."""

import datetime
import gzip
import http.client
import json
import re
import time

import harness
from api_client import Api, quoted
from harness import E2eTest, wait_for


def token_of(cluster, name, *flags):
    return cluster.client("-o", "json", "tokens", "new", name, *flags).json()["token"]


class ApiTest(E2eTest):
    def setUp(self):
        super().setUp()
        self.one = self.cluster(tracker=False)
        self.url = self.start()
        self.api = Api(self.url, token_of(self.one, "admin", "--role", "admin"))
        wait_for("the token to be known", lambda: self.api.get("/whoami").status == 200)

    def start(self):
        return self.one.start_tracker("--http", "127.0.0.1:0").ready()["http"]

    def known(self, token):
        api = Api(self.url, token)
        wait_for("the token to be known", lambda: api.get("/whoami").status == 200)
        return api

    def submit(self, task_id, **fields):
        answer = self.api.post("/jobs", {"task_id": task_id, "shell": "true", **fields})
        self.assertEqual(answer.status, 200, answer)
        return answer.json["results"][0]


class Jobs(ApiTest):
    def test_a_job_is_submitted_run_and_shown(self):
        self.one.start_worker()
        job = self.submit("hello", shell="echo hello world")
        self.assertEqual(job["status"], "accepted")
        run = wait_for("its end", lambda: (
            (one := self.api.get(f"/runs/{job['job_id']}").json).get("done") and one))
        self.assertEqual(run["state"], "succeeded")
        self.assertEqual([one["attempt"] for one in run["attempts"]], [1])
        self.assertRegex(run["attempts"][0]["ended_at"], r"\.\d{3}Z$")
        output = self.api.items(f"/runs/{job['job_id']}/output", format="json")
        self.assertEqual("".join(one["text"] for one in output), "hello world\n")
        text = self.api.get(f"/runs/{job['job_id']}/output")
        self.assertEqual(text.text, "hello world\n")
        self.assertIn("hello", {one["task_id"] for one in self.api.items("/runs/history")})

    def test_the_trace_context_reaches_the_run(self):
        self.one.start_worker()
        trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        job = {"task_id": "traced", "shell": "echo trace=$TRACEPARENT"}
        answer = self.api.post("/jobs", job, traceparent=trace).json["results"][0]
        wait_for("its end", lambda: self.api.get(f"/runs/{answer['job_id']}").json.get("done"))
        text = self.api.get(f"/runs/{answer['job_id']}/output").text
        self.assertEqual(text, f"trace={trace}\n")

    def test_an_invalid_job_is_a_problem_that_names_the_field(self):
        answer = self.api.post("/jobs", {"task_id": "x", "shell": "true", "priority": 1000})
        self.assertEqual(answer.status, 400)
        self.assertEqual(answer.headers["content-type"], "application/problem+json")
        self.assertEqual((answer.json["code"], answer.json["field"], answer.json["limit"]),
                         ("invalid_argument", "priority", 999))
        many = self.api.post("/jobs", {"jobs": [{"shel": "true"}, {"task_id": "y", "shell": "true"}]})
        self.assertEqual([one["status"] for one in many.json["results"]], ["rejected", "accepted"])
        dry = self.api.post("/jobs?dry_run=true", {"task_id": "z", "cron": "0 3 * * *", "shell": "true"})
        self.assertEqual(dry.json["results"][0]["status"], "valid")
        self.assertEqual(self.api.get("/jobs/default/z").status, 404)

    def test_a_definition_is_edited_only_as_it_was_read(self):
        self.submit("nightly", cron="0 3 * * *", tags=["db"], tz="Europe/Berlin")
        shown = self.api.get("/jobs/default/nightly")
        self.assertEqual(shown.json["spec"]["cron"], "0 3 * * *")
        self.assertEqual(len(shown.json["next_fires"]), 10)
        self.assertEqual(shown.json["tags"], ["db"])
        spec = {**shown.json["spec"], "cron": "0 4 * * *"}
        without = self.api.call("PUT", "/jobs/default/nightly", spec)
        self.assertEqual(without.status, 428)
        headers = [("If-Match", shown.headers["etag"])]
        self.assertEqual(self.api.call("PUT", "/jobs/default/nightly", spec, headers).status, 200)
        self.assertEqual(self.api.call("PUT", "/jobs/default/nightly", spec, headers).status, 412)
        self.assertEqual(self.api.get("/jobs/default/nightly").json["schedule"], "0 4 * * *")
        self.assertEqual(self.api.get("/jobs/default/nightly").json["changed_by"], "admin")

    def test_actions(self):
        self.submit("manual", manual=True)
        path = "/jobs/default/manual"
        self.assertEqual(self.api.post(path + ":suspend").status, 200)
        self.assertEqual(self.api.get(path).json["state"], "suspended")
        self.assertEqual(self.api.post(path + ":resume").status, 200)
        run = self.api.post(path + ":trigger", {"payload": "x"})
        self.assertEqual(run.status, 200, run)
        self.assertEqual([one["job_id"] for one in self.api.items("/runs/waiting")],
                         [run.json["job_id"]])
        priority = f"/runs/{run.json['job_id']}:priority"
        self.assertEqual(self.api.post(priority, {"priority": 7}).status, 200)
        self.assertEqual(self.api.items("/runs/waiting")[0]["priority"], 7)
        self.assertEqual(self.api.post(priority, {"priority": 1000}).json["limit"], 999)
        refused = self.api.post(f"/runs/{run.json['job_id']}:cancel")
        self.assertEqual(refused.status, 400)
        self.assertIn("give the task id", refused.json["detail"])
        self.assertEqual(self.api.post(path + ":cancel").status, 200)
        self.assertEqual(self.api.get(path).status, 404)
        self.assertEqual(self.api.post(path + ":trigger").status, 404)

    def test_names_with_any_character_are_addressed(self):
        name = "a/b:c d%?#\u00e4"
        self.submit(name, manual=True)
        self.assertEqual(self.api.get("/jobs/default/" + quoted(name)).json["task_id"], name)
        self.assertEqual(self.api.post(f"/jobs/default/{quoted(name)}:trigger").status, 200)

    def test_lists_have_pages_and_filters(self):
        jobs = [{"task_id": f"job-{i:03}", "manual": True, "shell": "true",
                 "tags": ["odd"] if i % 2 else [], "owner": "ann" if i < 10 else "bob"}
                for i in range(120)]
        self.assertEqual(self.api.post("/jobs", {"jobs": jobs}).status, 200)
        first = self.api.get("/jobs", page_size=50)
        self.assertEqual(len(first.json["items"]), 50)
        self.assertEqual(sorted(one["task_id"] for one in self.api.items("/jobs", page_size=50)),
                         [job["task_id"] for job in jobs])
        self.assertEqual(len(self.api.items("/jobs", tag="odd", page_size=7)), 60)
        self.assertEqual(len(self.api.items("/jobs", owner="ann", task_prefix="job-00")), 10)
        self.assertEqual(len(self.api.items("/jobs", text="JOB-11")), 10)
        other = self.api.get("/jobs", tag="odd", page_token=first.json["next_page_token"])
        self.assertEqual((other.status, other.json["field"]), (400, "page_token"))
        self.assertEqual(self.api.get("/jobs", page_size=0).json["limit"], 1000)
        self.assertEqual(self.api.get("/jobs", grop="x").json["field"], "grop")

    def test_the_results_of_the_last_runs_are_listed_on_request(self):
        self.one.start_worker()
        self.submit("works", manual=True)
        self.submit("fails", manual=True, shell="exit 3")
        self.submit("idle", manual=True)
        for task in ("works", "fails"):
            self.assertEqual(self.api.post(f"/jobs/default/{task}:trigger").status, 200)
        wait_for("both ends", lambda: len(self.api.items("/runs/history")) == 2)

        def results(**parameters):
            return {one["task_id"]: (one["last_result"], one["success_rate"])
                    for one in self.api.items("/jobs", **parameters)}

        expected = {"works": ("succeeded", 1), "fails": ("failed", 0), "idle": (None, None)}
        self.assertEqual(results(results="true"), expected)
        self.assertEqual(results(results="true", page_size=1), expected)
        self.assertEqual(results(results="true", state="suspended"), {})
        self.assertEqual(set(results().values()), {(None, None)})
        # A token of either form of the list continues the other.
        first = self.api.get("/jobs", page_size=2).json
        last = self.api.get("/jobs", page_size=2, results="true", page_token=first["next_page_token"])
        rest = set(expected) - {one["task_id"] for one in first["items"]}
        self.assertEqual([(one["task_id"], one["last_result"]) for one in last.json["items"]],
                         [(task, expected[task][0]) for task in rest])
        for wrong, field in ((self.api.get("/jobs", results="true", page_size=101), "page_size"),
                             (self.api.get("/jobs", results="yes"), "results")):
            self.assertEqual((wrong.status, wrong.json["field"]), (400, field), wrong)

    def test_the_next_fires_of_an_interval_are_its_interval_apart(self):
        self.submit("hourly", every="1h", first="2026-01-01T00:30:00Z")
        self.submit("later", every="90m", first="2099-01-01T00:30:00Z")
        self.submit("from-now", every="1h")
        for task, minutes in (("hourly", 60), ("later", 90), ("from-now", 60)):
            job = self.api.get(f"/jobs/default/{task}").json
            fires = [datetime.datetime.fromisoformat(one.replace("Z", "+00:00"))
                     for one in job["next_fires"]]
            self.assertEqual(len(fires), 10, job)
            self.assertEqual(job["next_fires"][0], job["next_fire"])
            self.assertEqual({after - before for before, after in zip(fires, fires[1:])},
                             {datetime.timedelta(minutes=minutes)})

    def test_export_and_import(self):
        self.submit("one", cron="0 3 * * *")
        self.submit("two", every="1h")
        lines = self.api.get("/jobs:export").text.splitlines()
        self.assertEqual(sorted(json.loads(line)["task_id"] for line in lines), ["one", "two"])
        changed = [json.dumps({**json.loads(line), "priority": 7}) if '"one"' in line else line
                   for line in lines] + [json.dumps({"task_id": "three", "manual": True, "shell": "true"}),
                                         '{"task_id": "bad", "shel": "x"}']
        body = "\n".join(changed)
        kinds = {one["task_id"]: one for one in
                 self.api.post("/jobs:import?dry_run=true", body).json["results"]}
        self.assertEqual({name: one["change"] for name, one in kinds.items()},
                         {"one": "changed", "two": "same", "three": "new", "bad": "invalid"})
        self.assertEqual(kinds["one"]["diff"], [{"field": "priority", "before": None, "after": 7}])
        self.assertEqual(self.api.get("/jobs/default/three").status, 404)
        self.assertEqual(self.api.post("/jobs:import", body).status, 200)
        self.assertEqual(self.api.get("/jobs/default/one").json["spec"]["priority"], 7)
        self.assertEqual(self.api.get("/jobs/default/three").status, 200)

    def test_bulk_actions_have_progress(self):
        jobs = [{"task_id": f"bulk-{i}", "manual": True, "shell": "true"} for i in range(30)]
        self.api.post("/jobs", {"jobs": jobs})
        begun = self.api.post("/jobs:suspend", {"filter": {"task_prefix": "bulk-"}})
        self.assertEqual(begun.status, 202, begun)

        def over(operation):
            return wait_for("the operation", lambda: (
                (one := self.api.get("/operations/" + operation["id"]).json)["state"] != "running"
                and one))

        done = over(begun.json)
        self.assertEqual((done["state"], done["total"], done["done"], done["failed"]),
                         ("done", 30, 30, 0))
        self.assertEqual(len(self.api.items("/jobs", state="suspended")), 30)
        items = [{"group": "default", "task_id": name} for name in ("bulk-1", "nowhere")]
        tagged = self.api.post("/jobs:tag", {"tag": "blue", "items": items}).json
        self.assertEqual(tagged["state"], "done")
        self.assertEqual((tagged["done"], tagged["failed"]), (1, 1))
        self.assertEqual(tagged["errors"][0]["task_id"], "nowhere")
        self.assertEqual([one["task_id"] for one in self.api.items("/jobs", tag="blue")], ["bulk-1"])

    def test_pages_lose_nothing_while_runs_are_cancelled(self):
        later = "2099-01-01T00:00:00Z"
        jobs = [{"task_id": f"late-{i:02}", "at": later, "shell": "true"} for i in range(40)]
        self.assertEqual(self.api.post("/jobs", {"jobs": jobs}).status, 200)
        seen, token = [], ""
        while True:
            page = self.api.get("/runs/waiting", task_prefix="late", page_size=7,
                                **({"page_token": token} if token else {})).json
            seen += [one["task_id"] for one in page["items"]]
            items = [{"job_id": one["job_id"]} for one in page["items"]]
            self.assertEqual(self.api.post("/runs:cancel", {"items": items}).json["failed"], 0)
            token = page["next_page_token"]
            if not token:
                break
        self.assertEqual(sorted(seen), [job["task_id"] for job in jobs])

    def test_an_edited_interval_goes_on_from_its_next_fire(self):
        self.one.start_worker()
        self.submit("hourly", every="1h", owner="ann")
        soon = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=30)).isoformat()
        before = wait_for("its second fire", lambda: (
            (one := self.api.get("/jobs/default/hourly")).json["next_fire"] > soon and one))
        spec = {**before.json["spec"], "owner": "bo"}
        put = self.api.call("PUT", "/jobs/default/hourly", spec, [("If-Match", before.headers["etag"])])
        self.assertEqual(put.status, 200, put)
        after = self.api.get("/jobs/default/hourly").json
        self.assertEqual((after["owner"], after["next_fire"]), ("bo", before.json["next_fire"]))

    def test_an_import_changes_secrets(self):
        job = {"task_id": "call", "manual": True,
               "http": {"url": "http://127.0.0.1:9/", "headers": {"Authorization": "Bearer one"}}}
        self.assertEqual(self.api.post("/jobs", job).status, 200)
        job["http"]["headers"]["Authorization"] = "Bearer two"
        for flags in ("?dry_run=true", ""):
            answer = self.api.post("/jobs:import" + flags, json.dumps(job)).json
            self.assertEqual([one["change"] for one in answer["results"]], ["changed"])
        specs = self.one.sql("SELECT spec FROM lts_repeat_job_queue")
        self.assertIn(b"Bearer two", specs[0][0])

    def test_scripts(self):
        job = {"task_id": "script", "manual": True,
               "script": {"language": "sh", "source": "echo first\n"}}
        self.assertEqual(self.api.post("/jobs", job).status, 200)
        path = "/jobs/default/script"
        put = self.api.call("PUT", path + "/script", {"source": "echo second\n", "remark": "better"})
        self.assertEqual(put.status, 200, put)
        versions = self.api.items(path + "/scripts")
        self.assertEqual([one["is_current"] for one in versions], [True, False])
        first = self.api.get(f"{path}/scripts/{versions[1]['version']}").json
        self.assertEqual(first["source"], "echo first\n")
        hits = self.api.items("/scripts", text="SECOND")
        self.assertEqual(hits[0]["matches"], [{"line": 1, "text": "echo second"}])
        restored = self.api.post(f"{path}/scripts/{versions[1]['version']}:restore")
        self.assertEqual(restored.status, 200, restored)
        self.assertEqual(self.api.items("/scripts", text="second"), [])

    def test_previews_and_the_calendar(self):
        preview = self.api.post("/schedules:preview", {
            "cron": "0 30 2 * * ?", "tz": "Europe/Berlin", "n": 3,
            "from": "2027-03-27T00:00:00Z"}).json
        self.assertEqual(preview["words"], "Every day at 02:30")
        self.assertEqual([one["dst"] for one in preview["fires"]], [None, "gap", None])
        self.assertEqual(preview["fires"][1], {
            "utc": "2027-03-28T01:00:00.000Z", "local": "2027-03-28T03:00:00+02:00",
            "note": "replaces a time skipped from 02:00 to 03:00", "dst": "gap"})
        self.assertEqual(self.api.post("/schedules:preview", {"cron": "0 0 25 * * ?"}).status, 400)
        wrong = self.api.post("/schedules:preview", {"cron": "0 0 25 * * ?", "draft": True})
        self.assertEqual((wrong.status, wrong.json["fires"]), (200, []))
        self.assertIn("25", wrong.json["error"])
        self.submit("often", cron="*/10 * * * *")
        calendar = self.api.get("/calendar").json
        self.assertIn(sum(one["fires"] for one in calendar["minutes"]), (143, 144, 145))
        minute = calendar["minutes"][5]["at"]
        jobs = self.api.get("/calendar", minute=minute).json["jobs"]
        self.assertEqual([one["task_id"] for one in jobs], ["often"])


class Repeated(ApiTest):
    def test_a_repetition_gets_the_first_answer(self):
        job = {"shell": "true"}
        first = self.api.post("/jobs", job, Idempotency_Key="k-1")
        again = self.api.post("/jobs", job, Idempotency_Key="k-1")
        self.assertEqual(first.json, again.json)
        self.assertEqual(len(self.api.items("/runs/waiting")), 1)
        other = self.api.post("/jobs", {"shell": "false"}, Idempotency_Key="k-1")
        self.assertEqual((other.status, other.json["field"]), (422, "idempotency_key"))

    def test_a_key_outlives_the_job_tracker(self):
        self.submit("manual", manual=True)
        first = self.api.post("/jobs/default/manual:trigger", Idempotency_Key="k-2")
        self.assertEqual(first.status, 200)
        self.one.tracker.kill()
        self.url = self.start()
        self.api = self.known(self.api.token)
        again = self.api.post("/jobs/default/manual:trigger", Idempotency_Key="k-2")
        self.assertEqual(first.json, again.json)
        self.assertEqual(len(self.api.items("/runs/waiting")), 1)
        other = self.api.post("/jobs/default/manual:trigger", {"payload": "x"}, Idempotency_Key="k-2")
        self.assertEqual(other.status, 422)

    def test_keys_of_two_principals_are_not_the_same(self):
        other = self.known(token_of(self.one, "other", "--role", "editor", "--group", "*"))
        first = self.api.post("/jobs", {"shell": "true"}, Idempotency_Key="same")
        second = other.post("/jobs", {"shell": "true"}, Idempotency_Key="same")
        self.assertNotEqual(first.json, second.json)


class Access(ApiTest):
    def test_nothing_without_a_token(self):
        for api in (Api(self.url), Api(self.url, "crl_wrong")):
            answer = api.get("/jobs")
            self.assertEqual((answer.status, answer.json["code"]), (401, "unauthenticated"))
        self.assertEqual(self.api.get("/nowhere").status, 404)
        wrong = self.api.call("DELETE", "/jobs")
        self.assertEqual((wrong.status, wrong.headers["allow"]), (405, "GET, POST"))

    def test_roles_and_groups(self):
        self.submit("ours", group="ours", manual=True)
        self.submit("theirs", group="theirs", manual=True)
        viewer = self.known(token_of(self.one, "viewer", "--role", "viewer", "--group", "ours"))
        self.assertEqual([one["task_id"] for one in viewer.items("/jobs")], ["ours"])
        self.assertEqual(viewer.get("/jobs/theirs/theirs").status, 403)
        self.assertEqual(viewer.post("/jobs", {"group": "ours", "shell": "true"}).status, 403)
        self.assertEqual(viewer.get("/users").status, 403)
        operator = self.known(token_of(self.one, "operator", "--role", "operator", "--group", "ours"))
        self.assertEqual(operator.post("/jobs/ours/ours:trigger").status, 200)
        self.assertEqual(operator.post("/jobs/theirs/theirs:trigger").status, 403)
        self.assertEqual(operator.post("/jobs/ours/ours:cancel").status, 403)
        rows = self.api.items("/audit", action="trigger")
        self.assertEqual({(one["by"], one["kind"], one["address"]) for one in rows},
                         {("operator", "token", "127.0.0.1")})

    def test_users_tokens_and_keys(self):
        added = self.api.post("/tokens", {"name": "ci", "role": "viewer", "groups": ["ours"],
                                          "expires": "90d"})
        self.assertEqual(added.status, 201, added)
        api = self.known(added.json["token"])
        self.assertEqual(api.get("/whoami").json,
                         {"name": "ci", "kind": "token", "role": "viewer", "groups": ["ours"]})
        self.assertEqual(self.api.call("DELETE", "/tokens/ci").status, 200)
        wait_for("the token to be revoked", lambda: api.get("/whoami").status == 401)
        user = {"name": "ann", "role": "editor", "groups": ["ours"], "password": "correct horse"}
        self.assertEqual(self.api.post("/users", user).status, 201)
        wait_for("the user", lambda: self.api.items("/users"))
        self.assertEqual(self.api.post("/users", user).status, 409)
        self.assertEqual(self.api.call("PATCH", "/users/ann", {"role": "viewer"}).status, 200)
        wait_for("the change", lambda: self.api.items("/users")[0]["role"] == "viewer")
        key = self.api.post("/keys", {"name": "worker-1", "role": "worker", "groups": ["ours"]})
        self.assertEqual(key.status, 201, key)
        self.assertEqual(len(key.json["secret_key"]), 40)

    def test_the_pages_of_the_console_have_paths(self):
        def get(path, **headers):
            connection = http.client.HTTPConnection(self.api.address, timeout=30)
            connection.request("GET", path, headers={"Accept-Encoding": "gzip", **headers})
            reply = connection.getresponse()
            body = reply.read()
            connection.close()
            return reply, body

        first, page = get("/", Accept="text/html")
        for path in ("/jobs", "/jobs/default/a%2Fb?lang=zh", "/runs/7", "/cluster?tab=config"):
            reply, body = get(path)
            self.assertEqual((reply.status, body), (200, page), path)
            self.assertIn("text/html", reply.headers["Content-Type"])
            self.assertEqual(reply.headers["ETag"], first.headers["ETag"])
        for name in re.findall(r'(?:src|href)="([^"]+)"', gzip.decompress(page).decode()):
            self.assertEqual(get(name)[0].status, 200, name)
        self.assertEqual(get("/jobsx")[0].status, 404)

    def test_the_document_has_every_operation(self):
        document = self.api.get("/openapi.json").json
        self.assertEqual(document["openapi"], "3.1.0")
        page = self.api.get("/docs")
        self.assertIn("text/html", page.headers["content-type"])
        for path in document["paths"]:
            self.assertIn(path, page.text)


class Live(ApiTest):
    def test_events_tell_what_happens_and_resume(self):
        events = self.api.events()
        time.sleep(1.5)
        self.submit("watched", manual=True)
        self.one.start_worker(name="worker-1")
        self.api.post("/jobs/default/watched:trigger")
        ends = wait_for("the end", lambda: events.of("run.ended"))
        self.assertEqual((ends[0]["task_id"], ends[0]["state"]), ("watched", "succeeded"))
        wait_for("the change", lambda: "watched" in {one["task_id"] for one in events.of("job.changed")})
        wait_for("the node", lambda: "worker-1" in {one["name"] for one in events.of("node.joined")})
        last = wait_for("ids", events.ids)[0]
        again = self.api.events(headers=[("Last-Event-ID", str(last))])
        wait_for("what was missed", lambda: set(events.ids()) - {last} <= set(again.ids()))
        self.assertNotIn(last, again.ids())

    def test_events_are_those_of_the_own_groups(self):
        viewer = self.known(token_of(self.one, "viewer", "--role", "viewer", "--group", "ours"))
        mine, all_of_them = viewer.events(), self.api.events()
        time.sleep(1.5)
        self.submit("theirs", group="theirs", manual=True)
        self.submit("ours", group="ours", manual=True)
        wait_for("the other's change", lambda: len(all_of_them.of("job.changed")) == 2)
        wait_for("the own change", lambda: mine.of("job.changed"))
        self.assertEqual([one["task_id"] for one in mine.of("job.changed")], ["ours"])

    def test_output_is_followed_to_the_end(self):
        self.one.start_worker()
        job = self.submit("slow", shell="for i in 1 2 3; do echo line $i; sleep 0.4; done")
        following = self.api.events(f"/runs/{job['job_id']}/output?follow=true")
        wait_for("the end", lambda: following.has_ended)
        text = "".join(one["text"] for one in following.of("output"))
        self.assertEqual(text, "line 1\nline 2\nline 3\n")
        self.assertEqual(following.events[-1]["event"], "end")

    def test_a_reader_that_does_not_read_holds_nobody_up(self):
        with self.api.raw_connection() as silent:
            silent.sendall(f"GET /api/v1/events HTTP/1.1\r\nHost: {self.api.address}\r\n"
                           f"Authorization: Bearer {self.api.token}\r\n\r\n".encode())
            began = time.monotonic()
            for i in range(20):
                self.submit(f"job-{i}", manual=True)
            self.assertLess(time.monotonic() - began, 10)


class Cluster(ApiTest):
    def test_nodes_groups_and_the_overview(self):
        self.one.start_worker(name="worker-1", threads=3)
        wait_for("the node", lambda: self.api.items("/nodes"))
        node = self.api.items("/nodes")[0]
        self.assertEqual((node["name"], node["kind"], node["threads"]), ("worker-1", "tasktracker", 3))
        self.assertEqual(self.api.post("/nodes/worker-1:drain").status, 200)
        self.assertEqual(self.api.items("/nodes")[0]["state"], "draining")
        job = self.submit("held")
        time.sleep(1.5)
        self.assertEqual(self.api.get(f"/runs/{job['job_id']}").json["state"], "waiting")
        self.assertEqual(self.api.post("/nodes/worker-1:release").status, 200)
        wait_for("its end", lambda: self.api.get(f"/runs/{job['job_id']}").json.get("done"))
        self.assertEqual(self.api.post("/nodes/nobody:drain").status, 404)
        group = self.api.items("/groups")[0]
        self.assertEqual((group["group"], group["threads"], group["nodes"]), ("default", 3, 1))
        tracker = self.api.items("/trackers")[0]
        self.assertTrue(tracker["is_self"])
        settings = {one["name"]: one["value"] for one in self.api.items("/config")}
        self.assertEqual(settings["http"], "127.0.0.1:0")
        self.assertIn("jobs_submitted_total", self.api.get("/stats").json)
        overview = self.api.get("/overview").json
        self.assertEqual((overview["workers"], overview["threads"]), (1, 3))
        self.assertEqual(self.api.get("/figures", range="24h").status, 200)
        self.assertEqual(self.api.get("/alarms").json["items"], [])
        added = self.api.post("/groups/push/executors", {"addresses": ["http://127.0.0.1:9999"]})
        self.assertEqual(added.status, 200, added)
        executor = self.api.items("/executors")[0]
        self.assertEqual((executor["group"], executor["is_manual"]), ("push", True))
        self.assertEqual(self.api.call("DELETE", "/groups/push").status, 200)
        self.submit("findme", manual=True)
        hits = {(one["type"], one["label"]) for one in self.api.get("/search", text="worker").json["items"]}
        self.assertIn(("node", "worker-1"), hits)
        self.assertEqual(self.api.get("/search", text="findme").json["items"][0]["type"], "job")


class Both(E2eTest):
    """Two job trackers on MariaDB: each answers for the node groups of both."""

    uses_mariadb = True

    def setUp(self):
        super().setUp()
        self.one = self.cluster(self.mariadb, tracker=False)
        self.urls = []
        self.trackers = []
        for which in range(2):
            self.one.port = harness.free_port()
            tracker = self.one.start_tracker("--name", f"tracker-{which}", "--http", "127.0.0.1:0")
            self.addCleanup(tracker.kill)
            self.trackers.append(tracker)
            self.urls.append(tracker.ready()["http"])
        token = token_of(self.one, "admin", "--role", "admin")
        self.apis = [Api(url, token) for url in self.urls]
        for api in self.apis:
            wait_for("the token to be known", lambda api=api: api.get("/whoami").status == 200)

    def test_each_answers_for_the_groups_of_both(self):
        groups = [f"group-{i}" for i in range(8)]
        for i, group in enumerate(groups):
            answer = self.apis[i % 2].post("/jobs", {"task_id": "t", "group": group, "manual": True,
                                                     "shell": "true"})
            self.assertEqual(answer.status, 200, answer)
        wait_for("two owners", lambda: len({one["groups"] for one in self.apis[0].items("/trackers")
                                            if one["groups"]}) >= 1
                 and len(self.apis[0].items("/trackers")) == 2)
        for api in self.apis:
            wait_for("all jobs", lambda api=api: (
                sorted(one["group"] for one in api.items("/jobs")) == groups))
            self.assertLessEqual(set(groups), {one["group"] for one in api.items("/groups")})
            for group in groups:
                self.assertEqual(api.get(f"/jobs/{group}/t").status, 200)
                self.assertEqual(api.post(f"/jobs/{group}/t:trigger").status, 200)
        many = self.apis[0].post("/jobs", {"jobs": [{"group": group, "shell": "true"} for group in groups]},
                                 Idempotency_Key="all")
        self.assertEqual({one["status"] for one in many.json["results"]}, {"accepted"})
        again = self.apis[1].post("/jobs", {"jobs": [{"group": group, "shell": "true"} for group in groups]},
                                  Idempotency_Key="all")
        self.assertEqual(many.json, again.json)

    def test_one_is_killed_and_the_other_goes_on(self):
        self.apis[0].post("/jobs", {"task_id": "t", "manual": True, "shell": "true"})
        self.trackers[0].kill()
        wait_for("the other to take over",
                 lambda: self.apis[1].post("/jobs/default/t:trigger").status == 200)


if __name__ == "__main__":
    harness.main()
