"""`rondel rounds`: every round of every loop of a session."""

from __future__ import annotations

import asyncio

from rondel.cli.database import find, open_existing
from rondel.cli.language import words
from rondel.cli.options import AsDocument, Db, Id, Last
from rondel.cli.session_json import print_list
from rondel.cli.tables import Rows, length, print_table
from rondel.cli.views import money, number
from rondel.sessions.records import RoundRecord

HEADERS = (
    "LOOP",
    "ROUND",
    "SCORE",
    "DELTA",
    "TOKENS",
    "SENT",
    "CACHED",
    "COST",
    "DURATION",
    "BEST",
    "EXIT REASON",
)
FIGURES = HEADERS[1:-2]


def rounds(
    session: Id,
    last: Last = None,
    as_json: AsDocument = False,
    db: Db = None,
) -> int:
    """List every round of every loop: score, tokens, cost, duration, why the loop ended, the best.

    --json prints a list.
    """
    return asyncio.run(_rounds(db, session, last, as_json))


async def _rounds(db: str | None, id: str, last: int | None, as_json: bool) -> int:
    async with open_existing(db) as engine:
        records = find(engine, id).rounds(last)
    if as_json:
        print_list(records)
        print()
    elif not records:
        print(words("no rounds"))
    else:
        print_table(HEADERS, Rows(records, _cells), right=FIGURES)
    return 0


def _cells(record: RoundRecord) -> tuple[str, ...]:
    return (
        record.address.rpartition("[")[0],
        str(record.round),
        "" if record.score is None else number(record.score),
        "" if record.delta is None else f"{round(record.delta, 2):+g}",
        f"{record.tokens:,}",
        f"{record.sent_tokens:,}",
        f"{record.cached_tokens:,}",
        money(record.usd),
        length(record.duration),
        words("best") if record.best else "",
        record.exit_reason or "",
    )
