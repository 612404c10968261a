#!/bin/sh
# Finds a C compiler and Python's headers for the kernels; on Debian as root, installs what is missing.
# Usage: ensure-compiler.sh PYTHON
set -eu

missing=""
command -v "${CC:-cc}" >/dev/null 2>&1 || missing="gcc libc6-dev"
"$1" -c 'import pathlib, sys, sysconfig; sys.exit(not (pathlib.Path(sysconfig.get_path("include")) / "Python.h").is_file())' ||
  missing="$missing python3-dev"
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ] && [ -f /etc/debian_version ]; then
  echo "installing Debian's $missing"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  # shellcheck disable=SC2086  # one word a package
  apt-get install -y -qq --no-install-recommends $missing >/dev/null
  exit 0
fi
echo "The kernels need a C compiler and Python's headers (missing here: $missing)." >&2
exit 1
