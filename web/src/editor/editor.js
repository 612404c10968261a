/**
 * The editor of the Python panel: CodeMirror, in a shadow root of its own.
 *
 * The page's policy allows no style elements. In a shadow root CodeMirror uses constructed style sheets instead, which need
 * no permission. Colours are the page's custom properties, so light and dark follow it. The build writes the names of npm
 * packages as paths (site_panels.py).
 */

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** @typedef {{element: HTMLElement, text: () => string, show: (text: string) => void, mark: (line: number) => void, focus: () => void}} Editor */

/** The line that an error came from; 0 for none. @type {import("@codemirror/state").StateEffectType<number>} */
const markLine = StateEffect.define();

const marked = StateField.define({
  create: () => Decoration.none,
  update(lines, { effects, changes, newDoc }) {
    let now = lines.map(changes);
    for (const effect of effects) {
      if (!effect.is(markLine)) continue;
      const known = effect.value >= 1 && effect.value <= newDoc.lines;
      now = known ? Decoration.set(Decoration.line({ class: "cm-wrong" }).range(newDoc.line(effect.value).from)) : Decoration.none;
    }
    return now;
  },
  provide: (field) => EditorView.decorations.from(field),
});

const theme = EditorView.theme({
  "&": { backgroundColor: "var(--surface)", color: "var(--ink)", fontSize: "0.875rem", maxHeight: "min(34rem, 70vh)" },
  "&.cm-focused": { outline: "3px solid var(--accent)", outlineOffset: "2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", minHeight: "12rem" },
  ".cm-content": { caretColor: "var(--ink)", padding: "0.75rem 0" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--muted)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--accent) 8%, transparent)" },
  ".cm-wrong, .cm-wrong.cm-activeLine": { backgroundColor: "var(--stop-soft)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "& > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground":
    { backgroundColor: "color-mix(in srgb, var(--accent) 28%, transparent)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-soft)" },
});

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: [tags.comment, tags.meta], color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.definition(tags.variableName), tags.function(tags.definition(tags.variableName)), tags.className], color: "var(--code-name)" },
]);

/**
 * @param {{text: string, label: string, changed: (text: string) => void, run: () => void}} options label: for those who do
 *   not see it; run: Ctrl or Cmd with Enter
 * @returns {Editor}
 */
export function createEditor({ text, label, changed, run }) {
  const element = document.createElement("div");
  const root = element.attachShadow({ mode: "open" });
  const extensions = [
    lineNumbers(),
    history(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    highlightActiveLine(),
    indentUnit.of("    "),
    python(),
    syntaxHighlighting(colours),
    theme,
    marked,
    // Tab indents; after Escape it leaves the editor, which is CodeMirror's own rule.
    keymap.of([{ key: "Mod-Enter", run: () => (run(), true) }, ...defaultKeymap, ...historyKeymap, indentWithTab]),
    EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", autocapitalize: "off" }),
    EditorView.updateListener.of((update) => update.docChanged && changed(update.state.doc.toString())),
  ];
  const state = (/** @type {string} */ doc) => EditorState.create({ doc, extensions });
  const view = new EditorView({ state: state(text), parent: root, root });
  return {
    element,
    text: () => view.state.doc.toString(),
    show: (next) => view.setState(state(next)),
    mark(line) {
      view.dispatch({ effects: markLine.of(line) });
      if (line >= 1 && line <= view.state.doc.lines) {
        view.dispatch({ effects: EditorView.scrollIntoView(view.state.doc.line(line).from, { y: "center" }) });
      }
    },
    focus: () => view.focus(),
  };
}
