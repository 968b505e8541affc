#!/bin/sh
echo "error: bazel coverage is not supported by Debian's Bazel" >&2
exit 1
