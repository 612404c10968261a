#!/bin/sh
# Finds a browser for the tests, and the library that Playwright's driver needs; on Debian as root, installs what is missing.
set -eu

have_browser() {
  if [ -n "${ONNXLET_CHROMIUM:-}" ]; then
    [ -x "$ONNXLET_CHROMIUM" ] && return 0
    echo "ONNXLET_CHROMIUM names $ONNXLET_CHROMIUM, which is not a program" >&2
    exit 1
  fi
  for name in chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null 2>&1 && return 0
  done
  [ -d "${PLAYWRIGHT_BROWSERS_PATH:-$HOME/.cache/ms-playwright}" ]
}

missing=""
have_browser || missing="chromium"
if [ -f /etc/debian_version ] && ! dpkg -s libatomic1 >/dev/null 2>&1; then
  missing="$missing libatomic1"
fi
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ] && [ -f /etc/debian_version ]; then
  echo "installing Debian's $missing"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  # shellcheck disable=SC2086  # one word a package
  apt-get install -y -qq --no-install-recommends $missing >/dev/null
  exit 0
fi
cat >&2 <<MESSAGE
The tests need a Chromium (missing here: $missing). One of these makes one available:
  apt-get install chromium libatomic1          (Debian, Ubuntu)
  .venv/bin/python -m playwright install chromium
  export ONNXLET_CHROMIUM=/path/to/chrome      (any Chromium or Chrome you have)
MESSAGE
exit 1
