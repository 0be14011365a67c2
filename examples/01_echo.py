"""Echo: says back what it hears, and counts. Run it: `turnline dev examples/01_echo.py`."""

from turnline import Agent, App, Turn

echo = Agent("echo")


@echo.on("message")
async def message(turn: Turn) -> None:
    turn.state["heard"] = heard = turn.state.get("heard", 0) + 1
    turn.reply(f"{heard}: {turn.message.text}")


app = App(agents=[echo])
