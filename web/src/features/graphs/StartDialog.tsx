/** Starts a session: what it is given, and on which models. */

import { useState } from "react";
import { useSpeech } from "../../app/i18n";
import { startSession } from "../../app/queries";
import { navigate } from "../../app/router";
import { Dialog } from "../../parts/Dialog";
import { useDraft } from "../../parts/drafts";
import { Failure } from "../../parts/Failure";

interface Props {
  graphId: string;
  onClose: () => void;
}

export function StartDialog({ graphId, onClose }: Props) {
  const { t } = useSpeech();
  const [task, setTask] = useDraft(`start.${graphId}`);
  const [simulated, setSimulated] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const start = async (): Promise<void> => {
    try {
      const { id } = await startSession({
        graph_id: graphId,
        inputs: task,
        ...(simulated ? { provider: "simulated" } : {}),
      });
      setTask("");
      navigate(`/sessions/${id}`);
    } catch (cause) {
      setError(cause);
    }
  };
  return (
    <Dialog title={t("start.title", { graph: graphId })} onClose={onClose}>
      <label>
        <h3>{t("start.task")}</h3>
        <textarea className="field" value={task} onChange={(event) => setTask(event.target.value)} autoFocus />
      </label>
      <label className="choice">
        <input type="checkbox" checked={simulated} onChange={(event) => setSimulated(event.target.checked)} />
        {t("start.simulated")}
      </label>
      <Failure error={error} />
      <div className="dialog-foot">
        <button type="button" className="button" onClick={onClose}>
          {t("action.cancel")}
        </button>
        <button type="button" className="button primary" onClick={() => void start()}>
          {t("action.run")}
        </button>
      </div>
    </Dialog>
  );
}
