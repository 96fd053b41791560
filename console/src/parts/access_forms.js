// Dialogs that add or change a user, a token or a key. What is secret is shown once.
import {html, useState} from "../lib/html.js";
import {patch, post} from "../lib/api.js";
import {languages, t} from "../lib/i18n.js";
import {Button, Code, Problem} from "../ui/basics.js";
import {Dialog, toast} from "../ui/dialog.js";
import {AreaField, SelectField, TextField} from "../ui/form.js";

const kRoles = {
  users: ["viewer", "operator", "editor", "admin"],
  tokens: ["viewer", "operator", "editor", "admin"],
  keys: ["viewer", "operator", "editor", "admin", "worker"],
};
const kLeastPassword = 8;

function Fields({kind, values, change, isNew}) {
  const bind = (name) => ({value: values[name], onInput: (value) => change({[name]: value})});
  return html`<${TextField} label=${t("field.name")} ...${bind("name")} disabled=${!isNew} isRequired autofocus=${isNew} />
    <${SelectField} label=${t("field.role")} ...${bind("role")} options=${kRoles[kind].map((role) => [role, t("role." + role)])} help=${t("role.help_" + values.role)} />
    <${TextField} label=${t("access.groups")} ...${bind("groups")} help=${t("access.groups_help")} mono />
    ${
      kind === "users" &&
      html`<${TextField} label=${isNew ? t("field.password") : t("access.new_password")} type="password" autocomplete="new-password"
        ...${bind("password")} help=${t("access.password_help", {n: kLeastPassword})} isRequired=${isNew} />
      <${SelectField} label=${t("field.language")} ...${bind("language")} options=${[["", t("access.language_auto")], ...Object.entries(languages)]} />`
    }
    ${kind === "tokens" && html`<${TextField} label=${t("access.expires")} ...${bind("expires")} help=${t("access.expires_help")} />`}
    ${kind === "keys" && html`<${AreaField} label=${t("access.public_key")} ...${bind("public_key")} rows=${2} help=${t("access.public_key_help")} />`}`;
}

/// kind: users, tokens or keys; `item` is what to change, null for a new one.
export function AccessDialog({kind, item, onClose, onDone}) {
  const [values, setValues] = useState({
    name: item?.name ?? "",
    role: item?.role ?? "viewer",
    groups: (item?.groups ?? ["*"]).join(", "),
    password: "",
    language: item?.language ?? "",
    expires: "90d",
    public_key: "",
  });
  const [error, setError] = useState(null);
  const [secret, setSecret] = useState(null);
  const isNew = !item;
  const change = (changes) => setValues((before) => ({...before, ...changes}));
  const submit = async () => {
    setError(null);
    try {
      const body = {role: values.role, groups: values.groups.split(/[,\s]+/).filter(Boolean)};
      if (isNew) body.name = values.name.trim();
      if (kind === "users") {
        if (values.password) body.password = values.password;
        if (values.language) body.language = values.language;
      }
      if (kind === "tokens") body.expires = values.expires;
      if (kind === "keys" && values.public_key.trim()) body.public_key = values.public_key.trim();
      const answer = isNew
        ? await post("/" + kind, body)
        : await patch(`/${kind}/${encodeURIComponent(item.name)}`, body);
      toast("good", t(isNew ? "access.added" : "access.saved", {name: values.name}));
      onDone();
      const shown = answer.token ?? answer.secret_key;
      if (shown) setSecret(shown);
      else onClose();
    } catch (failed) {
      setError(failed);
    }
  };
  const title = isNew ? t("access.add_" + kind) : t("access.change", {name: item.name});
  if (secret) {
    return html`<${Dialog} title=${title} onClose=${onClose} actions=${html`<${Button} kind="primary" label=${t("act.close")} onClick=${onClose} />`}>
      <div class="notice warn"><div>${t("access.once")}</div></div><${Code} text=${secret} label=${t("access.secret")} /></${Dialog}>`;
  }
  return html`<${Dialog} title=${title} onClose=${onClose} onSubmit=${submit} actions=${html`<${Button} label=${t("act.back")} onClick=${onClose} />
      <button type="submit" class="button primary" disabled=${!values.name.trim()}>${t("act.save")}</button>`}>
    ${error && html`<${Problem} error=${error} />`}<${Fields} kind=${kind} values=${values} change=${change} isNew=${isNew} /></${Dialog}>`;
}
