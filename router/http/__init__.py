"""The HTTP side: one aiohttp application with the doors, the API, the console and the web chat."""
