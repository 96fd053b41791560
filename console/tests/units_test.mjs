// What needs no page: catalogues with the same keys and placeholders, of which the code names no other;
// specs and the fields of the form; escape sequences of output.
//   node --test console/tests/units_test.mjs
import assert from "node:assert/strict";
import {readFileSync, readdirSync} from "node:fs";
import {join} from "node:path";
import {test} from "node:test";
import en from "../src/messages/en.js";
import zh from "../src/messages/zh.js";
import {parseAnsi, withoutAnsi} from "../src/lib/ansi.js";
import {setLanguage} from "../src/lib/i18n.js";
import {fieldOfProblem, toFields, toSpec} from "../src/job/spec.js";
import {scheduleWords} from "../src/job/words.js";

const source = new URL("../src/", import.meta.url).pathname;
const files = readdirSync(source, {recursive: true}).filter((name) => name.endsWith(".js") && !name.includes("messages"));
const texts = files.map((name) => readFileSync(join(source, name), "utf8"));
const placeholders = (text) => [...new Set([...text.matchAll(/\{(\w+)/g)].map((match) => match[1]))].sort().join();
const values = (pattern) => [...new Set(texts.flatMap((text) => [...text.matchAll(pattern)].map((match) => match[1])))];

test("both languages have the same keys", () => {
  assert.deepEqual(Object.keys(zh).sort(), Object.keys(en).sort());
});

test("both languages have the same placeholders", () => {
  for (const key of Object.keys(en)) assert.equal(placeholders(zh[key]), placeholders(en[key]), key);
});

test("no text is empty, and Chinese texts are Chinese", () => {
  // Names that are the same everywhere.
  const same = /^(kind\.cron|block\.default|field\.url|groups\.app_name)$/;
  for (const key of Object.keys(en)) {
    assert.ok(en[key].trim() && zh[key].trim(), key);
    if (!same.test(key)) assert.match(zh[key], /[\u4e00-\u9fff]|^[{}\w ]+$|^[。]$/, key);
  }
});

test("the code names only keys that exist", () => {
  const missing = values(/\bt\((?:[^"`()]*\? )?"([a-z_]+\.[A-Za-z_0-9]+)"[,)]/g).filter((key) => !(key in en));
  const chosen = values(/["`]([a-z_]+\.[a-z_0-9]+)["`] : "[a-z_]+\.[a-z_0-9]+"/g).filter((key) => !(key in en));
  assert.deepEqual([...missing, ...chosen], []);
});

test("no key is left over", () => {
  const all = texts.join("\n");
  const prefixes = [...all.matchAll(/["`]([a-z_]+\.[a-z_]*)(?:["`] ?\+|\$\{)|word\("([a-z_]+\.[a-z_]*)"/g)].map((match) => match[1] ?? match[2]);
  const named = [...all.matchAll(/named\("([a-z_]+\.[a-z_]*)"/g)].map((match) => match[1]);
  const built = ["help.", "field.", "waiting.", "executing.", "ask.", "nav."];
  const unused = Object.keys(en).filter((key) => !all.includes(`"${key}"`) && ![...prefixes, ...named, ...built].some((prefix) => key.startsWith(prefix)));
  assert.deepEqual(unused, []);
});

test("a spec survives the form", () => {
  const specs = [
    {task_id: "a", group: "ops", cron: "0 0 2 * * ?", tz: "Asia/Shanghai", command: ["/bin/x", "--full", "a b"], tags: ["x", "y"], retries: {max: 3, policy: "exponential", base: "1s"}},
    {task_id: "b", group: "default", every: "5m", count: 12, http: {method: "POST", url: "https://example.org/", headers: {"Content-Type": "a:b"}, body: "{}"}, timeout: "1m"},
    {task_id: "c", group: "billing", manual: true, handler: "import", params: {day: "a=b"}, payload: "x\ny", dispatch: "push", route: "ROUND", addresses: ["http://10.0.0.7:9999/"]},
    {task_id: "d", group: "default", now: true, shell: "echo hi", misfire: {policy: "fire_all", max: 5}, overlap: "queue", children: [{group: "g", task_id: "t"}], retries: 2},
    {task_id: "e", group: "default", at: "2026-12-01T08:00:00Z", script: {language: "python", source: "print(1)\n"}, need_feedback: true, client_group: "c", payload_base64: "AAE="},
    {task_id: "f", group: "default", manual: true, command: ["sh", "-c", "a\nb", ""], params: {text: "two\nlines", "a=b": "c"}},
  ];
  for (const spec of specs) assert.deepEqual(toSpec(toFields(spec)), spec);
  assert.equal(fieldOfProblem("schedule.cron"), "cron");
  assert.equal(fieldOfProblem("retries.base"), "retry_base");
  assert.equal(fieldOfProblem("addresses[2]"), "addresses");
});

test("schedules have words in both languages", async () => {
  globalThis.document = {documentElement: {}};
  const words = [
    [{cron: "0 0 2 * * ?"}, "Every day at 02:00", "每天 02:00"],
    [{cron: "30 2 * * *"}, "Every day at 02:30", "每天 02:30"],
    [{cron: "@daily"}, "Every day at 00:00", "每天 00:00"],
    [{cron: "0 0/10 * * * ?"}, "Every 10 minutes", "每 10 分钟"],
    [{cron: "*/1 * * * *"}, "Every minute", "每分钟"],
    [{cron: "0 5 0/2 * * ? *"}, "Every 2 hours at minute 5", "每 2 小时的第 5 分"],
    [{cron: "*/5 * * * * ?"}, "Every 5 seconds", "每 5 秒"],
    [{cron: "0 0 9,17 ? * MON-FRI"}, "Monday to Friday at 09:00 and 17:00", "星期一至星期五 09:00和17:00"],
    [{cron: "0 9 * * 1,5"}, "Monday and Friday at 09:00", "星期一和星期五 09:00"],
    [{cron: "0 0 9 ? * 2"}, "Monday at 09:00", "星期一 09:00"],
    [{cron: "*/15 * * * 6"}, "Every 15 minutes on Saturday", "星期六每 15 分钟"],
    [{cron: "15 0 3 L * ?"}, "The last day of every month at 03:00:15", "每月最后一天 03:00:15"],
    [{cron: "0 3 1 * *"}, "Day 1 of every month at 03:00", "每月 1 日 03:00"],
    [{cron: "0 3 24 DEC *"}, "December 24 of every year at 03:00", "每年12月24日 03:00"],
    [{every: "1h30m"}, "Every 1 h 30 min", "每 1 小时 30 分"],
    [{fixed_delay: "90s"}, "1 min 30 s after the end of each run", "每次运行结束后 1 分 30 秒"],
    [{manual: true}, "Only when somebody or a parent job triggers it.", "仅在手动或由父任务触发时运行。"],
  ];
  // A step that begins again each hour, either of two days, a weekday of the month, one year.
  for (const cron of ["*/7 * * * *", "0 9 1 * 1", "0 0 9 ? * 2#1", "0 0 9 15W * ?", "0 0 9 1 1 ? 2027", "0 9 * 3 *", "x"])
    words.push([{cron}, "", ""]);
  for (const [language, place] of [["en", 1], ["zh", 2]]) {
    await setLanguage(language);
    for (const one of words) assert.equal(scheduleWords(one[0]), one[place], JSON.stringify(one[0]));
  }
});

test("escape sequences become classes or nothing", () => {
  assert.deepEqual(parseAnsi("\x1b[1;31mred\x1b[0m plain").pieces, [{text: "red", className: "ansi-bold ansi-red"}, {text: " plain", className: ""}]);
  assert.equal(withoutAnsi("\x1b[38;5;208ma\x1b[2Kb\x1b]0;title\x07c\x00"), "abc");
});
