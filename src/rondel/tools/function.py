"""Python functions as tools: the signature is the schema, the docstring the description."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable
from inspect import Parameter
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, ValidationError, create_model

from rondel.errors import CallError
from rondel.models.model import ToolSpec
from rondel.tools.context import NOWHERE, ToolContext
from rondel.tools.tool import Output, ToolFailed, output_of

SHOWN_ERRORS = 3
UNNAMED = (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL)
PLAIN = (str, int, float, bool, type(None))
"""Types of defaults that a schema can show."""


class FunctionTool:
    """A function as a tool; one that is not async runs in a thread, so that nobody waits for it."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self._function = function
        self._is_async = inspect.iscoroutinefunction(_routine(function))
        self._arguments, parameters, self._wanting = _arguments_of(name, function)
        description = "" if isinstance(function, functools.partial) else inspect.getdoc(function)
        self.spec = ToolSpec(name, description or "", parameters)

    async def prepare(self) -> None:
        """A function is always ready."""

    async def call(self, arguments: dict[str, Any], context: ToolContext = NOWHERE) -> Output:
        """The function's result: text as it is, files as files, anything else as JSON."""
        given = {**self._checked(arguments), **dict.fromkeys(self._wanting, context)}
        if self._is_async:
            result = self._function(**given)
        else:
            result = await asyncio.to_thread(self._in_thread, given)
        if inspect.isawaitable(result):
            result = await result
        return output_of(result)

    def _checked(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments, converted to the annotated types; defaults are left to the function."""
        try:
            valid = self._arguments.model_validate(arguments)
        except ValidationError as error:
            raise ToolFailed(f"wrong arguments: {_in_short(error)}") from None
        fields = type(valid).model_fields
        given = {
            str(field.alias): getattr(valid, name)
            for name, field in fields.items()
            if name in valid.model_fields_set
        }
        return {**given, **(valid.model_extra or {})}

    def _in_thread(self, given: dict[str, Any]) -> Any:
        try:
            return self._function(**given)
        except StopIteration as error:  # a future cannot hold StopIteration
            raise ToolFailed("StopIteration") from error


def _routine(function: Any) -> Any:
    """The innermost callable, which has the annotations."""
    while isinstance(function, functools.partial):
        function = function.func
    return function if inspect.isroutine(function) else function.__call__


def _arguments_of(
    name: str, function: Callable[..., Any]
) -> tuple[type[BaseModel], dict[str, Any], list[str]]:
    """The model of a function's arguments, its JSON Schema, and the arguments for the context."""
    try:
        hints = get_type_hints(_routine(function), include_extras=True)
        parameters = inspect.signature(function).parameters.values()
        unnamed = [each.name for each in parameters if each.kind in UNNAMED]
        if unnamed:
            raise _unfit(name, f"its argument {unnamed[0]!r} has no name to be called by")
        wanting = [each.name for each in parameters if _wants_context(hints.get(each.name))]
        model = _model_of([each for each in parameters if each.name not in wanting], hints)
        return model, {"properties": {}, **model.model_json_schema()}, wanting
    except (PydanticUserError, NameError, TypeError, ValueError) as error:
        raise _unfit(name, " ".join(str(error).split())) from error


def _wants_context(hint: Any) -> bool:
    """Whether an argument takes the context; models do not see it."""
    return hint is ToolContext or ToolContext in get_args(hint)


def _model_of(parameters: list[Parameter], hints: dict[str, Any]) -> type[BaseModel]:
    """A model whose fields have names of their own, since an argument may have any name."""
    fields: dict[str, Any] = {}
    for place, each in enumerate(parameters):
        if each.kind is not Parameter.VAR_KEYWORD:
            default = ... if each.default is Parameter.empty else _shown(each.default)
            hint = hints.get(each.name, Any)
            fields[f"argument_{place}"] = hint, Field(default, alias=each.name, title=each.name)
    takes_any = any(each.kind is Parameter.VAR_KEYWORD for each in parameters)
    config = ConfigDict(extra="allow" if takes_any else "forbid", arbitrary_types_allowed=False)
    return create_model("Arguments", __config__=config, **fields)


def _shown(default: Any) -> Any:
    return default if isinstance(default, PLAIN) else None


def _unfit(name: str, reason: str) -> CallError:
    return CallError(
        f"the function {name!r} cannot be a tool: {reason}; give every argument a name and a type "
        "that JSON has"
    )


def _in_short(error: ValidationError) -> str:
    errors = error.errors(include_url=False, include_input=False)[:SHOWN_ERRORS]
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in errors)
