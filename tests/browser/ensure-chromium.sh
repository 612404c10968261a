#!/bin/sh
# Finds a browser for the tests; on Debian as root, installs Debian's chromium where there is none.
set -eu
if [ -n "${ONNXLET_CHROMIUM:-}" ]; then
  [ -x "$ONNXLET_CHROMIUM" ] && exit 0
  echo "ONNXLET_CHROMIUM names $ONNXLET_CHROMIUM, which is not a program" >&2
  exit 1
fi
for name in chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null 2>&1 && exit 0
done
if [ -d "${PLAYWRIGHT_BROWSERS_PATH:-$HOME/.cache/ms-playwright}" ]; then
  exit 0
fi
if [ "$(id -u)" = 0 ] && [ -f /etc/debian_version ]; then
  echo "no browser found: installing Debian's chromium"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends chromium >/dev/null
  exit 0
fi
cat >&2 <<'MESSAGE'
The tests need a Chromium. One of these makes one available:
  apt-get install chromium                     (Debian, Ubuntu)
  .venv/bin/python -m playwright install chromium
  export ONNXLET_CHROMIUM=/path/to/chrome      (any Chromium or Chrome you have)
MESSAGE
exit 1
