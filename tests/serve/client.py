"""An app with its background work in a thread of its own, and clients that ask it without a net."""

import asyncio
import threading
import time

import httpx

from elasticrec.serve.app import create_app


class Running:
    """A service in this process; its requests go straight to the app."""

    def __init__(self, config):
        self.app = create_app(config)
        self.service = self.app.state.service
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
        """What a coroutine gives in the service's own loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=60)

    def get(self, url, headers=None, method="GET", **more):
        """One response; redirects are not followed unless asked for."""
        return self.run(self._client.request(method, url, headers=headers, **more))

    def get_many(self, urls, headers=None):
        """Responses to requests that are all made at the same moment."""

        async def ask():
            return await asyncio.gather(*(self._client.get(url, headers=headers) for url in urls))

        return self.run(ask())

    def about(self, budget, model="books"):
        """The document about the bundle of a budget."""
        answer = self.get(
            f"/v1/models/{model}/bundles?budget={budget}", {"accept": "application/json"}
        )
        assert answer.status_code == 200, answer.text
        return answer.json()

    def until(self, holds, seconds=20):
        """Wait until something holds."""
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, "it never came about"
            time.sleep(0.02)

    def ready(self):
        """The same, once every model is loaded."""
        self.until(lambda: self.get("/readyz").status_code == 200)
        return self
