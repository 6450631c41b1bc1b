"""The route of insights: what the stored sessions of each graph show."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.responses import Response

from rondel.server.access import Viewer
from rondel.server.openapi import errors
from rondel.server.replies import reply
from rondel.server.schemas import Json
from rondel.server.site import SiteDep
from rondel.sessions.insights import summary_of

router = APIRouter(tags=["insights"])


class ScoreOfRound(BaseModel):
    """Scores in one round, over all entries of a loop."""

    round: int
    count: int
    mean: float
    min: float
    max: float


class LoopInsight(BaseModel):
    """A loop over all its entries."""

    loop: str
    entries: int
    rounds: Json
    exit_reasons: dict[str, int]
    bounded: int
    scores: list[ScoreOfRound]


class CostInsight(BaseModel):
    """What all sessions took together."""

    usd: float
    usd_per_success: float | None
    tokens: int
    model_calls: int


class WaitInsight(BaseModel):
    """How long people took to answer a node."""

    node_id: str
    sessions: int
    mean: float
    max: float


class BreakerInsight(BaseModel):
    """What the circuit breaker did."""

    trips: dict[str, int]
    unlocked: int
    warnings: int


class GraphInsight(BaseModel):
    """What the sessions of one graph show together."""

    graph_id: str
    sessions: int
    statuses: dict[str, int]
    cost: CostInsight
    seconds: float
    loops: list[LoopInsight]
    waits: list[WaitInsight]
    breaker: BreakerInsight


class InsightList(BaseModel):
    """By graph."""

    graphs: list[GraphInsight]


@router.get("/insights", operation_id="getInsights", response_model=InsightList, responses=errors())
async def get_insights(
    site: SiteDep,
    caller: Viewer,
    graph_id: Annotated[str | None, Query(description="Only of this graph.")] = None,
) -> Response:
    """Rounds, exit reasons, scores by round, cost per success, waits, and what the breaker did."""
    found = await site.facts.by_graph(caller, graph_id)
    return reply({"graphs": [summary_of(name, facts) for name, facts in sorted(found.items())]})
