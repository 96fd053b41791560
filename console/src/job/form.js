// The form of a job. Every field has its help; `wrong` has the error of a field.
import {html, useState} from "../lib/html.js";
import {t} from "../lib/i18n.js";
import {Panel} from "../ui/basics.js";
import {AreaField, CheckField, ChoiceField, SelectField, TextField} from "../ui/form.js";
import {useGroupNames} from "../ui/filters.js";
import {ScriptField} from "./script_field.js";
import {Preview} from "./schedule.js";

const kZones =
  typeof Intl.supportedValuesOf === "function"
    ? ["UTC", ...Intl.supportedValuesOf("timeZone")]
    : ["UTC", "Asia/Shanghai"];
const kLanguages = ["bash", "sh", "python", "python2", "node", "php", "perl", "ruby", "lua", "powershell", "groovy"];
const kRoutes = [
  "FIRST",
  "LAST",
  "ROUND",
  "RANDOM",
  "CONSISTENT_HASH",
  "LEAST_FREQUENTLY_USED",
  "LEAST_RECENTLY_USED",
  "FAILOVER",
  "BUSYOVER",
  "SHARDING_BROADCAST",
];
const kBlocks = ["SERIAL_EXECUTION", "DISCARD_LATER", "COVER_EARLY"];
const named = (prefix, names) => names.map((name) => [name, t(prefix + name)]);

export function JobForm({fields, onChange, wrong, isNew, spec}) {
  const groups = useGroupNames();
  const bind = (name, more = {}) => ({
    label: t("field." + name),
    help: more.help === false ? undefined : t("help." + name),
    value: fields[name],
    error: wrong[name],
    onInput: (value) => onChange({[name]: value}),
    ...more,
  });
  const parts = {fields, bind, onChange, spec};
  return html`<div class="job-form">
    <${Panel} title=${t("edit.identity")}><div class="form">
      <${TextField} ...${bind("task_id")} disabled=${!isNew} mono />
      <${TextField} ...${bind("group")} list=${groups} disabled=${!isNew} />
      <${TextField} ...${bind("owner")} /><${TextField} ...${bind("tags")} />
      <${TextField} ...${bind("description")} wide /></div></${Panel}>
    <${SchedulePart} ...${parts} /><${RunPart} ...${parts} /><${ExecutionPart} ...${parts} />
    <${AfterPart} ...${parts} /><${ExecutorPart} ...${parts} /></div>`;
}

function SchedulePart({fields, bind, onChange, spec}) {
  const {kind} = fields;
  const repeats = kind === "every" || kind === "fixed_delay";
  return html`<${Panel} title=${t("edit.schedule")}><div class="form">
    <${ChoiceField} label=${t("field.kind")} value=${kind} onInput=${(value) => onChange({kind: value})} help=${t("help.kind_" + kind)}
      options=${named("kind.", ["cron", "every", "fixed_delay", "at", "manual", "now"])} />
    ${
      kind === "cron" &&
      html`<${TextField} ...${bind("cron")} mono isRequired /><${TextField} ...${bind("tz")} list=${kZones} />
      <${SelectField} ...${bind("dst")} options=${named("dst.rule_", ["auto", "skip", "once", "twice"])} />`
    }
    ${kind === "at" && html`<${TextField} ...${bind("at")} mono isRequired placeholder="2026-12-01T08:00:00Z" />`}
    ${
      repeats &&
      html`<${TextField} ...${bind(kind)} mono isRequired placeholder="10m" />
      <${TextField} ...${bind("first")} mono placeholder="2026-12-01T08:00:00Z" /><${TextField} ...${bind("count")} type="number" />`
    }
    <div class="field wide"><${Preview} spec=${spec} /></div></div></${Panel}>`;
}

function RunPart({fields, bind, onChange}) {
  const {run} = fields;
  return html`<${Panel} title=${t("edit.run")}><div class="form">
    <${ChoiceField} label=${t("edit.what")} value=${run} onInput=${(value) => onChange({run: value})} help=${t("help.run_" + run)}
      options=${named("run.", ["command", "shell", "script", "http", "handler"])} />
    ${run === "command" && html`<${AreaField} ...${bind("command")} wide isRequired placeholder=${"/usr/local/bin/backup\n--full"} />`}
    ${run === "shell" && html`<${AreaField} ...${bind("shell")} wide isRequired rows=${2} placeholder="gzip -9 /var/log/app/*.1" />`}
    ${
      run === "script" &&
      html`<${SelectField} ...${bind("language", {help: false})} options=${kLanguages.map((name) => [name, name])} />
      <${TextField} ...${bind("remark")} /><${ScriptField} ...${bind("source")} language=${fields.language} />`
    }
    ${
      run === "http" &&
      html`<${TextField} ...${bind("url")} wide isRequired mono placeholder="https://example.org/refresh" />
      <${SelectField} ...${bind("method", {help: false})} options=${["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"].map((name) => [name, name])} />
      <${AreaField} ...${bind("headers")} placeholder="Content-Type: application/json" /><${AreaField} ...${bind("body")} />`
    }
    ${run === "handler" && html`<${TextField} ...${bind("handler")} isRequired mono />`}
    ${run !== "http" && html`<${AreaField} ...${bind("params")} placeholder="day=2026-11-20" />`}
    <${AreaField} ...${bind("payload")} /></div></${Panel}>`;
}

function ExecutionPart({fields, bind}) {
  const hasRetries = Number(fields.retries) > 0;
  return html`<${Panel} title=${t("edit.execution")}><div class="form">
    <${TextField} ...${bind("priority")} type="number" /><${TextField} ...${bind("timeout")} placeholder="5m" mono />
    <${TextField} ...${bind("start_deadline")} placeholder="10m" mono /><${TextField} ...${bind("retries")} type="number" />
    ${
      hasRetries &&
      html`<${TextField} ...${bind("retry_base")} mono />
      <${SelectField} ...${bind("retry_policy")} options=${named("retry.", ["fixed", "exponential"])} />
      ${fields.retry_policy === "exponential" && html`<${TextField} ...${bind("retry_cap")} mono />`}
      <${TextField} ...${bind("retry_jitter")} mono />`
    }
    <${SelectField} ...${bind("overlap")} help=${t("help.overlap_" + fields.overlap)}
      options=${named("overlap.", ["skip", "queue", "queue_one", "cancel_running", "parallel"])} />
    <${SelectField} ...${bind("misfire")} help=${t("help.misfire_" + fields.misfire)} options=${named("misfire.", ["fire_once", "skip", "fire_all"])} />
    ${fields.misfire === "fire_all" && html`<${TextField} ...${bind("misfire_max")} type="number" /><${TextField} ...${bind("misfire_window")} mono />`}
    <${TextField} ...${bind("misfire_threshold")} mono /></div></${Panel}>`;
}

function AfterPart({fields, bind}) {
  return html`<${Panel} title=${t("edit.after")}><div class="form">
    <${AreaField} ...${bind("children")} placeholder="default/report" rows=${2} /><${TextField} ...${bind("alarm")} placeholder="ann@example.com" />
    <${CheckField} ...${bind("need_feedback")} />${fields.need_feedback && html`<${TextField} ...${bind("client_group")} />`}</div></${Panel}>`;
}

/// What only jobs of xxl-job executors have: out of the way unless it is used.
function ExecutorPart({fields, bind}) {
  const [isOpen] = useState(
    fields.dispatch === "push" || fields.route !== "FIRST" || Boolean(fields.block || fields.addresses),
  );
  return html`<details class="panel fold" open=${isOpen}><summary>${t("edit.executors")}</summary><div class="panel-body form">
    <${SelectField} ...${bind("dispatch")} options=${[
      ["", t("dispatch.group")],
      ["pull", t("dispatch.pull")],
      ["push", t("dispatch.push")],
    ]} />
    <${SelectField} ...${bind("route")} options=${kRoutes.map((name) => [name, `${name} – ${t("route." + name)}`])} />
    <${SelectField} ...${bind("block")} options=${[["", t("block.default")], ...kBlocks.map((name) => [name, name])]} />
    <${AreaField} ...${bind("addresses")} placeholder="http://10.0.0.7:9999/" rows=${2} /></div></details>`;
}
