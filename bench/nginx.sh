#!/bin/sh
# SPDX-License-Identifier: MIT
# nginx.sh BUILD_FOLDER: the overhead of metering nginx, compared with other tools.
# shellcheck source=bench/compare.sh
. "$(dirname "$0")/compare.sh"

use_nginx
heading request
compare_dpm tcp
compare_peers
