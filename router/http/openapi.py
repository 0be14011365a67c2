"""The API's description, OpenAPI 3.1: made from the very table that the routes are registered from."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from router.http.problems import TITLES, json_response
from router.http.schema import Problem

VERSION = "1"
REF = "#/components/schemas/{model}"
WORDS = {int: "integer", str: "string"}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Query:
    """A parameter in the query, or in a header."""

    name: str
    kind: type[int] | type[str]
    told: str
    where: str = "query"


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path. `scope` is what its token must allow; empty: no token.

    `answer` is the form of a success, or the media type of one that is no JSON of a form.
    """

    method: str
    path: str
    handler: Handler
    told: str
    answer: type[BaseModel] | str
    scope: str = ""
    body: type[BaseModel] | str | None = None
    query: tuple[Query, ...] = ()
    status: int = 200
    problems: tuple[int, ...] = ()
    name: str = ""  # its operationId, where a handler answers several paths


DOCUMENT: web.AppKey[dict[str, Any]] = web.AppKey("openapi", dict[str, Any])


async def get_openapi(request: web.Request) -> web.Response:
    """GET /openapi.json"""
    return json_response(request.app[DOCUMENT])


def document(operations: Sequence[Operation]) -> dict[str, Any]:
    """The description of these operations."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Turnline", "version": VERSION, "description": (__doc__ or "").strip()},
        "paths": paths,
        "components": {
            "schemas": _schemas(operations),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _schemas(operations: Sequence[Operation]) -> dict[str, Any]:
    answers = [(o.answer, "serialization") for o in operations if not isinstance(o.answer, str)]
    bodies = [(o.body, "validation") for o in operations if o.body is not None and not isinstance(o.body, str)]
    forms: Any = list(dict.fromkeys([(Problem, "serialization"), *answers, *bodies]))
    _, made = models_json_schema(forms, ref_template=REF)
    schemas: dict[str, Any] = made["$defs"]
    return schemas


def _described(operation: Operation) -> dict[str, Any]:
    failures = sorted({*operation.problems, *((401, 403) if operation.scope else ())})
    described: dict[str, Any] = {
        "operationId": operation.name or operation.handler.__name__,
        "summary": operation.told,
        "parameters": [*_path_parameters(operation.path), *map(_parameter, operation.query)],
        "responses": {
            str(operation.status): {"description": "Done.", "content": _content(operation.answer)},
            **{str(status): _failure(status) for status in failures},
        },
    }
    if operation.body is not None:
        described["requestBody"] = {"required": True, "content": _content(operation.body)}
    if operation.scope:
        described["security"] = [{"token": []}]
        described["x-scope"] = operation.scope
    return described


def _path_parameters(path: str) -> list[dict[str, Any]]:
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    return [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]


def _parameter(query: Query) -> dict[str, Any]:
    return {"name": query.name, "in": query.where, "description": query.told, "schema": {"type": WORDS[query.kind]}}


def _content(form: type[BaseModel] | str) -> dict[str, Any]:
    if isinstance(form, str):
        return {form: {}}
    return {"application/json": {"schema": {"$ref": REF.format(model=form.__name__)}}}


def _failure(status: int) -> dict[str, Any]:
    schema = {"$ref": REF.format(model=Problem.__name__)}
    return {"description": TITLES[status], "content": {"application/problem+json": {"schema": schema}}}
