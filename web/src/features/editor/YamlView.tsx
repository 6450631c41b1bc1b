/** The same document as text; errors stand at their lines. */

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { defaultHighlightStyle, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import { useSpeech } from "../../app/i18n";
import type { CheckResult } from "../../api/types";

interface Props {
  text: string;
  check: CheckResult | null;
  line: number | null;
  onWrite: (text: string) => void;
  readOnly: boolean;
}

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--accent)" },
  { tag: [tags.string, tags.content], color: "var(--ink)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--run)" },
  { tag: tags.comment, color: "var(--ink-3)", fontStyle: "italic" },
  { tag: tags.punctuation, color: "var(--ink-3)" },
]);

export default function YamlView({ text, check, line, onWrite, readOnly }: Props) {
  const { t } = useSpeech();
  const frame = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const write = useRef(onWrite);
  write.current = onWrite;
  useEffect(() => {
    const editor = new EditorView({
      parent: frame.current!,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(),
          history(),
          drawSelection(),
          highlightActiveLine(),
          lintGutter(),
          yaml(),
          syntaxHighlighting(colours),
          syntaxHighlighting(defaultHighlightStyle, { fallback: true }),
          keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
          EditorState.readOnly.of(readOnly),
          EditorView.contentAttributes.of({ "aria-label": t("editor.yaml"), tabindex: "0" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) write.current(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
    // The view lives as long as the tab; texts are put into it below.
  }, [readOnly]);
  useEffect(() => {
    const editor = view.current;
    if (!editor || editor.state.doc.toString() === text) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
  }, [text]);
  useEffect(() => {
    const editor = view.current;
    if (!editor || !check) return;
    const mark = (severity: Diagnostic["severity"]) => (finding: { line?: number | null; message: string }) => {
      const at = editor.state.doc.line(Math.min(Math.max(1, finding.line ?? 1), editor.state.doc.lines));
      return { from: at.from, to: at.to, severity, message: finding.message };
    };
    const found = [...check.errors.map(mark("error")), ...check.warnings.map(mark("warning"))];
    editor.dispatch(setDiagnostics(editor.state, found.sort((a, b) => a.from - b.from)));
  }, [check, text]);
  useEffect(() => {
    const editor = view.current;
    if (!editor || line === null) return;
    const at = editor.state.doc.line(Math.min(Math.max(1, line), editor.state.doc.lines));
    editor.dispatch({ selection: { anchor: at.from }, effects: EditorView.scrollIntoView(at.from, { y: "center" }) });
    editor.focus();
  }, [line]);
  return <div className="yaml-view" ref={frame} />;
}
