// A script's text in an editor, which is loaded when one is first shown; until then, and where it
// cannot load, a plain text field.
import {html, useEffect, useRef, useState} from "../lib/html.js";
import {useStore} from "../lib/store.js";
import {darkness} from "../lib/theme.js";
import {t} from "../lib/i18n.js";
import {AreaField} from "../ui/form.js";

const loadEditor = () => import("./editor.js");

export function useEditor() {
  const [editor, setEditor] = useState(null);
  useEffect(() => {
    loadEditor().then(
      (module) => setEditor(module),
      () => setEditor(null),
    );
  }, []);
  return editor;
}

export function ScriptField({label, help, error, value, onInput, language}) {
  const editor = useEditor();
  const box = useRef(null);
  const view = useRef(null);
  const isDark = useStore(darkness);
  const latest = useRef(onInput);
  latest.current = onInput;
  useEffect(() => {
    if (!editor || !box.current) return undefined;
    view.current = editor.openEditor({
      parent: box.current,
      text: view.current?.text ?? value ?? "",
      language,
      isDark,
      label,
      onChange: (text) => latest.current(text),
    });
    return () => {
      const text = view.current.close();
      view.current = {text};
    };
  }, [editor, language, isDark]);
  if (!editor)
    return html`<${AreaField} label=${label} help=${help} error=${error} value=${value} onInput=${onInput} rows=${12} wide />`;
  return html`<div class=${"field wide" + (error ? " wrong" : "")}><div class="label">${label}</div>
    <div class="editor" ref=${box}></div>
    ${error && html`<p class="field-error">${error}</p>`}<p class="field-help">${help} ${t("script.escape_help")}</p></div>`;
}

/// Two versions side by side, or one below the other on a narrow screen.
export function ScriptDiff({before, after, language, label}) {
  const editor = useEditor();
  const box = useRef(null);
  const isDark = useStore(darkness);
  useEffect(() => {
    if (!editor || !box.current) return undefined;
    return editor.openDiff({
      parent: box.current,
      before,
      after,
      language,
      isDark,
      label,
      isNarrow: box.current.clientWidth < 700,
    });
  }, [editor, before, after, language, isDark]);
  return html`<div class="editor diff" ref=${box}>${!editor && html`<pre>${after}</pre>`}</div>`;
}

export function ScriptView({text, language, label}) {
  const editor = useEditor();
  const box = useRef(null);
  const isDark = useStore(darkness);
  useEffect(() => {
    if (!editor || !box.current) return undefined;
    const view = editor.openEditor({parent: box.current, text, language, isDark, label, isReadOnly: true});
    return () => view.close();
  }, [editor, text, language, isDark]);
  return html`<div class="editor" ref=${box}>${!editor && html`<pre>${text}</pre>`}</div>`;
}
