#!/usr/bin/env bash
# with_device.sh DEVICE COMMAND...: runs the command where the device is there; otherwise says why not, and exits with 77.
# With POLYHEAD_TEST_REQUIRE_DEVICES a missing device is a failure.  $POLYHEAD is the command, $CONFIGS the folder.
set -euo pipefail
device=$1
shift
status=0
reason=$("$POLYHEAD" check "$CONFIGS/five_words.yaml" -d "$device" 2>&1 >/dev/null) || status=$?
if [ "$status" -eq 3 ]; then
  printf 'SKIPPED: there is no device %s: %s\n' "$device" "$reason"
  [ -z "${POLYHEAD_TEST_REQUIRE_DEVICES-}" ] || { printf 'FAILED: POLYHEAD_TEST_REQUIRE_DEVICES is set\n'; exit 1; }
  exit 77
fi
exec "$@"
