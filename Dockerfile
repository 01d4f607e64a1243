# syntax=docker/dockerfile:1
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml requirements.lock README.md LICENSE ./
COPY prober prober
COPY migrations migrations
RUN python -m venv /opt/prober \
 && /opt/prober/bin/pip install --no-cache-dir --require-hashes -r requirements.lock \
 && /opt/prober/bin/pip install --no-cache-dir --no-deps .

FROM python:3.12-slim
LABEL org.opencontainers.image.title="isolation-prober" \
      org.opencontainers.image.description="Finds cross-tenant leaks in LLM serving from outside" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN groupadd --gid 10001 prober \
 && useradd --uid 10001 --gid prober --home-dir /var/lib/prober --create-home --shell /usr/sbin/nologin prober
COPY --from=build /opt/prober /opt/prober
ENV PATH=/opt/prober/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /var/lib/prober
ENTRYPOINT ["prober"]
CMD ["--help"]
