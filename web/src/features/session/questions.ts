/** The open questions of a session, as the inbox has them. */

import type { QuestionItem } from "../../api/types";
import type { SessionFold } from "../../model/fold";

export function questionsOf(fold: SessionFold, session: string, graph: string): QuestionItem[] {
  return [...fold.questions.values()].map((question) => ({
    session_id: session,
    graph_id: graph,
    asked_at: question.since,
    node_id: question.node,
    address: question.address,
    description: question.description,
    actions: question.actions,
    deadline: question.deadline,
    messages: question.messages,
  }));
}
