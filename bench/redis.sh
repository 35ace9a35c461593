#!/bin/sh
# SPDX-License-Identifier: MIT
# redis.sh BUILD_FOLDER: the overhead of metering redis-server, compared with other tools.
# shellcheck source=bench/compare.sh
. "$(dirname "$0")/compare.sh"

for pipeline in 1 16; do
    use_redis $pipeline
    heading request
    compare_dpm tcp
    compare_peers
done
