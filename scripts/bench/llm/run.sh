#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Measures the model boundary: calls per CPU second against Python's aiohttp and
# the openai package, on the same loopback server in the same run; memory of a
# call in flight; durable answers against one-commit-a-row SQLite; opening a
# store of a million answers. Needs Go and Python 3; makes a virtual environment
# with aiohttp and openai in a temporary folder (VENV=DIR keeps it there).
#
#   scripts/bench/llm/run.sh [http] [memory] [store] [million]     (all by default)
set -euo pipefail
cd "$(dirname "$0")/../../.."
tmp=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$tmp"' EXIT
go build -o "$tmp/bench" ./scripts/bench/llm
[ $# -gt 0 ] || set -- http memory store million
for what in "$@"; do
  case $what in
  http)
    venv=${VENV:-$tmp/venv}
    [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
    "$venv/bin/python" -c 'import aiohttp, openai' 2>/dev/null || "$venv/bin/pip" -q install aiohttp openai
    "$tmp/bench" serve >"$tmp/url" &
    while [ ! -s "$tmp/url" ]; do sleep 0.1; done
    url=$(cat "$tmp/url")
    "$venv/bin/python" -c 'import sys, aiohttp, openai; print("Python", sys.version.split()[0], "aiohttp", aiohttp.__version__, "openai", openai.__version__)'
    # Three rounds, side by side: a ratio within a round does not mind what else
    # the machine does.
    for round in 1 2 3; do
      "$tmp/bench" client -url "$url" -calls 20000
      "$tmp/bench" client -url "$url" -calls 20000 -store "$tmp/answers-$round.db"
      "$venv/bin/python" scripts/bench/llm/client.py aiohttp "$url" 8000
      "$venv/bin/python" scripts/bench/llm/client.py openai "$url" 2000
    done | tee "$tmp/rates"
    awk '{ sum[$1] += $2; n[$1]++ } END {
      go = sum["retcon"] / n["retcon"]; st = sum["retcon+store"] / n["retcon+store"]
      a = sum["aiohttp"] / n["aiohttp"]; o = sum["openai"] / n["openai"]
      printf "ratio to aiohttp: %.1f (with store %.1f)\nratio to openai: %.1f (with store %.1f)\n", go/a, st/a, go/o, st/o }' "$tmp/rates"
    kill %% 2>/dev/null || true
    ;;
  memory) "$tmp/bench" memory ;;
  store) "$tmp/bench" store -dir "$tmp" ;;
  million) "$tmp/bench" million -dir "$tmp" ;;
  *) echo "unknown: $what" >&2; exit 2 ;;
  esac
done
