# The HTTP service: CPU only, no torch, no pip, an ordinary user, nothing to write to.
# Replace the tags by the digest that you have checked: python:3.12-slim@sha256:…
FROM python:3.12-slim AS build
WORKDIR /build
COPY deploy/build.txt deploy/requirements.txt ./
RUN python -m venv tools \
 && tools/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r build.txt
RUN python -m venv --without-pip /venv \
 && tools/bin/pip --python /venv/bin/python install --no-cache-dir --require-hashes --only-binary :all: -r requirements.txt
COPY pyproject.toml README.md LICENSE CHANGELOG.md ./
COPY src src
COPY device/python device/python
RUN tools/bin/pip wheel --no-index --no-deps --no-build-isolation --wheel-dir wheels ./device/python . \
 && tools/bin/pip --python /venv/bin/python install --no-index --no-deps wheels/*.whl

FROM python:3.12-slim
RUN useradd --system --uid 10001 --home-dir /nonexistent --shell /usr/sbin/nologin elasticrec
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER elasticrec
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
ENTRYPOINT ["elasticrec"]
CMD ["serve", "/models", "--host", "0.0.0.0", "--port", "8000"]
