# SPDX-License-Identifier: MIT
# serial.mk: six objects side by side, then one script that takes long, then two tests side by side.
HERE := $(dir $(lastword $(MAKEFILE_LIST)))
all: test1 test2
o%: ; python3 $(HERE)work.py 150000
bundle: o1 o2 o3 o4 o5 o6 ; python3 $(HERE)bundle.py
test%: bundle ; python3 $(HERE)work.py 150000
