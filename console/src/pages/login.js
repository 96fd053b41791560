// Sign-in: by password, by a link that works once, or by the organisation's sign-in.
import {html, useEffect, useState} from "../lib/html.js";
import {base, post} from "../lib/api.js";
import {t} from "../lib/i18n.js";
import {go, to} from "../lib/router.js";
import {loadSession, takeSession, useSession} from "../lib/session.js";
import {Preferences} from "../frame.js";
import {Loading, Problem, problemText} from "../ui/basics.js";
import {TextField} from "../ui/form.js";
import {Brand} from "../ui/icons.js";

function Password({next}) {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError("");
    try {
      takeSession(await post("/session", {name, password}));
      go(next, {replace: true});
    } catch (failed) {
      setError(
        failed.status === 401 ? t("login.wrong") : failed.status === 429 ? t("login.throttled") : problemText(failed),
      );
      setBusy(false);
    }
  };
  return html`<form onSubmit=${submit} class="login-form"><${TextField} label=${t("field.name")} value=${name} onInput=${setName} autocomplete="username" autofocus isRequired />
    <${TextField} label=${t("field.password")} type="password" value=${password} onInput=${setPassword} autocomplete="current-password" isRequired />
    ${error && html`<p class="field-error" role="alert">${error}</p>`}
    <button type="submit" class="button primary" disabled=${isBusy || !name || !password}>${t("login.sign_in")}</button></form>`;
}

/// The link of `jobclient console`: signs in at once, and the address forgets its secret.
function OneTime({secret}) {
  const [error, setError] = useState(null);
  useEffect(() => {
    post("/session", {one_time: secret}).then(
      (answer) => {
        go(to([]), {replace: true});
        takeSession(answer);
      },
      (failed) => {
        go(to(["login"], {failed: "link"}), {replace: true});
        setError(failed);
      },
    );
  }, []);
  return error ? html`<${Problem} error=${error} />` : html`<${Loading} label=${t("login.signing_in")} />`;
}

export default function Login({route}) {
  const known = useSession();
  const {one_time: secret, next = "/", failed, error} = route.query;
  const methods = known.methods ?? {};
  return html`<div class="login"><div class="login-card">
    <h1><${Brand} size="28" /> Carillon</h1>
    ${known.server?.name && html`<p class="faint">${known.server.name}</p>`}
    ${
      secret
        ? html`<${OneTime} secret=${secret} />`
        : html`
      ${(error || failed === "link") && html`<div class="notice warn" role="alert"><div>${error || t("login.link_used")}</div></div>`}
      ${
        known.failed
          ? html`<${Problem} error=${known.failed} retry=${() => loadSession().catch(() => {})} />`
          : html`
        ${methods.oidc && html`<a class="button primary" href=${base + "/oidc/start"}>${t("login.oidc", {name: methods.oidc_name || "OpenID Connect"})}</a>`}
        ${methods.oidc && methods.password !== false && html`<p class="or faint"><span>${t("login.or")}</span></p>`}
        ${methods.password !== false && html`<${Password} next=${next} />`}
        <p class="faint small">${t("login.link_help")}</p><pre class="hint">jobclient console</pre>`
      }`
    }
    <div class="actions login-foot"><${Preferences} /></div></div></div>`;
}
