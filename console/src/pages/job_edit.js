// A new job, a copy of one, or a change: a form with help, or the spec as JSON; checked while it is written.
import {html, useEffect, useRef, useState} from "../lib/html.js";
import {jobPath, post, put} from "../lib/api.js";
import {useFetch, useSettled} from "../lib/fetching.js";
import {t} from "../lib/i18n.js";
import {go, jobAddress, to} from "../lib/router.js";
import {refusal} from "../lib/session.js";
import {fieldOfProblem, toFields, toSpec} from "../job/spec.js";
import {JobForm} from "../job/form.js";
import {Button, Fetched, Page, problemText} from "../ui/basics.js";
import {confirm, toast} from "../ui/dialog.js";
import {AreaField} from "../ui/form.js";
import {Icon} from "../ui/icons.js";

/// Checks a spec with the server; {isValid, warning, error, field}.
function useCheck(spec, jsonError) {
  const settled = useSettled(spec, 450);
  const [state, setState] = useState({});
  useEffect(() => {
    if (!settled || jsonError) return setState({});
    const control = new AbortController();
    setState((before) => ({...before, isChecking: true}));
    post("/jobs", settled, {query: {dry_run: "true"}, signal: control.signal}).then(
      (answer) => {
        const result = answer.results?.[0] ?? {};
        const isBad = result.status === "rejected";
        setState({
          isValid: !isBad,
          warning: result.warning,
          error: isBad ? result.reason : "",
          field: isBad ? result.field : "",
        });
      },
      (error) => {
        if (error.name !== "AbortError")
          setState({isValid: false, error: problemText(error), field: error.field, code: error.code});
      },
    );
    return () => control.abort();
  }, [JSON.stringify(settled), jsonError]);
  return state;
}

function Verdict({check, jsonError}) {
  if (jsonError)
    return html`<span class="said tone-bad" role="status"><${Icon} name="cross" /> ${t("edit.not_json", {reason: jsonError})}</span>`;
  if (check.error)
    return html`<span class="said tone-bad" role="status"><${Icon} name="cross" /> ${check.error}</span>`;
  if (check.isValid && check.warning)
    return html`<span class="said tone-warn" role="status"><${Icon} name="lost" /> ${check.warning}</span>`;
  if (check.isValid)
    return html`<span class="said tone-good" role="status"><${Icon} name="check" /> ${t("edit.valid")}</span>`;
  return html`<span class="said faint" role="status">${check.isChecking ? t("edit.checking") : ""}</span>`;
}

function Editor({job, isCopy, isNew}) {
  const first = useRef(null);
  if (!first.current) {
    const spec = {...(job?.spec ?? {cron: "0 0 2 * * ?"})};
    if (isCopy) spec.task_id = `${spec.task_id ?? job.task_id}-copy`;
    first.current = toFields(spec);
  }
  const [fields, setFields] = useState(first.current);
  const [json, setJson] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const [isTouched, setTouched] = useState(isCopy || !isNew);
  const [isSuspended, setSuspended] = useState(false);
  let spec = null;
  let jsonError = "";
  if (json === null) spec = toSpec(fields);
  else {
    try {
      spec = JSON.parse(json);
    } catch (error) {
      jsonError = error.message;
    }
  }
  const check = useCheck(isTouched ? spec : null, jsonError);
  const wrong = isTouched && check.error ? {[fieldOfProblem(check.field || /^[a-z_.]+/.exec(check.error)?.[0])]: check.error} : {};
  const change = (changes) => {
    setTouched(true);
    setFields((before) => ({...before, ...changes}));
  };
  const group = spec?.group || "default";
  const why = refusal("editor", group);
  const isDirty = JSON.stringify(spec) !== JSON.stringify(toSpec(first.current));

  useEffect(() => {
    if (!isDirty || isBusy) return undefined;
    const warn = (event) => event.preventDefault();
    window.addEventListener("beforeunload", warn);
    return () => window.removeEventListener("beforeunload", warn);
  }, [isDirty, isBusy]);

  const store = async (isReplacing) => {
    setTouched(true);
    setBusy(true);
    try {
      const answer = isNew
        ? await post(
            "/jobs",
            isSuspended || isReplacing
              ? {jobs: [isReplacing ? {...spec, replace_on_exist: true} : spec], suspended: isSuspended}
              : spec,
          )
        : await put(jobPath(job.group, job.task_id), spec, {headers: {"If-Match": job.etag ?? "*"}});
      const result = answer.results?.[0] ?? answer;
      if (result.status === "duplicate") return await askToReplace();
      if (result.status === "rejected") return toast("bad", result.reason);
      toast("good", t(isNew ? "edit.created" : "edit.saved", {name: result.task_id ?? spec.task_id}));
      if (result.warning) toast("warn", result.warning);
      go(jobAddress(result.group ?? group, result.task_id ?? spec.task_id));
    } catch (error) {
      if (error.status === 409 && isNew) return await askToReplace();
      toast("bad", error.status === 412 ? t("edit.changed_meanwhile") : problemText(error));
    } finally {
      setBusy(false);
    }
  };
  const askToReplace = async () => {
    if (
      await confirm({
        title: t("ask.replace", {name: spec.task_id}),
        text: t("ask.replace_text"),
        action: t("act.replace"),
      })
    )
      await store(true);
  };
  const toForm = () => {
    if (spec) setFields(toFields(spec));
    setJson(null);
  };

  const hasMask = JSON.stringify(first.current).includes("***");
  return html`<form onSubmit=${(event) => {
    event.preventDefault();
    store(false);
  }} noValidate>
    ${!isNew && hasMask && html`<div class="notice warn"><div>${t("edit.masked")}</div></div>`}
    <div class="choice-row" role="group" aria-label=${t("edit.as")}>
      <button type="button" class=${"button" + (json === null ? " primary" : "")} aria-pressed=${json === null ? "true" : "false"}
        disabled=${Boolean(jsonError)} onClick=${toForm}>${t("edit.form")}</button>
      <button type="button" class=${"button" + (json !== null ? " primary" : "")} aria-pressed=${json !== null ? "true" : "false"}
        onClick=${() => json === null && setJson(JSON.stringify(spec, null, 2))}>JSON</button></div>
    ${
      json === null
        ? html`<${JobForm} fields=${fields} onChange=${change} wrong=${wrong} isNew=${isNew} spec=${spec} />`
        : html`<div class="spaced"><${AreaField} label=${t("edit.json")} help=${t("edit.json_help")} rows=${24} value=${json} error=${jsonError}
          onInput=${(text) => {
            setTouched(true);
            setJson(text);
          }} /></div>`
    }
    <div class="form-foot"><${Verdict} check=${isTouched ? check : {}} jsonError=${jsonError} />
      ${isNew && html`<label><input type="checkbox" checked=${isSuspended} onChange=${(event) => setSuspended(event.target.checked)} /> ${t("edit.suspended")}</label>`}
      <${Button} label=${t("act.back")} onClick=${() => history.back()} />
      <button type="submit" class="button primary" disabled=${Boolean(isBusy || why || jsonError || (!isNew && !isDirty))} title=${why}>
        ${t(isNew ? "edit.create" : "act.save")}</button></div></form>`;
}

export default function EditPage({route}) {
  const isNew = route.parts[1] === "new" && route.parts.length === 2;
  const copy = route.query.copy ?? "";
  const from = isNew
    ? copy.includes("/")
      ? [copy.slice(0, copy.indexOf("/")), copy.slice(copy.indexOf("/") + 1)]
      : null
    : [route.parts[1], route.parts[2]];
  const found = useFetch(from ? jobPath(...from) : null);
  const title = isNew ? t(copy ? "edit.title_copy" : "edit.title_new") : t("edit.title", {name: route.parts[2]});
  const crumbs = [
    [t("nav.jobs"), to(["jobs"])],
    ...(isNew ? [] : [[route.parts[2], jobAddress(route.parts[1], route.parts[2])]]),
  ];
  return html`<${Page} title=${title} crumbs=${crumbs} sub=${!isNew && t("edit.sub")}>
    ${
      from
        ? html`<${Fetched} from=${found}>${(job) => html`<${Editor} key="of" job=${job} isCopy=${isNew} isNew=${isNew} />`}</${Fetched}>`
        : html`<${Editor} key="new" isNew />`
    }</${Page}>`;
}
