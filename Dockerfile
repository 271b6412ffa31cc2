# incrowd in a container that cannot write, cannot talk, and is not root. How to build and run it: docs/operations.md.
FROM python:3.12-slim AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m venv /opt/incrowd && /opt/incrowd/bin/pip install --no-cache-dir '.[postgresql,mysql,duckdb,excel,stats,zstd,report]'
# Kernels are compiled here, once: the running container has no place to keep them.
ENV NUMBA_CACHE_DIR=/opt/kernels INCROWD_COMPILE=1 PATH=/opt/incrowd/bin:$PATH
COPY docs/people.csv people.csv
RUN incrowd init people.csv -o people.toml --sensitive disease --quiet \
    && for method in best_cuts mondrian nsvdist tight_groups; do \
           incrowd publish people.csv -s people.toml -k 4 -m $method -o $method --quiet || exit 1; \
       done

FROM python:3.12-slim
COPY --from=build /opt/incrowd /opt/incrowd
COPY --from=build /opt/kernels /opt/kernels
# All that is ever written beside the mounted folder goes to /tmp, which is memory when run as documented.
ENV PATH=/opt/incrowd/bin:$PATH HOME=/tmp NUMBA_CACHE_DIR=/tmp/kernels MPLCONFIGDIR=/tmp/matplotlib PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
WORKDIR /data
ENTRYPOINT ["/bin/sh", "-c", "cp -R /opt/kernels /tmp/kernels && exec incrowd \"$@\"", "incrowd"]
CMD ["--help"]
