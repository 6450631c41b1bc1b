"""The WebSocket of a session: its events as they come, and controls the other way."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from fastapi import APIRouter
from starlette.responses import Response
from starlette.websockets import WebSocket, WebSocketDisconnect

from rondel.errors import RondelError
from rondel.server.access import Caller, caller_of
from rondel.server.replies import Refusal, explain, problem
from rondel.server.site import Site, site_of
from rondel.sessions.controls import Answer, AnyControl, Pause, Resume, Signal, Stop, Unlock
from rondel.sessions.session import Session

router = APIRouter()
GOING_AWAY, REFUSED, TOO_SLOW = 1001, 1008, 1013
CONTROLS: dict[str, type[AnyControl]] = {
    "pause": Pause,
    "resume": Resume,
    "stop": Stop,
    "answer": Answer,
    "unlock": Unlock,
    "signal": Signal,
}


class Order(msgspec.Struct, forbid_unknown_fields=True):
    """What a client sends: a control, and a word of its own to know the answer by."""

    do: str
    ref: str | int | None = None
    text: Any = msgspec.UNSET
    node: str | None = None
    risk_justification: str = ""
    safety_checks: list[bool] = []
    name: str = ""
    data: Any = None
    free: bool = False


@router.websocket("/sessions/{id}/ws")
async def session_socket(socket: WebSocket, id: str, after: int = 0) -> None:
    """Events of a session after a number; `{"do": "pause"}` and the like control it."""
    site = site_of(socket)
    try:
        caller = caller_of(socket)
        session = site.session(id, caller)
        site.hub.demand_room()
    except (RondelError, Refusal) as error:
        await socket.close(REFUSED, str(error)[:120])
        return
    await socket.accept()
    telling = asyncio.create_task(_tell(site, caller, socket, session, after))
    try:
        while True:
            message = await _next(socket)
            if not await site.tokens.hold(caller):
                await socket.close(REFUSED, "the token was revoked")
                return
            await socket.send_text(await _obey(site, socket, caller, session, message))
    except (WebSocketDisconnect, RuntimeError):  # gone, or closed by the other task
        pass
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)


async def _tell(
    site: Site, caller: Caller, socket: WebSocket, session: Session, after: int
) -> None:
    timeout = site.options.send_timeout
    try:
        async with site.hub.channel(session) as channel:
            async for batch in channel.read(max(after, 0)):
                if not await site.tokens.hold(caller):
                    await socket.close(REFUSED, "the token was revoked")
                    return
                for event in batch.jsons():
                    async with asyncio.timeout(timeout):
                        await socket.send_text(event)
                if site.hub.closing:
                    await socket.close(GOING_AWAY, "the server is going away; come back")
                    return
        await socket.close(1000, "the session is over")
    except TimeoutError:
        await socket.close(TOO_SLOW, "the client takes nothing")
    except (WebSocketDisconnect, RuntimeError):
        return


async def _next(socket: WebSocket) -> str | bytes:
    """What the client sends next, as text or as bytes."""
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1000))
    text: str | bytes | None = message.get("text")
    return message["bytes"] if text is None else text


async def _obey(
    site: Site, socket: WebSocket, caller: Caller, session: Session, message: str | bytes
) -> str:
    ref: str | int | None = None
    try:
        order = msgspec.json.decode(message, type=Order)
        ref = order.ref
        site.demand_rate(caller, socket.scope.get("client"))
        if not caller.may("operator"):
            raise Refusal(403, "forbidden", "this needs the role operator")
        site.demand_open()
        await session.control(_control(order, caller.name))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return _refused(ref, problem(422, "unknown_control", f"that is no control: {error}"))
    except Refusal as error:
        return _refused(ref, problem(error.status, error.kind, error.detail))
    except RondelError as error:
        return _refused(ref, explain(error))
    return _reply(ref, None, session.status)


def _control(order: Order, by: str) -> AnyControl:
    match order.do:
        case "answer" if order.text is msgspec.UNSET:
            raise Refusal(422, "invalid_request", "an answer needs a `text`")
        case "answer":
            return Answer(by, order.text, order.node)
        case "unlock":
            return Unlock(by, order.risk_justification, order.safety_checks)
        case "signal" if not order.name:
            raise Refusal(422, "invalid_request", "a signal needs a `name`")
        case "signal":
            return Signal(by, order.name, order.data)
        case "resume":
            return Resume(by, order.free)
        case "pause" | "stop":
            return CONTROLS[order.do](by)
        case _:
            known = ", ".join(CONTROLS)
            raise Refusal(422, "unknown_control", f"there is no control {order.do!r}: {known}")


def _refused(ref: str | int | None, told: Response) -> str:
    return _reply(ref, msgspec.json.decode(told.body))


def _reply(ref: str | int | None, problem: Any, status: str | None = None) -> str:
    fields = {"reply": ref, "ok": problem is None, "status": status, "problem": problem}
    return msgspec.json.encode(fields).decode()
