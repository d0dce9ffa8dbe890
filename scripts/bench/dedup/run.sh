#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Measures deduplication against datasketch, rensa, datatrove and minhash-lsh
# on generated stories. From the root of the repository:
#
#   scripts/bench/dedup/run.sh [-n DOCUMENTS,...] [-rounds N] [-tools NAME,...]
#
# Makes a Python environment of its own in $VENV (default: a folder in the
# user's cache).
set -eu
cd "$(dirname "$0")/../../.."
venv=${VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/retcon-dedup-bench}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import datasketch, rensa, datatrove.pipeline.dedup, spacy, xxhash' 2>/dev/null ||
	"$venv/bin/python" -m pip install --quiet datasketch==2.0.0 rensa==0.5.0 datatrove==0.10.1 spacy 'xxhash<4' regex fasteners orjson tokenizers
exec go run ./scripts/bench/dedup -python "$venv/bin/python" "$@"
