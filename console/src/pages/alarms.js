// Alarms: what is firing, rules, recipients, history, silence.
import {html, useState} from "../lib/html.js";
import {post, put, remove} from "../lib/api.js";
import {useFetch, useList} from "../lib/fetching.js";
import {t, word} from "../lib/i18n.js";
import {useOperations} from "../lib/operations.js";
import {to} from "../lib/router.js";
import {Act, Button, Empty, Fetched, Page, Problem, Tabs, Time} from "../ui/basics.js";
import {Dialog, toast} from "../ui/dialog.js";
import {ChoiceField, TextField} from "../ui/form.js";
import {useGroupNames} from "../ui/filters.js";
import {Status} from "../ui/status.js";
import {ListTable, Table} from "../ui/table.js";

const kSpans = {"1h": 3600, "4h": 14400, "1d": 86400, "7d": 604800};

function SilenceDialog({group, onClose, onDone}) {
  const [name, setName] = useState(group ?? "");
  const [span, setSpan] = useState("4h");
  const [error, setError] = useState(null);
  const groups = useGroupNames();
  const submit = async () => {
    try {
      const until = new Date(Date.now() + kSpans[span] * 1000).toISOString();
      await put(`/alarms/silences/${encodeURIComponent(name)}`, {until});
      toast("good", t("alarms.silenced", {name}));
      onDone();
      onClose();
    } catch (failed) {
      setError(failed);
    }
  };
  return html`<${Dialog} title=${t("alarms.silence")} onClose=${onClose} onSubmit=${submit} actions=${html`<${Button} label=${t("act.back")} onClick=${onClose} />
      <button type="submit" class="button primary" disabled=${!name}>${t("alarms.silence")}</button>`}>
    ${error && html`<${Problem} error=${error} />`}<p>${t("alarms.silence_text")}</p>
    <${TextField} label=${t("field.group")} value=${name} onInput=${setName} list=${groups} isRequired />
    <${ChoiceField} label=${t("alarms.how_long")} value=${span} onInput=${setSpan} options=${Object.keys(kSpans).map((key) => [key, t("alarms.span_" + key)])} /></${Dialog}>`;
}

function TestDialog({onClose}) {
  const [recipient, setRecipient] = useState("");
  const [error, setError] = useState(null);
  const [said, setSaid] = useState("");
  const submit = async () => {
    setError(null);
    setSaid("");
    try {
      const answer = await post("/alarms:test", {recipient});
      setSaid(answer.message || t("alarms.test_sent", {to: recipient}));
    } catch (failed) {
      setError(failed);
    }
  };
  return html`<${Dialog} title=${t("alarms.test")} onClose=${onClose} onSubmit=${submit} actions=${html`<${Button} label=${t("act.close")} onClick=${onClose} />
      <button type="submit" class="button primary" disabled=${!recipient.trim()}>${t("alarms.test")}</button>`}>
    ${error && html`<${Problem} error=${error} />`}${said && html`<div class="notice good" role="status">${said}</div>`}
    <${TextField} label=${t("alarms.recipient")} value=${recipient} onInput=${setRecipient} help=${t("alarms.recipient_help")}
      placeholder="ops@example.com" autofocus isRequired /></${Dialog}>`;
}

function Now({onSilence, canSilence}) {
  const found = useFetch("/alarms", {}, {on: ["stats"]});
  const order = {firing: 0, silenced: 1, ok: 2};
  const unsilence = async (group) => {
    await remove(`/alarms/silences/${encodeURIComponent(group)}`);
    toast("good", t("alarms.unsilenced", {name: group}));
    found.reload();
  };
  return html`<${Fetched} from=${found}>${(data) => {
    const items = [...(data.items ?? [])].sort((a, b) => (order[a.state] ?? 3) - (order[b.state] ?? 3));
    const firing = items.filter((one) => one.state === "firing").length;
    return html`${firing === 0 && items.length > 0 && html`<div class="notice good"><div>${t("alarms.all_ok")}</div></div>`}
      <${Table} label=${t("alarms.now")} rows=${items} keyOf=${(one) => one.id} empty=${html`<${Empty} text=${t("alarms.all_ok")}>
        <a class="button" href=${to(["alarms"], {tab: "rules"})}>${t("alarms.rules")}</a></${Empty}>`} columns=${[
        {name: "state", label: t("field.state"), cell: (one) => html`<${Status} state=${one.state} />`},
        {
          name: "group",
          label: t("field.group"),
          kind: "name",
          cell: (one) => (one.group ? html`<a href=${to(["groups", one.group])}>${one.group}</a>` : "–"),
        },
        {
          name: "rule",
          label: t("field.rule"),
          cell: (one) => (one.rule ? html`<span class="mono">${one.rule}</span>` : "–"),
        },
        {name: "message", label: t("field.message"), kind: "grow", cell: (one) => one.message || "–"},
        {
          name: "since",
          label: t("field.since"),
          cell: (one) =>
            html`${(one.since || !one.until) && html`<${Time} at=${one.since} />`}${one.until && html`<span class="sub">${t("alarms.until")} <${Time} at=${one.until} /></span>`}`,
        },
        canSilence && {
          name: "act",
          label: "",
          kind: "tight",
          cell: (one) =>
            one.group &&
            (one.state === "silenced"
              ? html`<${Act} group=${one.group} kind="small" label=${t("alarms.unsilence")} onClick=${() => unsilence(one.group)} />`
              : html`<${Act} group=${one.group} kind="small" label=${t("alarms.silence")} onClick=${() => onSilence(one.group)} />`),
        },
      ]} />`;
  }}</${Fetched}>`;
}

function Rules() {
  const found = useFetch("/alarms/rules");
  return html`<p class="lead">${t("alarms.rules_text")}</p><${Fetched} from=${found}>${(data) => html`
    <${Table} label=${t("alarms.rules")} rows=${data.items ?? []} keyOf=${(rule) => `${rule.group}/${rule.rule}/${rule.value ?? rule.limit}`}
      empty=${html`<${Empty} text=${t("alarms.no_rules")}><pre>jobtracker --alarm ops@example.com --alarm-when unserved=1m --alarm-when failures=20%</pre></${Empty}>`} columns=${[
        {
          name: "rule",
          label: t("field.rule"),
          kind: "name",
          cell: (rule) =>
            html`<span class="mono">${[rule.rule, rule.value ?? rule.limit].filter(Boolean).join("=")}</span>`,
        },
        {
          name: "group",
          label: t("field.group"),
          cell: (rule) => (!rule.group || rule.group === "*" ? t("alarms.every_group") : rule.group),
        },
        {
          name: "meaning",
          label: t("alarms.meaning"),
          kind: "grow",
          cell: (rule) => rule.description || word("alarms.rule_", String(rule.rule).split("=")[0]),
        },
        (data.items ?? []).some((rule) => rule.recipients) && {
          name: "recipients",
          label: t("alarms.recipients"),
          cell: (rule) => (rule.recipients ?? []).join(", ") || "–",
        },
      ]} />
    ${(data.recipients ?? []).length > 0 && html`<p>${t("alarms.default_recipients")} ${data.recipients.join(", ")}</p>`}`}</${Fetched}>`;
}

function Sent({query}) {
  const list = useList("/alarms/history", {page: query.page, page_size: 50}, {on: ["stats"]});
  return html`<${ListTable} label=${t("alarms.history")} list=${list} keyOf=${(one) => one.id ?? `${one.at}${one.group}${one.rule}`}
    empty=${html`<${Empty} text=${t("alarms.no_history")} />`} columns=${[
      {name: "at", label: t("field.time"), cell: (one) => html`<${Time} at=${one.at ?? one.since} />`},
      {name: "group", label: t("field.group"), kind: "name", cell: (one) => one.group || "–"},
      {name: "rule", label: t("alarms.about"), cell: (one) => html`<span class="mono">${one.rule}</span>`},
      {
        name: "state",
        label: t("field.state"),
        cell: (one) => html`<${Status} state=${one.state} />`,
      },
      {name: "message", label: t("field.message"), kind: "grow", cell: (one) => one.message || "–"},
      {name: "to", label: t("alarms.recipients"), cell: (one) => (one.recipients ?? []).join(", ") || "–"},
    ]} />`;
}

export default function Alarms({route}) {
  const tab = ["rules", "history"].includes(route.query.tab) ? route.query.tab : "now";
  const [silencing, setSilencing] = useState(null);
  const [isTesting, setTesting] = useState(false);
  const [version, setVersion] = useState(0);
  const has = useOperations();
  const canSilence = has("PUT /alarms/silences/{group}");
  const tabs = ["now", "rules", ...(has("GET /alarms/history") ? ["history"] : [])];
  return html`<${Page} title=${t("nav.alarms")} actions=${html`${canSilence && html`<${Act} label=${t("alarms.silence")} icon="pause" onClick=${() => setSilencing("")} />`}
      ${has("POST /alarms:test") && html`<${Act} icon="bell" label=${t("alarms.test")} onClick=${() => setTesting(true)} />`}`}>
    <${Tabs} label=${t("nav.alarms")} current=${tab} items=${tabs.map((name) => [
      name,
      t("alarms." + name),
      to(["alarms"], name === "now" ? {} : {tab: name}),
    ])} />
    ${tab === "now" && html`<${Now} key=${version} onSilence=${setSilencing} canSilence=${canSilence} />`}
    ${tab === "rules" && html`<${Rules} />`}${tab === "history" && tabs.includes(tab) && html`<${Sent} query=${route.query} />`}
    ${silencing !== null && html`<${SilenceDialog} group=${silencing} onClose=${() => setSilencing(null)} onDone=${() => setVersion(version + 1)} />`}
    ${isTesting && html`<${TestDialog} onClose=${() => setTesting(false)} />`}</${Page}>`;
}
