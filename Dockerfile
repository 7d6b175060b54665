# The download service: CPU only, no torch, an ordinary user, one folder to write to.
FROM python:3.12-slim AS build
WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN python -m venv /venv \
 && /venv/bin/pip install --no-cache-dir -c constraints.txt '.[serve]' uvloop httptools

FROM python:3.12-slim
RUN useradd --system --uid 10001 --home-dir /nonexistent --shell /usr/sbin/nologin elasticrec \
 && install -d -o elasticrec -g elasticrec /shelf
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER elasticrec
VOLUME /shelf
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/readyz', timeout=2)"]
ENTRYPOINT ["elasticrec"]
CMD ["serve", "/models", "--shelf", "/shelf", "--host", "0.0.0.0", "--port", "8000"]
