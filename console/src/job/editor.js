// CodeMirror as the console uses it. Loaded only where a script is shown.
// It lives below a shadow root: there its styles are sheets made by script, which the content security
// policy allows; in the document they would be <style> elements, which it does not.
import {
  EditorState,
  EditorView,
  HighlightStyle,
  MergeView,
  StreamLanguage,
  bracketMatching,
  defaultKeymap,
  drawSelection,
  highlightActiveLine,
  highlightSelectionMatches,
  history,
  historyKeymap,
  indentOnInput,
  indentWithTab,
  keymap,
  lineNumbers,
  modes,
  search,
  searchKeymap,
  syntaxHighlighting,
  tags,
  unifiedMergeView,
} from "../../vendor/editor.js";

const colors = HighlightStyle.define([
  {tag: [tags.keyword, tags.controlKeyword, tags.definitionKeyword], color: "var(--hold)"},
  {tag: [tags.string, tags.special(tags.string), tags.regexp], color: "var(--good)"},
  {tag: [tags.comment, tags.meta], color: "var(--ink-2)", fontStyle: "italic"},
  {tag: [tags.number, tags.bool, tags.atom], color: "var(--warn)"},
  {
    tag: [tags.definition(tags.variableName), tags.function(tags.variableName), tags.standard(tags.variableName)],
    color: "var(--accent)",
  },
  {tag: [tags.special(tags.variableName), tags.propertyName], color: "var(--run)"},
]);

const look = (isDark) =>
  EditorView.theme(
    {
      "&": {
        backgroundColor: "var(--panel)",
        color: "var(--ink)",
        fontSize: "12.5px",
        minHeight: "120px",
        maxHeight: "60vh",
      },
      ".cm-content": {fontFamily: "var(--mono)", caretColor: "var(--ink)"},
      ".cm-gutters": {
        backgroundColor: "var(--sunken)",
        color: "var(--ink-2)",
        border: "none",
        fontFamily: "var(--mono)",
      },
      "&.cm-focused": {outline: "2px solid var(--accent)"},
      ".cm-activeLine, .cm-activeLineGutter": {backgroundColor: "color-mix(in srgb, var(--accent) 8%, transparent)"},
      ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": {
        backgroundColor: "var(--accent-soft) !important",
      },
      ".cm-panels": {backgroundColor: "var(--sunken)", color: "var(--ink)"},
    },
    {dark: isDark},
  );

function shared(language, isDark, label) {
  const mode = modes[language];
  return [
    lineNumbers(),
    look(isDark),
    syntaxHighlighting(colors),
    mode ? StreamLanguage.define(mode) : [],
    bracketMatching(),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({"aria-label": label}),
    search({top: true}),
    highlightSelectionMatches(),
    keymap.of(searchKeymap),
  ];
}

function rootOf(parent) {
  const root = parent.shadowRoot ?? parent.attachShadow({mode: "open"});
  root.replaceChildren();
  return root;
}

const readOnly = [EditorState.readOnly.of(true), EditorView.contentAttributes.of({tabindex: "0"})];

/// Opens an editor; close() answers its text. Escape, then Tab leaves it: Tab alone indents.
export function openEditor({parent, text, language, isDark, label, isReadOnly = false, onChange}) {
  const root = rootOf(parent);
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        shared(language, isDark, label),
        isReadOnly
          ? readOnly
          : [
              history(),
              drawSelection(),
              indentOnInput(),
              highlightActiveLine(),
              keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
              EditorView.updateListener.of((update) => update.docChanged && onChange(update.state.doc.toString())),
            ],
      ],
    }),
  });
  return {
    close() {
      const last = view.state.doc.toString();
      view.destroy();
      return last;
    },
  };
}

/// Shows what changed between two texts; answers how to close it.
export function openDiff({parent, before, after, language, isDark, label, isNarrow}) {
  const root = rootOf(parent);
  const extensions = [shared(language, isDark, label), readOnly];
  if (isNarrow) {
    const view = new EditorView({
      parent: root,
      root,
      doc: after,
      extensions: [
        extensions,
        unifiedMergeView({
          original: before,
          mergeControls: false,
          gutter: true,
          collapseUnchanged: {margin: 3, minSize: 6},
        }),
      ],
    });
    return () => view.destroy();
  }
  const view = new MergeView({
    parent: root,
    root,
    a: {doc: before, extensions},
    b: {doc: after, extensions},
    gutter: true,
    highlightChanges: true,
    collapseUnchanged: {margin: 3, minSize: 6},
  });
  return () => view.destroy();
}
