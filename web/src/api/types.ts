/** The names that the pages have for the shapes of the server's answers. */

import type { components } from "./openapi";

type Shapes = components["schemas"];

export type UsageTotal = Shapes["UsageView"];
export type Meter = Shapes["Meter"];
export type LoopStanding = Shapes["LoopStanding"];
export type Bounds = Shapes["WorstCase"];
export type Finding = Shapes["ProblemLine"];
export type CheckedLoop = Shapes["LoopView"];
export type NodeView = Shapes["NodeView"];
export type StructureView = Shapes["Structure"];
export type CheckResult = Shapes["Findings"];
export type SessionRow = Shapes["SessionRowView"];
export type SessionStatus = Shapes["SessionRowView"]["status"];
export type OpenQuestion = Shapes["QuestionView"];
export type SessionDetail = Shapes["SessionDetail"];
export type StepRecord = Shapes["StepView"];
export type QuestionItem = Shapes["OpenQuestion"];
export type GraphRow = Shapes["GraphSummary"];
export type GraphDetail = Shapes["GraphDetail"];
export type Version = Shapes["VersionView"];
export type VersionList = Shapes["VersionList"];
export type Template = Shapes["TemplateView"];
export type Message = Shapes["MessageView"];
export type StepList = Shapes["StepList"];
export type SessionList = Shapes["SessionPage"];
export type QuestionList = Shapes["QuestionList"];
export type GraphList = Shapes["GraphList"];
export type TemplateList = Shapes["TemplateList"];
export type InsightList = Shapes["InsightList"];
export type Estimate = Shapes["EstimateReply"];
export type Translated = Shapes["TranslatedGraph"];
export type Visitor = Shapes["Me"];
export type StartRequest = Partial<Shapes["SessionRequest"]>;
export type Changed = Shapes["SessionState"];
export type LoopInsight = Shapes["LoopInsight"];
export type GraphInsight = Shapes["GraphInsight"];
export type Problem = Partial<Shapes["Problem"]> & { status: number };
