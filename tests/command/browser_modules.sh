# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# browser_modules.sh: shared by the tests that need a browser; read after sample.sh. Sets `modules`: a folder with two packages of
# npm, which are fetched once, and which nothing else uses.

modules=$build/browser/node_modules
if [ ! -d "$modules/axe-core" ] || [ ! -d "$modules/playwright-core" ]; then
    mkdir -p "$build/browser"
    (cd "$build/browser" && npm install --no-save --no-audit --no-fund playwright-core@1.65.1 axe-core@4.14.1) > npm.out 2>&1 ||
        skip_all "npm: $(tail -n 1 npm.out)"
fi
