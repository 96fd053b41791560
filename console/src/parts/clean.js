// Deletes history with its output: of one job, or of a whole group.
import {html, useState} from "../lib/html.js";
import {post} from "../lib/api.js";
import {t} from "../lib/i18n.js";
import {Button, Problem} from "../ui/basics.js";
import {Dialog, toast} from "../ui/dialog.js";
import {ChoiceField, TextField} from "../ui/form.js";

export function CleanDialog({group, taskId, onClose, onDone}) {
  const [how, setHow] = useState("older_than");
  const [age, setAge] = useState("30d");
  const [keep, setKeep] = useState("100");
  const [error, setError] = useState(null);
  const submit = async () => {
    try {
      const what = {older_than: {older_than: age}, keep: {keep: Number(keep)}, all: {all: true}}[how];
      const answer = await post("/runs:clean", {...(group ? {group} : {}), ...(taskId ? {task_id: taskId} : {}), ...what});
      toast("good", answer.message || t("clean.done"));
      onDone?.();
      onClose();
    } catch (failed) {
      setError(failed);
    }
  };
  return html`<${Dialog} title=${taskId ? t("clean.title_job", {name: taskId}) : t("clean.title")} onClose=${onClose} onSubmit=${submit}
    actions=${html`<${Button} label=${t("act.back")} onClick=${onClose} /><button type="submit" class="button danger">${t("act.clean")}</button>`}>
    ${error && html`<${Problem} error=${error} />`}
    <p>${t("clean.text")}</p>
    <${ChoiceField} label=${t("clean.what")} value=${how} onInput=${setHow} options=${["older_than", "keep", "all"].map((name) => [name, t("clean." + name)])} />
    ${how === "older_than" && html`<${TextField} label=${t("clean.age")} value=${age} onInput=${setAge} help=${t("clean.age_help")} />`}
    ${how === "keep" && html`<${TextField} label=${t("clean.number")} type="number" value=${keep} onInput=${setKeep} />`}</${Dialog}>`;
}
