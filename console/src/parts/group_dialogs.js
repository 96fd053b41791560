// Changes of a node group: its list of executors, its partitions.
import {html, useState} from "../lib/html.js";
import {post} from "../lib/api.js";
import {t} from "../lib/i18n.js";
import {refusal} from "../lib/session.js";
import {Button, Problem} from "../ui/basics.js";
import {Dialog, toast} from "../ui/dialog.js";
import {AreaField, SelectField, TextField} from "../ui/form.js";

const kParts = ["2", "4", "8", "16", "32", "64"];

function useSubmit(send, onClose) {
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async () => {
    setBusy(true);
    try {
      await send();
      onClose();
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  return {error, isBusy, submit};
}

export function ExecutorsDialog({group, addresses, onClose, onDone}) {
  const [name, setName] = useState(group ?? "");
  const [text, setText] = useState(addresses.join("\n"));
  const [token, setToken] = useState("");
  const {error, isBusy, submit} = useSubmit(async () => {
    const list = text.split(/\s+/).filter(Boolean);
    await post(`/groups/${encodeURIComponent(name)}/executors`, {addresses: list, ...(token ? {token} : {})});
    toast("good", t("done.executors", {name}));
    onDone(name);
  }, onClose);
  return html`<${Dialog} title=${group ? t("groups.edit_executors") : t("groups.add")} onClose=${onClose} onSubmit=${submit}
    actions=${html`<${Button} label=${t("act.back")} onClick=${onClose} />
      <button type="submit" class="button primary" disabled=${Boolean(isBusy || !name || refusal("admin", name))}>${t("act.save")}</button>`}>
    ${error && html`<${Problem} error=${error} />`}
    ${!group && html`<${TextField} label=${t("groups.app_name")} value=${name} onInput=${setName} help=${t("groups.app_name_help")} isRequired autofocus />`}
    <${AreaField} label=${t("groups.addresses")} value=${text} onInput=${setText} rows=${4} help=${t("groups.addresses_help")} placeholder="http://10.0.0.7:9999/" />
    <${TextField} label=${t("groups.token")} value=${token} onInput=${setToken} type="password" autocomplete="new-password" help=${t("groups.token_help")} /></${Dialog}>`;
}

export function SplitDialog({group, parts, onClose, onDone}) {
  const options = kParts.filter((one) => Number(one) > parts);
  const [value, setValue] = useState(options[0] ?? "");
  const {error, isBusy, submit} = useSubmit(async () => {
    const answer = await post(`/groups/${encodeURIComponent(group)}:split`, {parts: Number(value)});
    toast("good", answer.message || t("done.split", {name: group, n: value}));
    onDone();
  }, onClose);
  return html`<${Dialog} title=${t("split.title", {name: group})} onClose=${onClose} onSubmit=${submit}
    actions=${html`<${Button} label=${t("act.back")} onClick=${onClose} />
      <button type="submit" class="button danger" disabled=${isBusy || !value}>${t("act.split")}</button>`}>
    ${error && html`<${Problem} error=${error} />`}<p>${t("split.text", {n: parts})}</p>
    <${SelectField} label=${t("field.parts")} value=${value} onInput=${setValue} options=${options.map((one) => [one, one])} /></${Dialog}>`;
}
