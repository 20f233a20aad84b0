# Transformer Atlas with CPU torch:  docker build -t transformer-atlas . && docker run -p 8501:8501 transformer-atlas
# The Python that the tests run on.
ARG BASE=python:3.11-slim
FROM ${BASE}

ENV PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_ROOT_USER_ACTION=ignore

WORKDIR /app

# Requirements before source, so that a changed page does not install torch again: first everything but torch, each file
# checked by its hash. Then PyTorch's own index: there torch comes without CUDA packages. Where that host is out of reach
# the configured index may serve, if it has such a build too.
COPY requirements.txt requirements.lock ./
COPY scripts/no-cuda.txt scripts/
RUN pip install --require-hashes --no-deps -r requirements.lock
RUN torch="$(grep '^torch==' requirements.txt)" && \
    ( pip install --retries 1 --timeout 20 -c scripts/no-cuda.txt --index-url https://download.pytorch.org/whl/cpu "$torch" || \
      pip install -c scripts/no-cuda.txt "$torch" ) && \
    pip check

# requirements-ray.txt makes this the image of the model engine, requirements-redis.txt that of an app whose rooms are in
# Redis (compose.scale.yaml), requirements-login.txt that of an app with a log-in.
ARG EXTRA=
COPY requirements-ray.txt requirements-redis.txt requirements-login.txt ./
RUN [ -z "$EXTRA" ] || pip install -r "$EXTRA"

# An account that owns only its home (the Hub's cache, where the host turns the Hub on), and a folder for checkpoints.
RUN useradd --create-home --uid 10001 atlas && \
    mkdir -p /checkpoints /lessons /content /home/atlas/.cache/huggingface && \
    chown -R atlas:atlas /home/atlas

COPY . .
RUN chmod -R a+rX . && python -m compileall -q app.py core pages

# glibc would give each thread a heap, and keep what is freed: after 120 acts of four visitors at once the server had
# 773 MB with these, 900 MB without, 872 MB where it trimmed the heaps itself.
USER 10001
ENV MALLOC_ARENA_MAX=2 \
    MALLOC_TRIM_THRESHOLD_=131072 \
    HOME=/home/atlas \
    PYTHONDONTWRITEBYTECODE=1 \
    ATLAS_CHECKPOINT_DIR=/checkpoints \
    STREAMLIT_SERVER_ADDRESS=0.0.0.0 \
    STREAMLIT_SERVER_PORT=8501 \
    STREAMLIT_SERVER_ENABLE_XSRF_PROTECTION=true \
    STREAMLIT_BROWSER_GATHER_USAGE_STATS=false

EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen('/'.join(('http://127.0.0.1:8501', *filter(None, os.environ.get('STREAMLIT_SERVER_BASE_URL_PATH', '').split('/')), '_stcore/health')), timeout=4)"]
CMD ["streamlit", "run", "app.py"]
