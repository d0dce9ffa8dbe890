#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Damages a release 2,000 times at each of three levels, one random byte at a
# time, and asks `verify` each time: as it is; with SHA256SUMS and the
# manifest's hashes computed again; with card and all sidecars made again too.
# Each flip must be found, or the rows must be the same; no panic.
#
#   scripts/corrupt/run.sh                    a release that the test makes
#   scripts/corrupt/run.sh RELEASE [FLIPS]    a copy of that folder
set -eu
cd "$(dirname "$0")/../.."
release=${1:+-release=$(cd "$1" && pwd)}
exec go test ./datasets -count=1 -timeout 3h -run '^TestFlips$' -v -flips="${2:-2000}" $release
