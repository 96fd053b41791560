// A spec, as `jobclient show` prints it, and the text fields of the form, in both directions.
const kScheduleFields = ["cron", "every", "fixed_delay", "at", "manual", "now"];
const kRunFields = ["command", "shell", "script", "http", "handler"];

export const kindOf = (spec) =>
  kScheduleFields.find((name) => spec[name] !== undefined && spec[name] !== false) ?? "now";
export const runKindOf = (spec) => kRunFields.find((name) => spec[name] !== undefined) ?? "command";

const listText = (list) => (list ?? []).join(", ");
const lines = (list) => (list ?? []).join("\n");

/// One argument a line; as JSON where lines would lose something.
function argumentLines(list = []) {
  const fits = list.every((part) => !part.includes("\n")) && list.at(-1) !== "" && !(list[0] ?? "").startsWith("[");
  return fits ? lines(list) : JSON.stringify(list);
}

function argumentsOf(text) {
  try {
    const list = JSON.parse(text);
    if (Array.isArray(list) && list.every((part) => typeof part === "string")) return list;
  } catch {
    // Not JSON: one argument a line.
  }
  return text.replace(/\n+$/, "").split("\n");
}

/// One pair a line; as JSON where lines would lose something.
function pairs(object, between) {
  const entries = Object.entries(object ?? {});
  const fits = entries.every(([name, value]) => !`${name}${value}`.includes("\n") && !name.includes(between.trim()));
  return fits ? entries.map(([name, value]) => `${name}${between}${value}`).join("\n") : JSON.stringify(object);
}

const wordsOf = (text) =>
  text
    .split(/[,\s]+/)
    .map((word) => word.trim())
    .filter(Boolean);

function pairsOf(text, between) {
  if (text.trimStart().startsWith("{")) {
    try {
      return JSON.parse(text);
    } catch {
      // Not JSON: one pair a line.
    }
  }
  const found = {};
  for (const line of text.split("\n")) {
    const at = line.indexOf(between);
    if (at > 0)
      found[line.slice(0, at).trim()] = line.slice(at + between.length).replace(between === ":" ? /^ / : "", "");
  }
  return found;
}

/// The fields of the form. Everything that the form has no field for stays in `rest`.
export function toFields(spec = {}) {
  const known = {...spec};
  const take = (name, fallback) => {
    const value = known[name];
    delete known[name];
    return value ?? fallback;
  };
  const kind = kindOf(spec);
  const run = runKindOf(spec);
  const retries = typeof spec.retries === "object" ? spec.retries : {max: spec.retries};
  const misfire = typeof spec.misfire === "object" ? spec.misfire : {policy: spec.misfire};
  delete known.retries;
  delete known.misfire;
  const script = take("script", {});
  const http = take("http", {});
  const fields = {
    task_id: take("task_id", ""),
    group: take("group", "default"),
    description: take("description", ""),
    owner: take("owner", ""),
    tags: listText(take("tags")),
    alarm: listText(take("alarm")),
    kind,
    cron: take("cron", ""),
    every: take("every", ""),
    fixed_delay: take("fixed_delay", ""),
    at: take("at", ""),
    tz: take("tz", ""),
    dst: take("dst", "auto"),
    count: String(take("count", "")),
    first: take("first", ""),
    run,
    command: argumentLines(take("command", [])),
    shell: take("shell", ""),
    source: script.source ?? "",
    language: script.language ?? "bash",
    remark: "",
    handler: take("handler", ""),
    url: http.url ?? "",
    method: http.method ?? "GET",
    headers: pairs(http.headers, ": "),
    body: http.body ?? "",
    params: pairs(take("params"), "="),
    payload: take("payload", ""),
    priority: String(take("priority", 100)),
    retries: String(retries.max ?? 0),
    retry_policy: retries.policy ?? "fixed",
    retry_base: retries.base ?? "30s",
    retry_cap: retries.cap ?? "1h",
    retry_jitter: String(retries.jitter ?? 0),
    timeout: take("timeout", ""),
    start_deadline: take("start_deadline", ""),
    overlap: take("overlap", "skip"),
    misfire: misfire.policy ?? "fire_once",
    misfire_max: String(misfire.max ?? 1000),
    misfire_window: misfire.window ?? "24h",
    misfire_threshold: misfire.threshold ?? "5s",
    children: (take("children", []) ?? []).map((child) => `${child.group}/${child.task_id}`).join("\n"),
    need_feedback: take("need_feedback", false),
    client_group: take("client_group", ""),
    dispatch: take("dispatch", ""),
    route: take("route", "FIRST"),
    block: take("block", ""),
    addresses: lines(take("addresses")),
  };
  for (const name of ["manual", "now", "replace_on_exist"]) delete known[name];
  return {...fields, rest: known};
}

function putSchedule(spec, fields) {
  const {kind} = fields;
  if (kind === "manual" || kind === "now") spec[kind] = true;
  else spec[kind] = fields[kind];
  if (kind === "cron") {
    if (fields.tz) spec.tz = fields.tz;
    if (fields.dst !== "auto") spec.dst = fields.dst;
  } else if (kind === "every" || kind === "fixed_delay") {
    if (fields.count) spec.count = Number(fields.count);
    if (fields.first) spec.first = fields.first;
  }
}

function putRun(spec, fields) {
  if (fields.run === "command") spec.command = argumentsOf(fields.command);
  else if (fields.run === "script") {
    spec.script = {language: fields.language, source: fields.source, ...(fields.remark ? {remark: fields.remark} : {})};
  } else if (fields.run === "http") {
    const headers = pairsOf(fields.headers, ":");
    spec.http = {
      method: fields.method,
      url: fields.url,
      ...(Object.keys(headers).length ? {headers} : {}),
      ...(fields.body ? {body: fields.body} : {}),
    };
  } else spec[fields.run] = fields[fields.run];
  const params = pairsOf(fields.params, "=");
  if (Object.keys(params).length) spec.params = params;
  if (fields.payload) spec.payload = fields.payload;
}

function putRetries(spec, fields) {
  const more = {};
  if (fields.retry_base && fields.retry_base !== "30s") more.base = fields.retry_base;
  if (fields.retry_policy !== "fixed") {
    more.policy = fields.retry_policy;
    if (fields.retry_cap && fields.retry_cap !== "1h") more.cap = fields.retry_cap;
  }
  if (Number(fields.retry_jitter) > 0) more.jitter = Number(fields.retry_jitter);
  const max = Number(fields.retries || 0);
  if (Object.keys(more).length) spec.retries = {max, ...more};
  else if (max !== 0) spec.retries = max;
}

function putMisfire(spec, fields) {
  const more = {};
  if (fields.misfire === "fire_all") {
    if (fields.misfire_max !== "1000") more.max = Number(fields.misfire_max);
    if (fields.misfire_window !== "24h") more.window = fields.misfire_window;
  }
  if (fields.misfire_threshold && fields.misfire_threshold !== "5s") more.threshold = fields.misfire_threshold;
  if (Object.keys(more).length) spec.misfire = {policy: fields.misfire, ...more};
  else if (fields.misfire !== "fire_once") spec.misfire = fields.misfire;
}

/// The spec of the form's fields: what equals a default is left out.
export function toSpec(fields) {
  const spec = {...fields.rest};
  if (fields.task_id) spec.task_id = fields.task_id;
  spec.group = fields.group || "default";
  for (const name of ["description", "owner"]) if (fields[name]) spec[name] = fields[name];
  for (const name of ["tags", "alarm"]) {
    const words = wordsOf(fields[name]);
    if (words.length) spec[name] = words;
  }
  putSchedule(spec, fields);
  putRun(spec, fields);
  if (fields.priority !== "" && fields.priority !== "100") spec.priority = Number(fields.priority);
  putRetries(spec, fields);
  for (const name of ["timeout", "start_deadline", "dispatch", "block", "client_group"])
    if (fields[name]) spec[name] = fields[name];
  if (fields.overlap !== "skip") spec.overlap = fields.overlap;
  putMisfire(spec, fields);
  const children = wordsOf(fields.children).map((child) => {
    const at = child.indexOf("/");
    return {group: at < 0 ? "default" : child.slice(0, at), task_id: child.slice(at + 1)};
  });
  if (children.length) spec.children = children;
  if (fields.need_feedback) spec.need_feedback = true;
  if (fields.dispatch !== "pull") {
    if (fields.route && fields.route !== "FIRST") spec.route = fields.route;
    const addresses = wordsOf(fields.addresses);
    if (addresses.length) spec.addresses = addresses;
  }
  return spec;
}

/// What /schedules:preview takes, or null where there is no schedule to show.
export function scheduleOf(spec) {
  const kind = kindOf(spec);
  if (!["cron", "every", "fixed_delay", "at"].includes(kind) || !spec[kind]) return null;
  const asked = {[kind]: spec[kind]};
  const more = kind === "cron" ? ["tz", "dst"] : kind === "at" ? [] : ["first"];
  for (const name of more) if (spec[name]) asked[name] = spec[name];
  return asked;
}

/// The field of the form that a problem's `field` means: "schedule.cron" is cron, "retries.base" is retry_base.
export function fieldOfProblem(name) {
  if (!name) return "";
  const special = {
    "retries.max": "retries",
    "retries.policy": "retry_policy",
    "retries.base": "retry_base",
    "retries.cap": "retry_cap",
    "retries.jitter": "retry_jitter",
    "misfire.policy": "misfire",
    "misfire.max": "misfire_max",
    "misfire.window": "misfire_window",
    "misfire.threshold": "misfire_threshold",
    "script.source": "source",
    "script.language": "language",
    "http.url": "url",
    "http.method": "method",
    "http.headers": "headers",
    "http.body": "body",
  };
  const known = name.replace(/^(jobs\[\d+\]|spec|schedule|run)\./, "").replace(/\[\d+\].*$/, "");
  return special[known] ?? known;
}
