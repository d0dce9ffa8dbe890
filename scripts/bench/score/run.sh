#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Scores a million predictions in Go and in Python with scikit-learn, and
# checks that the figures are equal. From the root of the repository:
#
#   scripts/bench/score/run.sh [-n PREDICTIONS] [-stories N]
#
# Makes a Python environment of its own in $VENV (default: a folder in the
# user's cache). Needs about 1 GB of disk under $TMPDIR.
set -eu
cd "$(dirname "$0")/../../.."
venv=${VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/retcon-score-bench}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import sklearn, pyarrow' 2>/dev/null ||
	"$venv/bin/python" -m pip install --quiet scikit-learn==1.9.1 pyarrow==26.0.1
exec go run ./scripts/bench/score -python "$venv/bin/python" "$@"
