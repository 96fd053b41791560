// One's own account: password, language, sessions.
import {html, useState} from "../lib/html.js";
import {put} from "../lib/api.js";
import {languages, language, setLanguage, t, word} from "../lib/i18n.js";
import {to} from "../lib/router.js";
import {refusal, signOut, useSession} from "../lib/session.js";
import {useStore} from "../lib/store.js";
import {setTheme, theme} from "../lib/theme.js";
import {Act, Facts, Page, Panel, problemText} from "../ui/basics.js";
import {confirm, toast} from "../ui/dialog.js";
import {ChoiceField, TextField} from "../ui/form.js";

function Password() {
  const [old, setOld] = useState("");
  const [next, setNext] = useState("");
  const [again, setAgain] = useState("");
  const [error, setError] = useState("");
  const submit = async (event) => {
    event.preventDefault();
    if (next !== again) return setError(t("account.not_same"));
    try {
      await put("/session/password", {old, new: next});
      toast("good", t("account.password_changed"));
      setOld("");
      setNext("");
      setAgain("");
      setError("");
    } catch (failed) {
      setError(failed.status === 401 || failed.status === 403 ? t("account.wrong_password") : problemText(failed));
    }
    return undefined;
  };
  return html`<form onSubmit=${submit} class="stack"><${TextField} label=${t("account.old_password")} type="password" value=${old} onInput=${setOld} autocomplete="current-password" />
    <${TextField} label=${t("access.new_password")} type="password" value=${next} onInput=${setNext} autocomplete="new-password" />
    <${TextField} label=${t("account.again")} type="password" value=${again} onInput=${setAgain} autocomplete="new-password" error=${error} />
    <div><button type="submit" class="button primary" disabled=${!old || !next || !again}>${t("account.change_password")}</button></div></form>`;
}

export default function Account() {
  const {principal = {}, methods = {}} = useSession();
  const spoken = useStore(language);
  const chosen = useStore(theme);
  const speak = async (name) => {
    await setLanguage(name);
    put("/session/language", {language: name}).catch(() => {});
  };
  const everywhere = async () => {
    if (
      await confirm({title: t("account.everywhere"), text: t("account.everywhere_text"), action: t("session.sign_out")})
    )
      await signOut(true);
  };
  return html`<${Page} title=${t("nav.account")}><div class="columns">
    <div><${Panel} title=${t("account.you")}><${Facts} items=${[
      [t("field.name"), principal.name],
      [t("field.role"), principal.role && t("role." + principal.role)],
      [t("access.groups"), (principal.groups ?? []).join(", ")],
      [t("field.kind"), word("principal.", principal.kind)],
    ]} />
        <p class="faint spaced">${principal.role && t("role.help_" + principal.role)}</p></${Panel}>
      <${Panel} title=${t("account.look")}><div class="stack"><${ChoiceField} label=${t("field.language")} value=${spoken} onInput=${speak} options=${Object.entries(languages)} />
        <${ChoiceField} label=${t("theme.title")} value=${chosen} onInput=${setTheme} options=${["auto", "light", "dark"].map((name) => [name, t("theme." + name)])} /></div></${Panel}></div>
    <div>${methods.password !== false && html`<${Panel} title=${t("account.change_password")}><${Password} /></${Panel}>`}
      <${Panel} title=${t("account.sessions")}><p class="lead">${t("account.sessions_text")}</p><div class="actions"><${Act} need="viewer" label=${t("session.sign_out")} onClick=${() => signOut()} />
        <${Act} need="viewer" kind="danger" label=${t("account.everywhere")} onClick=${everywhere} />
        ${!refusal("admin") && html`<a class="button" href=${to(["access"], {tab: "tokens"})}>${t("account.tokens")}</a>`}</div></${Panel}></div></div></${Page}>`;
}
