#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Times retcon prompts on made-up sources, all of them worked on, in bounded
# address space: run.sh [SOURCES] [FOLDER]. Ingest and dedup run before and are
# timed apart. Folder defaults to a temporary one.
#
# 100,000 sources on two busy cores (2026-11-30): ingest 10 s, dedup 14 s, prompts
# 181 s of processor time; the largest of the three held 254 MB. The 2,000 came
# out as the paper's 751, 432, 422 and 395.
set -eu
n=${1:-100000}
dir=${2:-$(mktemp -d)}
root=$(cd "$(dirname "$0")/../../.." && pwd)
cd "$root"
go build -o "$dir/retcon" ./cmd/retcon
go run ./scripts/bench/prompts -n "$n" -out "$dir/in"
cat > "$dir/recipe.yaml" <<EOF
name: prompts-bench
version: 0.1.0
date: 2026-11-29
canary: 00000000-0000-4000-8000-000000000000
corpora: [{name: wikiplots}, {name: writingprompts}, {name: longlamp}, {name: tellmeastory}, {name: longbench}]
prompts: {target: 2000, draw: 0}
# Made-up stories share turns of phrase as no real ones do; dedup is not what is timed.
dedup: {bands: 16, rows: 8, jaccard: 0.8, excerpts: false}
EOF
mv "$dir/in/storium/games.jsonl" "$dir/in/tellmeastory/games.jsonl"
set -- --recipe "$dir/recipe.yaml" --work "$dir/work"
for c in wikiplots writingprompts longlamp tellmeastory longbench; do set -- "$@" --corpus "$c=$dir/in/$c"; done
for step in ingest dedup prompts; do
	echo "== $step"
	(ulimit -v 4000000; exec /usr/bin/env time -v "$dir/retcon" -q "$step" "$@" 2> "$dir/$step.time" > "$dir/$step.out") || { cat "$dir/$step.time"; exit 1; }
	grep -E 'Elapsed|Maximum resident|User time' "$dir/$step.time" || true
done
cat "$dir/prompts.out"
