"""A crash at every point of a turn that stores artifacts: between a blob and its commit, too."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from sessionstore.artifact import digests_in_record, read_whole
from sessionstore.collection import collect
from turnline import Agent, App, Turn
from turnline.testing import World, crash_everywhere

KEY = "agent:clerk/fake:x/dm:1"
DAY_S = 86_400.0


def clerk(runs: Iterator[int]) -> App:
    agent: Agent[None] = Agent("clerk")

    @agent.on("message")
    async def message(turn: Turn[None]) -> None:
        text = turn.message.text.encode()
        await turn.artifact("last", text, media_type="text/plain")
        # Other bytes in each run, as a clock or a model would give: what a dead attempt stored stays an orphan.
        await turn.artifact("attempt", f"{text!r} {next(runs)}".encode())
        await turn.workspace.write(f"notes/{turn.message.text}.txt", text)
        turn.reply("kept")

    return App(agents=[agent])


async def talk(world: World) -> None:
    for text in ("one", "two"):
        await world.say(text)
        await world.settle()


@pytest.mark.timeout(300)
def test_every_reference_has_its_blob_and_what_has_none_is_collected(tmp_path: Path) -> None:
    orphans, runs = set(), count()

    async def check(world: World) -> None:
        record = (await world.session(KEY))["record"]
        digests = digests_in_record(record)
        assert len(digests) == 3  # "last" and notes/two.txt are the same bytes
        assert record["artifacts"]["workspace"].keys() == {"notes/one.txt", "notes/two.txt"}
        for digest in digests:
            await read_whole(world.artifacts.read(digest))
        reads, now = world.store.reads, world.clock.now()
        assert (await collect(reads, world.artifacts, now)).blobs == ()
        gone = await collect(reads, world.artifacts, now + 2 * DAY_S)
        orphans.update(blob.digest for blob in gone.blobs)
        for digest in digests:
            await read_whole(world.artifacts.read(digest))
        assert await reads.referenced(list(world.artifacts.blobs)) == world.artifacts.blobs.keys()

    crashes = crash_everywhere(tmp_path, lambda: clerk(runs), talk, check)
    print(f"{crashes.visited} crashes at {crashes.boundaries} boundaries, {len(orphans)} orphans collected")
    assert crashes.visited == 2 * crashes.boundaries
    assert orphans, "no crash fell between a blob and its commit"
