/** The keys, in one place. */

import { Dialog } from "../parts/Dialog";
import { useSpeech } from "./i18n";

const KEYS = [
  ["?", "help"],
  ["/", "search"],
  ["g s", "sessions"],
  ["g i", "inbox"],
  ["g g", "graphs"],
  ["j k", "list"],
  ["Enter", "open"],
  ["← ↑ → ↓", "sheet"],
  ["[ ]", "tab"],
  ["f", "fork"],
  ["Esc", "close"],
] as const;

export function Help({ onClose }: { onClose: () => void }) {
  const { t } = useSpeech();
  return (
    <Dialog title={t("help.title")} onClose={onClose}>
      <dl className="keys">
        {KEYS.map(([key, name]) => (
          <div key={key} style={{ display: "contents" }}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{t(`help.${name}`)}</dd>
          </div>
        ))}
      </dl>
      <div className="dialog-foot">
        <button type="button" className="button" onClick={onClose} autoFocus>
          {t("action.close")}
        </button>
      </div>
    </Dialog>
  );
}
