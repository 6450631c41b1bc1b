/** Made from /openapi.json by `make web-types`; a test compares it. Not to be edited. */

export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Amounts: {
            model_calls: number | null;
            tokens: number | null;
            usd: number | null;
        };
        AnswerRequest: {
            text: unknown;
            node?: string | null;
        };
        BreakerInsight: {
            trips: {
                [key: string]: number;
            };
            unlocked: number;
            warnings: number;
        };
        BreakerView: {
            on: boolean;
            lock: components["schemas"]["LockView"] | null;
        };
        ChatError: {
            error: components["schemas"]["ChatFault"];
        };
        ChatFault: {
            message: string;
            type: string;
            code?: string | null;
        };
        ChatMessage: {
            role: string;
            content?: unknown;
        } & {
            [key: string]: unknown;
        };
        ChatRequest: {
            model: string;
            messages: components["schemas"]["ChatMessage"][];
            /** @default false */
            stream: boolean;
            stream_options?: {
                [key: string]: unknown;
            } | null;
            metadata?: {
                [key: string]: string;
            } | null;
        } & {
            [key: string]: unknown;
        };
        CostInsight: {
            usd: number;
            usd_per_success: number | null;
            tokens: number;
            model_calls: number;
        };
        Delivery: {
            id: string;
            event: string;
            session_id: string;
            created_at: string;
            attempts: number;
            next_attempt: string | null;
            status: string;
            note: string;
        };
        DeliveryList: {
            deliveries: components["schemas"]["Delivery"][];
        };
        EdgeView: {
            from: string;
            to: string;
            label: string;
            condition: string;
            trigger: boolean;
        };
        EstimateReply: {
            graph: string;
            worst_case: components["schemas"]["Amounts"];
            expected: components["schemas"]["Amounts"];
            source: string;
            growing: string[];
        };
        Findings: {
            valid: boolean;
            errors: components["schemas"]["ProblemLine"][];
            warnings: components["schemas"]["ProblemLine"][];
            loops: components["schemas"]["LoopView"][];
            worst_case: components["schemas"]["WorstCase"] | null;
            unbounded: string[];
            structure?: components["schemas"]["Structure"] | null;
        };
        ForeignGraph: {
            text: string;
            /** @default graph.yaml */
            name: string;
        };
        ForkRequest: {
            at?: string | null;
            /** @default {} */
            set: {
                [key: string]: unknown;
            };
            /** @default true */
            run: boolean;
        };
        Forked: {
            id: string;
            /** @enum {string} */
            status: "pending" | "running" | "paused" | "waiting" | "suspended_locked" | "completed" | "bounded" | "failed" | "cancelled";
            parent: string | null;
        };
        GraphDetail: {
            id: string;
            name: string;
            description: string;
            etag: string;
            text: string;
            check: components["schemas"]["Findings"];
        };
        GraphInsight: {
            graph_id: string;
            sessions: number;
            statuses: {
                [key: string]: number;
            };
            cost: components["schemas"]["CostInsight"];
            seconds: number;
            loops: components["schemas"]["LoopInsight"][];
            waits: components["schemas"]["WaitInsight"][];
            breaker: components["schemas"]["BreakerInsight"];
        };
        GraphList: {
            graphs: components["schemas"]["GraphSummary"][];
        };
        GraphSource: {
            graph?: {
                [key: string]: unknown;
            } | string | null;
            graph_id?: string | null;
            /** @default false */
            strict: boolean;
        };
        GraphSummary: {
            id: string;
            name: string;
            description: string;
            etag: string;
        };
        GraphText: {
            text?: string | null;
            graph?: {
                [key: string]: unknown;
            } | string | null;
            /** @default  */
            name: string;
        };
        InsightList: {
            graphs: components["schemas"]["GraphInsight"][];
        };
        LockView: {
            reason: string;
            message: string;
            figures: {
                [key: string]: unknown;
            };
            at: string;
        };
        LoginRequest: {
            token: string;
        };
        LoopInsight: {
            loop: string;
            entries: number;
            rounds: {
                [key: string]: unknown;
            };
            exit_reasons: {
                [key: string]: number;
            };
            bounded: number;
            scores: components["schemas"]["ScoreOfRound"][];
        };
        LoopStanding: {
            loop: string;
            address: string;
            under_way: boolean;
            round: number;
            max_rounds: number | null;
            score: number | null;
            target: number | null;
            best_round: number | null;
            best_score: number | null;
            budget: {
                [key: string]: components["schemas"]["Meter"];
            } | null;
            end: {
                [key: string]: unknown;
            } | null;
        };
        LoopView: {
            head: string;
            nodes: string[];
            parent: string | null;
            max_rounds: number;
            source: string;
            worst_case: components["schemas"]["WorstCase"];
            each_continue?: components["schemas"]["WorstCase"] | null;
            /** @default {} */
            contract: {
                [key: string]: unknown;
            };
            target?: number | null;
        };
        Me: {
            name: string;
            role: string | null;
            groups: string[] | null;
            needs_token: boolean;
        };
        MessageView: {
            source: string;
            role: string;
            content: unknown;
            data: {
                [key: string]: unknown;
            };
        };
        Meter: {
            spent: number;
            limit: number | null;
        };
        NewWebhook: {
            id: string;
            url: string;
            events: string[];
            created_at: string;
            secret: string;
        };
        NodeView: {
            id: string;
            name: string;
            type: string;
            description: string;
            loop: string | null;
            inside: string | null;
        };
        OpenQuestion: {
            node_id: string;
            address: string;
            description: string;
            actions: string[];
            deadline: string | null;
            messages: components["schemas"]["MessageView"][];
            session_id: string;
            graph_id: string;
            asked_at: string;
        };
        Problem: {
            type: string;
            title: string;
            status: number;
            detail: string;
            /** @default null */
            errors: components["schemas"]["ProblemLine"][] | null;
        };
        ProblemLine: {
            message: string;
            /** @default  */
            path: string;
            /** @default  */
            hint: string;
            /** @default  */
            file: string;
            /** @default null */
            line: number | null;
        } & {
            [key: string]: unknown;
        };
        PromoteRequest: {
            address: string;
            confidence?: number | null;
        };
        Promoted: {
            entries: {
                [key: string]: unknown;
            }[];
        };
        QuestionList: {
            questions: components["schemas"]["OpenQuestion"][];
            next: string | null;
        };
        QuestionView: {
            node_id: string;
            address: string;
            description: string;
            actions: string[];
            deadline: string | null;
            messages: components["schemas"]["MessageView"][];
        };
        ResumeRequest: {
            /** @default false */
            free: boolean;
        };
        RoundList: {
            rounds: components["schemas"]["RoundView"][];
        };
        RoundView: {
            loop: string;
            address: string;
            round: number;
            score: number | null;
            delta: number | null;
            tokens: number;
            sent_tokens: number;
            cached_tokens: number;
            new_tokens: number;
            usd: number;
            duration: number;
            exit_reason: string | null;
            best: boolean;
        };
        ScoreOfRound: {
            round: number;
            count: number;
            mean: number;
            min: number;
            max: number;
        };
        SecretNames: {
            secrets: string[];
            items: components["schemas"]["SecretOf"][];
        };
        SecretOf: {
            name: string;
            group: string | null;
        };
        SecretValue: {
            value: string;
        };
        SessionDetail: {
            id: string;
            /** @enum {string} */
            status: "pending" | "running" | "paused" | "waiting" | "suspended_locked" | "completed" | "bounded" | "failed" | "cancelled";
            graph_id: string;
            reason: string;
            driven_by: string | null;
            created_at: string;
            updated_at: string;
            inputs: {
                [key: string]: unknown;
            };
            labels: {
                [key: string]: unknown;
            };
            parent: string | null;
            message: string;
            output: string | null;
            data: {
                [key: string]: unknown;
            };
            usage: components["schemas"]["UsageView"];
            steps: number;
            loops: components["schemas"]["LoopStanding"][];
            limits: {
                [key: string]: components["schemas"]["Meter"];
            };
            breaker: components["schemas"]["BreakerView"];
            questions: components["schemas"]["QuestionView"][];
            graph: components["schemas"]["SessionGraph"];
        };
        SessionGraph: {
            nodes: components["schemas"]["NodeView"][];
            edges: components["schemas"]["EdgeView"][];
            loops: components["schemas"]["LoopView"][];
            start: string[];
            end: string[];
            id: string;
            text: string;
            document: {
                [key: string]: unknown;
            };
        };
        SessionPage: {
            sessions: components["schemas"]["SessionRowView"][];
            next: string | null;
        };
        SessionRequest: {
            graph?: {
                [key: string]: unknown;
            } | string | null;
            graph_id?: string | null;
            inputs?: {
                [key: string]: unknown;
            } | string | null;
            idempotency_key?: string | null;
            /** @default [] */
            debug: string[];
            /** @default {} */
            labels: {
                [key: string]: string;
            };
            group?: string | null;
            provider?: string | null;
        };
        SessionRowView: {
            id: string;
            /** @enum {string} */
            status: "pending" | "running" | "paused" | "waiting" | "suspended_locked" | "completed" | "bounded" | "failed" | "cancelled";
            graph_id: string;
            reason: string;
            driven_by: string | null;
            created_at: string;
            updated_at: string;
            inputs: {
                [key: string]: unknown;
            };
            labels: {
                [key: string]: unknown;
            };
            parent: string | null;
        };
        SessionState: {
            id: string;
            /** @enum {string} */
            status: "pending" | "running" | "paused" | "waiting" | "suspended_locked" | "completed" | "bounded" | "failed" | "cancelled";
        };
        SignalRequest: {
            name: string;
            data?: unknown;
        };
        SimulationRequest: {
            graph?: {
                [key: string]: unknown;
            } | string | null;
            graph_id?: string | null;
            /** @default false */
            strict: boolean;
            /** @default 200 */
            n: number;
            /** @default 0 */
            seed: string;
            inputs?: {
                [key: string]: unknown;
            } | string | null;
        };
        StateAt: {
            at: string | null;
            /** @enum {string} */
            status: "pending" | "running" | "paused" | "waiting" | "suspended_locked" | "completed" | "bounded" | "failed" | "cancelled";
            reason: string;
            message: string;
            output: string | null;
            data: {
                [key: string]: unknown;
            };
            usage: components["schemas"]["UsageView"];
            loops: components["schemas"]["LoopStanding"][];
            questions: components["schemas"]["QuestionView"][];
        };
        StepList: {
            steps: components["schemas"]["StepView"][];
            total: number;
        };
        StepView: {
            address: string;
            node_id: string;
            status: string;
            inputs: components["schemas"]["MessageView"][];
            recalled: components["schemas"]["MessageView"][];
            outputs: components["schemas"]["MessageView"][];
            duration: number;
            usage: components["schemas"]["UsageView"];
            error: string | null;
        };
        Structure: {
            nodes: components["schemas"]["NodeView"][];
            edges: components["schemas"]["EdgeView"][];
            loops: components["schemas"]["LoopView"][];
            start: string[];
            end: string[];
        };
        TemplateList: {
            templates: components["schemas"]["TemplateView"][];
        };
        TemplateView: {
            name: string;
            summary: string;
            text: string;
        };
        TranslatedGraph: {
            source: string;
            text: string;
            changes: string[];
            left_out: string[];
        };
        UnlockRequest: {
            /** @default  */
            risk_justification: string;
            /** @default [] */
            safety_checks: boolean[];
        };
        UsageView: {
            input_tokens: number;
            output_tokens: number;
            usd: number;
            model_calls: number;
            cached_tokens: number;
            reasoning_tokens: number;
        };
        VersionList: {
            versions: components["schemas"]["VersionView"][];
            complete: boolean;
        };
        VersionView: {
            version: string;
            text: string;
            current: boolean;
            sessions: number;
            statuses: {
                [key: string]: number;
            };
            first_used: string | null;
            last_used: string | null;
        };
        WaitInsight: {
            node_id: string;
            sessions: number;
            mean: number;
            max: number;
        };
        WebhookList: {
            webhooks: components["schemas"]["WebhookView"][];
        };
        WebhookRequest: {
            url: string;
            /** @default [] */
            events: string[];
        };
        WebhookView: {
            id: string;
            url: string;
            events: string[];
            created_at: string;
        };
        WorstCase: {
            rounds?: number | null;
            steps: number;
            model_calls: number | null;
            tokens: number | null;
            usd: number | null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
