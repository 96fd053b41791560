// Starts the console: theme, language, session, then the page of the address.
import {html, render} from "./lib/html.js";
import {preferredLanguage, setLanguage} from "./lib/i18n.js";
import {loadSession, takeSession} from "./lib/session.js";
import {startTheme} from "./lib/theme.js";
import {App} from "./app.js";

startTheme();
await setLanguage(preferredLanguage());
try {
  await loadSession();
} catch (error) {
  takeSession({signed_in: false, failed: error, methods: {}});
}
render(html`<${App} />`, document.getElementById("app"));
