# SPDX-License-Identifier: Apache-2.0
# Folders, messages and locks for the launcher and the scripts. Sourced, never run.

root=${root:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
export HOME=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/warpsmith
preset=${WARPSMITH_PRESET:-dev}
build=$root/build/$preset
jobs=${WARPSMITH_JOBS:-$(nproc)}

say() { printf '==> %s\n' "$*" >&2; }

# note_time NAME START: records how long a part of `./warpsmith test` took; START is SECONDS at its start
note_time() { [ -z "${WARPSMITH_TIMES:-}" ] || echo "$((SECONDS - $2)) $1" >>"$WARPSMITH_TIMES"; }

# die MESSAGE [EXIT CODE]: 2 bad input, 3 infrastructure (the default)
die() {
  printf 'warpsmith: %s\n' "$1" >&2
  exit "${2:-3}"
}

# The preset names a folder of build/, so only known ones are accepted.
check_preset() {
  case $preset in
    dev | asan | release) ;;
    *) die "WARPSMITH_PRESET=$preset: expected dev, asan or release" 2 ;;
  esac
}

check_jobs() {
  [[ $jobs =~ ^[1-9][0-9]{0,3}$ ]] || die "WARPSMITH_JOBS=$jobs: expected a number from 1 to 9999" 2
}

# print_usage FILE: prints the comment at the top of FILE
print_usage() { sed -n '3,${/^#/!q;s/^# //p}' "$1"; }

# take_lock FILE: takes the lock on descriptor 9; says so if it must wait.
take_lock() {
  mkdir -p "$(dirname "$1")"
  exec 9>"$1"
  flock -n 9 && return
  say "another launch is running; waiting for it"
  flock -w 3600 9 || die "waited an hour for $1: is a launch stuck?"
}

release_lock() { exec 9>&-; }

# run_logged LOG COMMAND…: prints nothing if COMMAND succeeds, else the end of its output
run_logged() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  if ! "$@" >"$log" 2>&1 9>&-; then
    tail -n 40 "$log" >&2
    die "failed: $* (whole output: $log)"
  fi
}
