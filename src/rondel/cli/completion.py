"""`rondel completion`: what a shell needs to complete the command line, and the completing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Annotated, Any

import typer

from rondel.errors import RondelError

NEWEST = 200
"""How many sessions are offered."""

BASH = """\
_rondel() {
  local IFS=$'\\n' found
  found=$(RONDEL_COMPLETE="${COMP_WORDS[*]:1:COMP_CWORD}" rondel 2>/dev/null)
  COMPREPLY=($(compgen -W "$found" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _rondel rondel
"""

ZSH = """\
#compdef rondel
_rondel() {
  local -a found
  found=("${(@f)$(RONDEL_COMPLETE="${(F)words[2,CURRENT]}" rondel 2>/dev/null)}")
  [[ -n "${found[1]}" ]] && compadd -- $found || _files
}
compdef _rondel rondel
"""

FISH = """\
function __rondel_words
  set -l words (commandline -opc)[2..-1]
  set -l line
  for word in $words
    set line "$line$word"\\n
  end
  RONDEL_COMPLETE="$line"(commandline -ct) rondel 2>/dev/null
end
complete -c rondel -a '(__rondel_words)'
"""


class Shell(StrEnum):
    """The shells that there is a script for."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


SCRIPTS = {Shell.bash: BASH, Shell.zsh: ZSH, Shell.fish: FISH}


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="bash|zsh|fish", help="Your shell.")],
) -> int:
    """Print the script that lets a shell complete commands, options, sessions and files.

    bash: add `source <(rondel completion bash)` to ~/.bashrc. zsh: `source <(rondel completion
    zsh)` in ~/.zshrc, after compinit. fish: rondel completion fish > ~/.config/fish/completions/
    rondel.fish
    """
    print(SCRIPTS[shell], end="")
    return 0


def complete(line: str) -> int:
    """Print what the last of the words may become; nothing where it is a file, or anything."""
    for candidate in candidates(line.split("\n")):
        print(candidate)
    return 0


def candidates(words: Sequence[str]) -> list[str]:
    """The completions of the last of these words."""
    from rondel.cli.app import VERBS

    *before, last = words
    if not before:
        return [verb for verb in VERBS if verb.startswith(last)]
    if before[0] not in VERBS:
        return []
    params = _params(before[0])
    if last.startswith("-"):
        options = [name for param in params for name in (*param.opts, *param.secondary_opts)]
        return sorted({name for name in options if name.startswith(last) and name != last})
    if len(before) == 1 and any(_is_session(param) for param in params):
        return [name for name in _sessions(before) if name.startswith(last)]
    return []


def _params(verb: str) -> list[Any]:
    from rondel.cli.app import command_of

    params: list[Any] = command_of(verb).params
    return params


def _is_session(param: Any) -> bool:
    return getattr(param, "metavar", None) == "ID" and param.name == "session"


def _sessions(words: Sequence[str]) -> list[str]:
    """The newest sessions of the database; none if it cannot be read."""
    from rondel.cli.database import open_existing

    named = words[words.index("--db") + 1 :][:1] if "--db" in words else []
    with suppress(RondelError, OSError):
        store = open_existing(named[0] if named else None).store
        try:
            return [row.id for row in store.sessions(limit=NEWEST).rows]
        finally:
            store.close()
    return []
