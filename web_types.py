"""The types of the pages, from the server's OpenAPI document: one source, checked by a test."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from build_pages import WEB, install, node_and_npm

TYPES = WEB / "src" / "api" / "openapi.ts"
PROSE = ("title", "description", "examples")
HEADER = (
    "/** Made from /openapi.json by `make web-types`; a test compares it. Not to be edited. */\n\n"
)


def document() -> dict[str, Any]:
    """What the pages need of the server's document: the shapes that go in and out."""
    from rondel.server.app import create_app
    from rondel.sessions.engine import Engine

    with tempfile.TemporaryDirectory() as folder:
        found = create_app(Engine(db=None), folder).openapi()
    schemas = {
        name: bare(schema) for name, schema in sorted(found["components"]["schemas"].items())
    }
    return {
        "openapi": found["openapi"],
        "info": {"title": found["info"]["title"], "version": "0"},
        "paths": {},
        "components": {"schemas": schemas},
    }


def bare(schema: Any) -> Any:
    """A schema without its prose, which the server's own code has."""
    if isinstance(schema, list):
        return [bare(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: bare(value) for key, value in schema.items() if key not in PROSE}
    if isinstance(schema.get("properties"), dict):
        found["properties"] = {key: bare(value) for key, value in schema["properties"].items()}
    return found


def generated() -> str:
    """The TypeScript of the document."""
    install()
    folder, _ = node_and_npm()
    script = WEB / "node_modules" / "openapi-typescript" / "bin" / "cli.js"
    with tempfile.TemporaryDirectory() as place:
        source, target = Path(place) / "openapi.json", Path(place) / "openapi.ts"
        source.write_text(json.dumps(document()), "utf-8")
        command = [str(Path(folder) / "node"), str(script), str(source), "-o", str(target)]
        done = subprocess.run(command, cwd=WEB, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"openapi-typescript failed: {done.stdout}{done.stderr}")
        text = target.read_text("utf-8")
    return HEADER + text.partition("*/")[2].lstrip()


if __name__ == "__main__":
    TYPES.write_text(generated(), "utf-8")
    print(f"{TYPES.relative_to(WEB.parent)} is what the server says.")
