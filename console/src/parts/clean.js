// Deletes history with its output: of one job, or of a whole group.
import {html, useState} from "../lib/html.js";
import {post} from "../lib/api.js";
import {durationMs} from "../lib/format.js";
import {t} from "../lib/i18n.js";
import {Button, Problem} from "../ui/basics.js";
import {Dialog, toast} from "../ui/dialog.js";
import {ChoiceField, TextField} from "../ui/form.js";

export function CleanDialog({group, taskId, onClose, onDone}) {
  const [how, setHow] = useState("older_than");
  const [age, setAge] = useState("30d");
  const [error, setError] = useState(null);
  const submit = async () => {
    try {
      const ms = how === "all" ? 0 : durationMs(age);
      if (ms === null) throw new Error(t("clean.not_an_age", {age}));
      const before = new Date(Date.now() - ms).toISOString();
      const answer = await post("/runs/history:clean", {
        ...(group ? {group} : {}),
        ...(taskId ? {task_id: taskId} : {}),
        before,
      });
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
    <${ChoiceField} label=${t("clean.what")} value=${how} onInput=${setHow} options=${["older_than", "all"].map((name) => [name, t("clean." + name)])} />
    ${how === "older_than" && html`<${TextField} label=${t("clean.age")} value=${age} onInput=${setAge} help=${t("clean.age_help")} />`}</${Dialog}>`;
}
