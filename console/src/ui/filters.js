// Filters of a list: each is a part of the address.
import {classes, html, useEffect, useId, useState} from "../lib/html.js";
import {t} from "../lib/i18n.js";
import {setQuery, useRoute} from "../lib/router.js";
import {useSettled, useFetch} from "../lib/fetching.js";
import {fromInputTime, toInputTime} from "../lib/format.js";
import {Button} from "./basics.js";

/// Text of a filter; the address follows when the person stops typing.
export function TextFilter({name, label, placeholder, list, isMain = false}) {
  const {query} = useRoute();
  const id = useId();
  const [text, setText] = useState(query[name] ?? "");
  const settled = useSettled(text, 350);
  useEffect(() => setText(query[name] ?? ""), [query[name]]);
  useEffect(() => {
    if (settled === text && settled !== (query[name] ?? "")) setQuery({[name]: settled}, {replace: true});
  }, [settled]);
  return html`<div class=${isMain ? "filter main" : "filter"}><label for=${id}>${label}</label>
    <input id=${id} type="search" value=${text} placeholder=${placeholder} list=${list && id + "-list"} autocomplete="off"
      onInput=${(event) => setText(event.target.value)}
      onKeyDown=${(event) => event.key === "Enter" && setQuery({[name]: event.target.value})} />
    ${list && html`<datalist id=${id + "-list"}>${list.map((one) => html`<option value=${one} />`)}</datalist>`}</div>`;
}

export function ChoiceFilter({name, label, options, all}) {
  const {query} = useRoute();
  const id = useId();
  return html`<div class="filter"><label for=${id}>${label}</label>
    <select id=${id} value=${query[name] ?? ""} onChange=${(event) => setQuery({[name]: event.target.value})}>
      <option value="">${all ?? t("filter.all")}</option>
      ${options.map(([value, text]) => html`<option value=${value} selected=${query[name] === value}>${text}</option>`)}
    </select></div>`;
}

export function TimeFilter({name, label}) {
  const {query} = useRoute();
  const id = useId();
  return html`<div class="filter time"><label for=${id}>${label}</label>
    <input id=${id} type="datetime-local" value=${toInputTime(query[name])}
      onChange=${(event) => setQuery({[name]: fromInputTime(event.target.value)})} /></div>`;
}

/// Names of the node groups, for filters and forms.
export function useGroupNames() {
  const groups = useFetch("/groups", {page_size: 1000});
  return (groups.data?.items ?? []).map((group) => group.group);
}

export function GroupFilter() {
  return html`<${TextFilter} name="group" label=${t("field.group")} placeholder=${t("filter.all")} list=${useGroupNames()} />`;
}

/// On a phone, only the main filter shows until the others are asked for.
export function Filters({children, names}) {
  const {query} = useRoute();
  const [isOpen, setOpen] = useState(false);
  const isOn = names.some((name) => query[name]);
  const isFew = names.length < 3;
  return html`<form class=${classes("filters", {open: isOpen || isFew})} role="search" aria-label=${t("filter.label")} onSubmit=${(event) => event.preventDefault()}>
    ${children}
    ${!isFew && html`<button type="button" class="button more" aria-expanded=${isOpen ? "true" : "false"} onClick=${() => setOpen(!isOpen)}>${t("filter.label")}</button>`}
    ${
      isOn &&
      html`<${Button} label=${t("filter.clear")} kind="quiet" icon="cross"
      onClick=${() => setQuery(Object.fromEntries(names.map((name) => [name, ""])))} />`
    }</form>`;
}
