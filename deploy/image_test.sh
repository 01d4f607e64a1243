#!/usr/bin/env bash
# Builds the Dockerfile and runs its image, shut in as the manifests do it: not root, a read-only root, nothing to be gained.
# With docker or podman where one answers. Else with buildah (as root), which needs no daemon; where python:3.12-slim
# cannot be pulled, on a stand-in of that name, made by debootstrap and a Python 3.12 of this machine (PYTHON312).
set -euo pipefail
cd "$(dirname "$0")/.."
IMAGE=isolation-prober:image-test
BASE=python:3.12-slim
# What must work within: the versions agree, the user is no root, a key and a database can be made, and the demo, which
# serves a lab, probes it over sockets and must find the leak in act one and nothing in act two.
PROOF='set -eu
cd /var/lib/prober
[ "$(id -u)" = 10001 ]
! touch /opt/prober/written 2>/dev/null
prober --version
prober key new canary.key
printf "%s\n" "version: 1" "key_file: canary.key" "targets:" "  lab:" "    url: http://127.0.0.1:8000/v1" \
  "    dialect: openai-chat" "    model: llm" "    context_tokens: 8192" "    tenants:" \
  "      - {name: alpha, credential: a}" "      - {name: bravo, credential: b}" > prober.yaml
chmod 0600 prober.yaml
prober db upgrade -c prober.yaml
prober validate -c prober.yaml
prober demo'

run_with() { # docker or podman
  "$1" build --tag "$IMAGE" .
  [ "$("$1" run --rm "$IMAGE" --version | wc -l)" = 1 ]
  "$1" run --rm --read-only --tmpfs /tmp --tmpfs /var/lib/prober:uid=10001,gid=10001 --cap-drop ALL \
    --security-opt no-new-privileges --network none --entrypoint sh "$IMAGE" -c "$PROOF"
}

pip_settings() { # of a Python, environment included, as a pip.conf
  echo '[global]'
  "$1" -m pip config list | sed -nE "s/^(global|:env:)\.([a-z-]+)='(.*)'$/\2 = \3/p" | sort -u -t= -k1,1
}

stand_in() { # a Debian with Python 3.12 in /usr/local, as the official image has it
  local python root container
  python="${PYTHON312:-$(command -v python3.12 || ls -d "$HOME"/.pyenv/versions/3.12.*/bin/python3.12 2>/dev/null | tail -n 1)}"
  [ -n "$python" ] || { echo "no python3.12 to make a stand-in of $BASE with; set PYTHON312" >&2; exit 2; }
  root="$(mktemp -d)"
  debootstrap --variant=minbase --include=ca-certificates,libssl3,libffi8,libsqlite3-0,libbz2-1.0,liblzma5,libreadline8,libexpat1,zlib1g,libuuid1 \
    bookworm "$root" ${DEBIAN_MIRROR:-} >&2
  cp -a "$("$python" -c 'import sys; print(sys.base_prefix)')/." "$root/usr/local/"
  [ -e "$root/usr/local/bin/python" ] || ln -s python3.12 "$root/usr/local/bin/python"
  chroot "$root" /sbin/ldconfig
  # What leads pip of this machine to its packages leads it there too: its settings, and the files that these name.
  if [ -e "${PIP_CERT:-}" ]; then install -D -m 0644 "$PIP_CERT" "$root/etc/ssl/certs/ca-certificates.crt"; fi
  pip_settings "$python" > "$root/etc/pip.conf"
  for file in $(grep -E '^(constraint) =' "$root/etc/pip.conf" | cut -d= -f2); do install -D -m 0644 "$file" "$root$file"; done
  container="$(buildah from scratch)"
  buildah copy --quiet "$container" "$root" / >/dev/null
  buildah config --env PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin --env PIP_CERT=/etc/ssl/certs/ca-certificates.crt "$container"
  buildah commit --quiet --rm "$container" "localhost/$BASE" >/dev/null
  rm -rf "$root"
}

run_with_buildah() {
  export BUILDAH_ISOLATION=chroot STORAGE_DRIVER="${STORAGE_DRIVER:-vfs}"
  if ! buildah inspect --type image "localhost/$BASE" >/dev/null 2>&1 && ! timeout 60 buildah pull --quiet "$BASE" >/dev/null 2>&1; then
    stand_in
  fi
  local mounts=() container
  # Packages of this machine, where pip is told to look for them; they are no part of the image.
  for folder in ${PIP_FIND_LINKS:-} ${IMAGE_TEST_MOUNTS:-}; do if [ -d "$folder" ]; then mounts+=(--volume "$folder:$folder:ro"); fi; done
  buildah build --quiet --pull-never "${mounts[@]}" --tag "$IMAGE" . >/dev/null
  container="$(buildah from --pull-never "$IMAGE")"
  trap "buildah rm $container >/dev/null" EXIT
  [ "$(buildah inspect --format '{{.OCIv1.Config.User}} {{index .OCIv1.Config.Entrypoint 0}}' "$container")" = "10001:10001 prober" ]
  buildah run "$container" -- prober --version
  buildah run "$container" -- sh -c "$PROOF"
}

for tool in docker podman; do
  if command -v "$tool" >/dev/null && "$tool" info >/dev/null 2>&1; then
    run_with "$tool"
    echo "the image works ($tool)"
    exit 0
  fi
done
command -v buildah >/dev/null || { echo "none of docker, podman and buildah can be used here" >&2; exit 2; }
run_with_buildah
echo "the image works (buildah)"
