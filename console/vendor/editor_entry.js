// What the console uses of CodeMirror 6; ./update bundles it into editor.js.
export {EditorState, Compartment} from "@codemirror/state";
export {EditorView, keymap, lineNumbers, highlightActiveLine, drawSelection} from "@codemirror/view";
export {defaultKeymap, history, historyKeymap, indentWithTab} from "@codemirror/commands";
export {searchKeymap, highlightSelectionMatches, search} from "@codemirror/search";
export {StreamLanguage, HighlightStyle, syntaxHighlighting, bracketMatching, indentOnInput} from "@codemirror/language";
export {MergeView, unifiedMergeView} from "@codemirror/merge";
export {tags} from "@lezer/highlight";
import {clike} from "@codemirror/legacy-modes/mode/clike";
import {groovy} from "@codemirror/legacy-modes/mode/groovy";
import {javascript, json} from "@codemirror/legacy-modes/mode/javascript";
import {lua} from "@codemirror/legacy-modes/mode/lua";
import {perl} from "@codemirror/legacy-modes/mode/perl";
import {powerShell} from "@codemirror/legacy-modes/mode/powershell";
import {python} from "@codemirror/legacy-modes/mode/python";
import {ruby} from "@codemirror/legacy-modes/mode/ruby";
import {shell} from "@codemirror/legacy-modes/mode/shell";

const words = (text) => Object.fromEntries(text.split(" ").map((word) => [word, true]));

// The legacy modes have no PHP; what reads like C is close enough for short scripts.
const php = clike({
  name: "php",
  keywords: words("abstract as break case catch class clone const continue declare default do echo else elseif " +
    "extends final finally fn for foreach function global if implements include interface match namespace new " +
    "print private protected public require return static switch throw trait try use var while yield"),
  blockKeywords: words("catch do else elseif finally for foreach if switch try while"),
  atoms: words("true false null TRUE FALSE NULL"),
  multiLineStrings: true,
  hooks: {
    $: (stream) => { stream.eatWhile(/[\w$]/); return "variable-2"; },
    "#": (stream) => { stream.skipToEnd(); return "comment"; },
  },
});

/// By the words that a script's `language` may have.
export const modes = {
  sh: shell, bash: shell, python, python2: python, node: javascript, php, perl, ruby, lua,
  powershell: powerShell, groovy, json,
};
