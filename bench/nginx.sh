#!/bin/sh
# SPDX-License-Identifier: MIT
# nginx.sh BUILD_FOLDER: what metering costs nginx, beside other tools.
# shellcheck source=bench/compare.sh
. "$(dirname "$0")/compare.sh"

use_nginx
heading request
compare_dpm tcp
compare_peers
