# SPDX-License-Identifier: Apache-2.0
# `./warpsmith test`: what CI runs, or a part of it. Sourced.

test_help() {
  cat <<'HELP'
Usage: ./warpsmith test [OPTIONS]
Without options: checks, build and all tests, then the unit tests without tensors under the sanitizers.

  --quick        only build and the unit tests
  --asan         only the sanitizer part
  --all          checks on every file, not only on the changed ones
  --no-checks    skip format, includes, headers and tidy
  -R REGEX       only tests whose name matches
HELP
}

results=()

# run_ctest PRESET NAME ARGUMENTS…: adds the file of results to `results`; fails if a test does.
run_ctest() {
  local preset=$1 name=$2 file=$root/build/results-$2.xml started=$SECONDS failed=
  shift 2
  rm -f "$file"
  # Keeps the whole output: it contains the reasons of skipped cases and the times of a program's cases.
  (cd "$root" && ctest --preset "$preset" --test-output-size-passed 1000000 --output-junit "$file" "$@") || failed=1
  note_time "tests: $name" "$started"
  # A filter may leave nothing to run; then there is no file.
  [ -z "$failed$(ls "$file" 2>/dev/null)" ] || results+=("$file")
  [ -z "$failed" ]
}

# Unit tests share the machine, and so do long ones that time nothing (label untimed). The others start jails and
# systems; those of them that time things (label slow) run one at a time. Many of both wait for processes, so one more
# runs than there are cores.
run_dev() {
  local good=0 filter=("$@")
  ensure_built all all
  run_ctest "$preset" unit -L unit -j "$jobs" "${filter[@]}" || good=1
  [ -n "$quick" ] || run_ctest "$preset" untimed -L untimed -j "$((jobs + 1))" "${filter[@]}" || good=1
  [ -n "$quick" ] || run_ctest "$preset" rest -LE 'unit|untimed' -j "$((jobs + 1))" "${filter[@]}" || good=1
  return $good
}

# CAF and LibTorch are not built for sanitizers, so this part has neither. It also skips the tests that
# start the jailed runner (labels jailed and slow): its filter refuses the sanitizers' system calls.
run_asan() {
  local preset=asan build=$root/build/asan
  ensure_built unit unit_tests
  ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1 \
    UBSAN_OPTIONS=print_stacktrace=1 \
    run_ctest asan asan -L unit -j "$jobs" "$@"
}

# Repeats the findings of failed checks, which are far above by now.
repeat_findings() {
  local log
  for log in "$root"/build/check-*.failed; do
    [ ! -s "$log" ] || { say "findings: $(basename "$log" .failed)"; tail -n 60 "$log"; }
  done
}

run_tests() {
  local quick= parts="checks dev asan" all=() filter=() bad=
  while [ $# -gt 0 ]; do
    case $1 in
      --quick) quick=1 parts=dev ;;
      --asan) parts=asan ;;
      --all) all=(--all) ;;
      --no-checks) parts=${parts/checks/} ;;
      -R)
        [ -n "${2:-}" ] || die "-R takes a regular expression" 2
        filter=(--no-tests=ignore -R "$2")
        shift
        ;;
      -h | --help) test_help; return ;;
      *) die "unknown option of test: $1 (see ./warpsmith test --help)" 2 ;;
    esac
    shift
  done
  local started=$SECONDS
  export WARPSMITH_TIMES=$root/build/times.txt
  mkdir -p "$root/build"
  : >"$WARPSMITH_TIMES"
  prepare
  note_time "set-up" "$started"
  export WARPSMITH_HOME=$root
  if [ -n "$offline" ]; then
    say "offline: the checks need tools of the pinned environment, and are left out"
    parts=${parts/checks/}
  fi
  for part in $parts; do
    case $part in
      checks) ensure_built all all; "$root/scripts/check" "${all[@]}" || bad+=" checks" ;;
      dev) run_dev "${filter[@]}" || bad+=" tests" ;;
      asan) run_asan "${filter[@]}" || bad+=" sanitizers" ;;
    esac
  done
  note_time "all" "$started"
  python3 "$root/scripts/lib/test_summary.py" "$WARPSMITH_TIMES" "${results[@]}" || bad+=" summary"
  [ -z "$bad" ] || { repeat_findings; say "failed above:$bad"; exit 1; }
}
