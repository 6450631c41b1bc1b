"""Turns the errors of a config model into plain sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from rondel.graph.names import Names
from rondel.graph.positions import read_scalar
from rondel.graph.source import Complaint, Path, has, path_text, value_at
from rondel.graph.variables import EnvironmentText

Model = TypeVar("Model", bound=BaseModel)

MISSING = "missing"
UNKNOWN = "extra_forbidden"
SHOWN = 40
KINDS = {
    "string_type": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "dict_type": "a mapping of keys to values",
    "mapping_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "model_attributes_type": "a mapping of keys to values",
    "none_required": "null",
}
BOUNDS: dict[str, str] = {
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
    "multiple_of": "a multiple of {multiple_of}",
    "literal_error": "{expected}",
    "enum": "{expected}",
    "string_pattern_mismatch": "text that matches {pattern}",
}
FORMS = {
    "list_type": "write it as [first, second], or as lines that begin with '- '",
    "tuple_type": "write it as [first, second], or as lines that begin with '- '",
    "too_short": "add one",
    **dict.fromkeys(("dict_type", "model_type"), "write it as {key: value}, or as indented lines"),
}
YES = ("yes", "on", "y", "true", 1)
NO = ("no", "off", "n", "false", 0)


def validate(
    model: type[Model],
    value: Any,
    shown: Callable[[], Any],
    context: Mapping[str, Any] | None = None,
) -> tuple[Model | None, list[Complaint]]:
    """The value as a model, or everything that is wrong with it.

    `shown` gives the value as the file has it, variables unreplaced: messages quote that.
    """
    try:
        return model.model_validate(value, context=context), []
    except ValidationError as error:
        first = error
    typed = _with_types(value, first)
    if typed is value:
        return None, list(_complaints(first, model, value, shown()))
    try:
        return model.model_validate(typed, context=context), []
    except ValidationError as error:
        return None, list(_complaints(error, model, typed, shown()))


def _with_types(value: Any, error: ValidationError) -> Any:
    """The value with texts of the environment read as YAML where a text does not fit the model."""
    copies: dict[Path, Any] = {}
    for detail in error.errors(include_url=False):
        path = _path(detail, value)
        text = value_at(value, path)
        if path and isinstance(text, EnvironmentText):
            _own_copy(value, copies, path[:-1])[path[-1]] = read_scalar(text)
    return copies.get((), value)


def _own_copy(value: Any, copies: dict[Path, Any], path: Path) -> Any:
    """The container at a path, copied on the first call together with those around it."""
    if path not in copies:
        around = _own_copy(value, copies, path[:-1]) if path else None
        copies[path] = (value if around is None else around[path[-1]]).copy()
        if around is not None:
            around[path[-1]] = copies[path]
    return copies[path]


def _complaints(
    error: ValidationError, model: type[BaseModel], value: Any, shown: Any
) -> Iterator[Complaint]:
    """One complaint for each place; those of the branches of a union are joined."""
    places: dict[Path, list[ErrorDetails]] = {}
    for detail in error.errors(include_url=False):
        places.setdefault(_path(detail, value), []).append(detail)
    for path, details in places.items():
        if not _is_other_branch(path, value, places):
            yield _complaint(path, details, model, value_at(shown, path))


def _is_other_branch(path: Path, value: Any, places: Mapping[Path, object]) -> bool:
    """Whether a mapping was meant as the branch of a union that complains of what is inside it."""
    if not isinstance(value_at(value, path), dict):
        return False
    return any(len(other) > len(path) and other[: len(path)] == path for other in places)


def _path(detail: ErrorDetails, value: Any) -> Path:
    """The error's place in the document, without pydantic's names for branches of unions."""
    path: list[str | int] = []
    last = len(detail["loc"]) - 1
    for index, step in enumerate(detail["loc"]):
        absent = index == last and detail["type"] == MISSING
        if absent or has(value, step):
            path.append(step)
            value = None if absent else value[step]
    return tuple(path)


def _complaint(
    path: Path, details: list[ErrorDetails], model: type[BaseModel], shown: Any
) -> Complaint:
    kinds = {detail["type"] for detail in details}
    if UNKNOWN in kinds:
        key, names = str(path[-1]), Names(_keys_at(model, path[:-1]))
        if key in names:
            message = f"the key {key!r} does not go with the other settings here"
            return Complaint(path, message, "another provider or type takes it; remove it")
        return Complaint(path, f"unknown key {key!r}", _meant(model, path) or names.hint(key))
    field = _field_at(model, path)
    if MISSING in kinds:
        return Complaint(path, f"the key {str(path[-1])!r} is missing", _about(field))
    subject = f"{_subject(path)} " if path else ""
    wanted = list(dict.fromkeys(filter(None, map(_wanted, details))))
    own = next((detail for detail in details if not _wanted(detail)), None)
    if own is not None:
        hint = own.get("ctx", {}).get("hint") or _default(field)
        return Complaint(path, _own_words(own, subject), hint)
    message = f"{subject}must be {_either(wanted)}, not {_show(shown)}"
    return Complaint(path, message, _hint(details, shown) or _default(field))


def _meant(model: type[BaseModel], path: Path) -> str:
    """The key that somebody meant who is used to another name for it."""
    own = (also_called(found, str(path[-1])) for found in _models_at(model, path[:-1]))
    return next((f"it is called {name!r} here" for name in own if name), "")


def also_called(model: type[BaseModel], key: str) -> str:
    """The key of a model that others call so, or nothing."""
    return str(getattr(model, "also_called", {}).get(key, ""))


def misplaced(model: type[BaseModel] | None, key: str) -> str:
    """The remedy for a key that stands beside a config and belongs inside it, or nothing."""
    if model is None:
        return ""
    if key in _fields(model):
        return "put it under 'config'"
    name = also_called(model, key)
    return f"put it under 'config', where it is called {name!r}" if name else ""


def _either(wanted: list[str]) -> str:
    *first, last = wanted
    return f"{', '.join(first)} or {last}" if first else last


def _subject(path: Path) -> str:
    """The innermost key, with the indexes after it."""
    start = len(path) - 1
    while start > 0 and isinstance(path[start], int):
        start -= 1
    return f"'{path_text(path[start:])}'"


def _wanted(detail: ErrorDetails) -> str:
    """What the value should be, or nothing where the model has words of its own."""
    kind, context = detail["type"], detail.get("ctx", {})
    if kind in KINDS:
        return KINDS[kind]
    if kind in BOUNDS:
        return BOUNDS[kind].format_map(context)
    return LENGTHS[kind](context) if kind in LENGTHS else ""


def _text_size(context: Mapping[str, Any]) -> str:
    if context.get("min_length") == 1:
        return "text"
    if "min_length" in context:
        return f"text of at least {context['min_length']} characters"
    return f"text of at most {context['max_length']} characters"


def _list_size(context: Mapping[str, Any]) -> str:
    if "min_length" in context:
        return f"a list of at least {context['min_length']}"
    return f"a list of at most {context['max_length']}"


LENGTHS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "string_too_short": _text_size,
    "string_too_long": _text_size,
    "too_short": _list_size,
    "too_long": _list_size,
}


def _own_words(detail: ErrorDetails, subject: str) -> str:
    """The message of a validator written for people, or pydantic's, made to follow a subject."""
    cause = detail.get("ctx", {}).get("error")
    if isinstance(cause, ValidationError):
        inner = cause.errors(include_url=False)[0]
        return f"{subject}is wrong: {path_text(inner['loc'])}: {inner['msg']}"
    if isinstance(cause, Exception):
        return f"{subject}is wrong: {cause}" if subject else str(cause)
    return subject + detail["msg"].replace("Input should", "must", 1)


def _hint(details: list[ErrorDetails], shown: Any) -> str:
    kinds = {detail["type"] for detail in details}
    if kinds & {"literal_error", "enum"} and isinstance(shown, str):
        return _nearest(details, shown)
    if "string_type" in kinds and isinstance(shown, int | float):
        return f'put it in quotes: "{_show(shown)}"'
    if kinds & {"bool_type", "bool_parsing"}:
        return _truth(shown)
    return next((FORMS[kind] for kind in sorted(kinds) if kind in FORMS), "")


def _about(field: FieldInfo | None) -> str:
    """How to add a key that is missing."""
    about = (field.description or "").rstrip(".") if field else ""
    return f"add it: {about[:1].lower()}{about[1:]}" if about else "add it"


def _default(field: FieldInfo | None) -> str:
    """What happens without the key, where that is worth saying."""
    if field is None or field.is_required() or not isinstance(field.default, str | int | float):
        return ""
    return f"leave it out for the default, {_show(field.default)}" if field.default != "" else ""


def _nearest(details: list[ErrorDetails], shown: str) -> str:
    expected = next(d["ctx"]["expected"] for d in details if "expected" in d.get("ctx", {}))
    names = [part.strip().strip("'") for part in expected.replace(" or ", ", ").split(",")]
    hint = Names(names).hint(shown)
    return hint if hint.startswith("did") else ""


def _truth(shown: Any) -> str:
    word = shown.lower() if isinstance(shown, str) else shown
    if word in YES:
        return "write true, without quotes"
    return "write false, without quotes" if word in NO else ""


def _show(value: Any) -> str:
    """A value in a message, in short."""
    if isinstance(value, str):
        return repr(value if len(value) <= SHOWN else f"{value[:SHOWN]}…") if value else "empty"
    if isinstance(value, dict):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)[:SHOWN]


def _keys_at(model: type[BaseModel], path: Path) -> list[str]:
    """The keys that the mapping at a path may have."""
    return [name for found in _models_at(model, path) for name in _fields(found)]


def _field_at(model: type[BaseModel], path: Path) -> FieldInfo | None:
    """The field that a key at a path is, if a model says."""
    for found in _models_at(model, path[:-1]) if path else []:
        field = _fields(found).get(str(path[-1]))
        if field:
            return field
    return None


def _models_at(model: type[BaseModel], path: Path) -> list[type[BaseModel]]:
    """The models that the mapping at a path may be."""
    kinds: list[Any] = [model]
    for step in path:
        kinds = [inner for kind in kinds for inner in _inside(kind, step)]
    return [found for kind in kinds for found in _models(kind)]


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _inside(kind: Any, step: str | int) -> list[Any]:
    """The types of what stands at a step inside a value of some type."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        field = _fields(kind).get(str(step))
        return [field.annotation] if field else []
    origin, args = get_origin(kind), get_args(kind)
    if origin is dict:
        return [args[1]]
    if origin in (list, tuple):
        return list(args[:1])
    return [inner for arg in args for inner in _inside(arg, step)]


def _models(kind: Any) -> list[type[BaseModel]]:
    """The models a value of some type may be; not those further inside it."""
    if isinstance(kind, type) and not get_origin(kind):
        return [kind] if issubclass(kind, BaseModel) else []
    if get_origin(kind) in (dict, list, tuple):
        return []
    return [found for arg in get_args(kind) for found in _models(arg)]
