// The dialog that runs a job now, with another payload or at chosen executors.
import {html, useState} from "../lib/html.js";
import {jobPath, post} from "../lib/api.js";
import {useFetch} from "../lib/fetching.js";
import {t} from "../lib/i18n.js";
import {runAddress} from "../lib/router.js";
import {refusal} from "../lib/session.js";
import {Button, Problem} from "../ui/basics.js";
import {Dialog, toast} from "../ui/dialog.js";
import {AreaField, CheckField} from "../ui/form.js";
import {Status} from "../ui/status.js";

function Addresses({group, chosen, onChange}) {
  const executors = useFetch("/executors", {group});
  const items = executors.data?.items ?? [];
  if (items.length === 0) return null;
  const toggle = (address) =>
    onChange(chosen.includes(address) ? chosen.filter((one) => one !== address) : [...chosen, address]);
  return html`<fieldset class="field wide"><legend>${t("trigger.addresses")}</legend>
    ${items.map(
      (one) => html`<label class="line"><input type="checkbox" checked=${chosen.includes(one.address)}
      onChange=${() => toggle(one.address)} /> <span class="mono break">${one.address}</span> <${Status} state=${one.state} /></label>`,
    )}
    <p class="field-help">${t("trigger.addresses_help")}</p></fieldset>`;
}

export function TriggerDialog({job, onClose, onDone}) {
  const [hasPayload, setHasPayload] = useState(false);
  const [payload, setPayload] = useState(job.spec?.payload ?? "");
  const [isForced, setForced] = useState(false);
  const [addresses, setAddresses] = useState([]);
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const why = refusal("operator", job.group);
  const submit = async () => {
    setBusy(true);
    setError(null);
    try {
      const body = {force: isForced, ...(hasPayload ? {payload} : {}), ...(addresses.length ? {addresses} : {})};
      const answer = await post(`${jobPath(job.group, job.task_id)}:trigger`, body);
      toast(
        "good",
        answer.message || t("done.job_trigger", {name: job.task_id}),
        answer.job_id && {text: t("act.open_run"), href: runAddress(answer.job_id)},
      );
      onDone?.();
      onClose();
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  return html`<${Dialog} title=${t("trigger.title", {name: job.task_id})} onClose=${onClose} onSubmit=${submit}
    actions=${html`<${Button} label=${t("act.back")} onClick=${onClose} />
      <button type="submit" class="button primary" disabled=${Boolean(isBusy || why)} title=${why}>${t("act.trigger")}</button>`}>
    ${error && html`<${Problem} error=${error} />`}
    <p>${t("trigger.text")}</p>
    <${CheckField} label=${t("trigger.other_payload")} value=${hasPayload} onInput=${setHasPayload} help=${t("trigger.payload_help")} />
    ${hasPayload && html`<${AreaField} label=${t("field.payload")} value=${payload} onInput=${setPayload} rows=${5} />`}
    <${Addresses} group=${job.group} chosen=${addresses} onChange=${setAddresses} />
    <${CheckField} label=${t("trigger.force")} value=${isForced} onInput=${setForced} help=${t("trigger.force_help")} /></${Dialog}>`;
}
