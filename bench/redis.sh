#!/bin/sh
# SPDX-License-Identifier: MIT
# redis.sh BUILD_FOLDER: what metering costs redis-server, beside other tools.
# shellcheck source=bench/compare.sh
. "$(dirname "$0")/compare.sh"

for pipeline in 1 16; do
    use_redis $pipeline
    heading request
    compare_dpm tcp
    compare_peers
done
