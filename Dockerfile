# A server of one trained model that needs nothing but its file: see docs/deploy.md.
#   docker build -t ancr-serve .
#   docker run --read-only --cap-drop ALL -p 8000:8000 -v "$PWD/model.npz:/model.npz:ro" ancr-serve
FROM python:3.13-slim

# Compiled code lies where the build may write and the container only reads. It is made for any processor of this kind:
# the one that builds an image is often not the one that runs it.
ENV NUMBA_CACHE_DIR=/opt/ancr-kernels \
    NUMBA_CPU_NAME=generic \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1

COPY pyproject.toml README.md LICENSE /src/
COPY ancr /src/ancr
RUN pip install --no-cache-dir '/src[web,data]' && rm -r /src && ancr warmup --float32

USER 65534:65534
EXPOSE 8000
HEALTHCHECK CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/health', timeout=3)"]
ENTRYPOINT ["ancr", "serve", "--host", "0.0.0.0"]
CMD ["/model.npz"]
