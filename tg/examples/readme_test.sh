#!/usr/bin/env bash
# The README shows the example that tour_test.cc runs, word for word.
set -euo pipefail
tour=$(sed -n '/README: begin/,/README: end/p' tg/examples/tour_test.cc | sed '1d;$d;s/^  //')
[[ -n $tour ]] || { echo "no example between the marks in tour_test.cc"; exit 1; }
[[ $(<README.md) == *"$tour"* ]] || { echo "README.md does not show the example of tour_test.cc"; exit 1; }
