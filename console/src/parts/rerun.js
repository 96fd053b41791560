// Runs something again, after a look at its payload.
import {html, useState} from "../lib/html.js";
import {t} from "../lib/i18n.js";
import {refusal} from "../lib/session.js";
import {Button, Problem} from "../ui/basics.js";
import {Dialog} from "../ui/dialog.js";
import {AreaField, CheckField} from "../ui/form.js";

/// onRun(payload): payload is undefined when it stays as it was.
export function RerunDialog({title, text, payload = "", group, onRun, onClose}) {
  const [isEdited, setEdited] = useState(false);
  const [value, setValue] = useState(payload);
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const why = refusal("operator", group);
  const submit = async () => {
    setBusy(true);
    try {
      await onRun(isEdited ? value : undefined);
      onClose();
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  return html`<${Dialog} title=${title} onClose=${onClose} onSubmit=${submit}
    actions=${html`<${Button} label=${t("act.back")} onClick=${onClose} />
      <button type="submit" class="button primary" disabled=${Boolean(isBusy || why)} title=${why}>${t("act.rerun")}</button>`}>
    ${error && html`<${Problem} error=${error} />`}<p>${text}</p>
    <${CheckField} label=${t("rerun.edit")} value=${isEdited} onInput=${setEdited} help=${t("rerun.edit_help")} />
    ${isEdited && html`<${AreaField} label=${t("field.payload")} value=${value} onInput=${setValue} rows=${6} />`}</${Dialog}>`;
}
