"""A service in this process, with its background work, asked without a network."""

import asyncio
import threading
import time

import httpx

from elasticrec.serve.app import create_app


class Running:
    """The app of some settings; its requests go straight to it."""

    def __init__(self, config):
        self.app = create_app(config)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self):
        self._thread.start()
        self._lifespan = self.app.router.lifespan_context(self.app)
        self.run(self._lifespan.__aenter__())
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://made")
        return self

    def __exit__(self, *_):
        self.run(self._client.aclose())
        self.run(self._lifespan.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work):
        """Run a coroutine in the service's own loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=60)

    def get(self, url, headers=None, method="GET"):
        """One response."""
        return self.run(self._client.request(method, url, headers=headers))

    def get_many(self, urls):
        """Responses to requests that are all made at the same moment."""

        async def ask():
            return await asyncio.gather(*(self._client.get(url) for url in urls))

        return self.run(ask())

    def until(self, holds, seconds=20):
        """Wait until something holds."""
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, "it never came about"
            time.sleep(0.02)
