"""Every dispatcher passes the conformance suite."""

from __future__ import annotations

import pytest

from rondel.dispatch.dispatcher import Dispatcher
from rondel.dispatch.dispatchers import dispatcher
from rondel.dispatch.procrastinate import ProcrastinateDispatcher
from rondel.errors import CallError
from rondel.testing.dispatcher_suite import DispatcherSuite


class TestProcrastinate(DispatcherSuite):
    @pytest.fixture(autouse=True)
    def _place(self, queue_database: str) -> None:
        self.address = queue_database

    def dispatcher(self) -> Dispatcher:
        return ProcrastinateDispatcher(self.address, lease=3.0)


def test_an_unknown_dispatcher_is_refused() -> None:
    with pytest.raises(CallError, match="there is procrastinate"):
        dispatcher("celery", "postgresql://x")
