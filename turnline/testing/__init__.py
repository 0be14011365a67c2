"""The test kit: virtual time, fake channels, and a crash at every point of a scenario.

    from turnline.testing import World, crash_everywhere

    async def scenario(world: World) -> None:
        await world.say("order two coffees")
        await world.settle()
        await world.answer("approved")

    def test_it_survives_every_crash(tmp_path):
        crash_everywhere(tmp_path, make_app, scenario, check)

`World`: one engine over one SQLite file, in one thread and in virtual time.
`FakeChannel`: a channel that remembers what arrived, and can fail.
`crash_everywhere`, `Crashes`: runs a scenario once for each boundary, crashes there, recovers, checks.
`run_virtually`: a coroutine in virtual time.
"""

from turnline.testing.crash import Crashes, crash_everywhere
from turnline.testing.fakes import FakeChannel
from turnline.testing.virtualtime import run_virtually
from turnline.testing.world import World

__all__ = ["Crashes", "FakeChannel", "World", "crash_everywhere", "run_virtually"]
