"""What a server wrote before it ended does not hide that it ended."""

from __future__ import annotations

import asyncio

from rondel.tools.error_output import ErrorOutput


def test_the_end_shows_at_once_behind_what_was_written() -> None:
    async def ended() -> tuple[bool, bool, str]:
        with ErrorOutput() as errors:
            errors.file.write("first\nlast words\n")
            errors.file.flush()
            before = errors.ended
            errors.file.write("and one more\n")
            errors.hand_over()
            return before, errors.ended, errors.last_line

    assert asyncio.run(ended()) == (False, True, "and one more")


def test_what_is_long_is_forgotten_but_for_its_end() -> None:
    async def told() -> str:
        with ErrorOutput() as errors:
            for part in range(20):
                errors.file.write(f"{part}:{'x' * 60_000}\n")
                errors.file.flush()
                await asyncio.sleep(0)
                assert not errors.ended
            errors.file.write("the end\n")
            errors.hand_over()
            assert errors.ended
            return errors.last_line

    assert asyncio.run(told()) == "the end"
