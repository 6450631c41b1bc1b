/** What became of a file that was dropped: whose it was, and what has no counterpart here. */

import { useSpeech } from "../../app/i18n";
import type { Dropped } from "./importing";

export interface Notice extends Dropped {
  name: string;
}

const TITLES: Record<string, string> = { chatdev: "ChatDev", council: "Council" };

export function ImportNote({ notice, onClose }: { notice: Notice; onClose: () => void }) {
  const { t } = useSpeech();
  const { name, source, leftOut } = notice;
  return (
    <div className="note import-note" role="status">
      <div>
        <p>{source ? t("editor.translated", { name, source: TITLES[source] ?? source }) : t("editor.imported", { name })}</p>
        {leftOut.length > 0 && (
          <>
            <p className="small">{t("editor.left_out")}</p>
            <ul className="small">
              {leftOut.map((line) => (
                <li key={line}>{line}</li>
              ))}
            </ul>
          </>
        )}
      </div>
      <button type="button" className="button small" onClick={onClose}>
        {t("action.close")}
      </button>
    </div>
  );
}
