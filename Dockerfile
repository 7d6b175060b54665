# The HTTP service: CPU only, no torch, an ordinary user, nothing to write to.
# Replace the tag by the digest that you have checked: python:3.12-slim@sha256:…
FROM python:3.12-slim AS build
WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
COPY device/python device/python
RUN python -m venv /venv \
 && /venv/bin/pip install --no-cache-dir -c constraints.txt ./device/python '.[serve]'

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
