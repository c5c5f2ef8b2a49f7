# SPDX-License-Identifier: Apache-2.0
# Configuring and building, skipped when nothing changed. Sourced.

# changed_since MARK: true if a source is newer than MARK. Folders count: a removed file changes its folder.
changed_since() {
  [ -e "$1" ] || return 0
  local roots=(CMakeLists.txt CMakePresets.json cmake runtime policy sandbox synthesis actors commands tests)
  [ -n "$(cd "$root" && find "${roots[@]}" -newer "$1" -print -quit)" ]
}

needs_configure() {
  local made=$build/CMakeCache.txt
  [ -e "$build/build.ninja" ] || return 0
  # The interpreter decides which LibTorch is linked.
  ! grep -qxF "WARPSMITH_PYTHON:FILEPATH=${WARPSMITH_PYTHON:-}" "$made"
}

configure() {
  needs_configure || return 0
  local started=$SECONDS
  say "configuring build/$preset"
  mkdir -p "$build"
  # If configuring fails, the next launch must not use the old build.ninja, which is for another interpreter.
  rm -f "$build/build.ninja"
  (cd "$root" && run_logged "$build.configure.log" \
    cmake --preset "$preset" "-DWARPSMITH_PYTHON=${WARPSMITH_PYTHON:-}")
  note_time "configure $preset" "$started"
}

# Shows ninja's progress on a terminal, and always the output of failed commands.
compile() {
  say "building build/$preset ($*) with $jobs jobs; the first time takes minutes"
  local quiet=() started=$SECONDS
  [ -t 2 ] || quiet=(--quiet)
  (cd "$root" && ninja -C "$build" -j "$jobs" "${quiet[@]}" "$@" >&2 9>&-) || die "the build failed" 3
  note_time "build $preset" "$started"
}

is_built() { ! needs_configure && ! changed_since "$1"; }

# ensure_built MARK TARGET…: MARK gets the time at which the sources were checked.
ensure_built() {
  local mark=$build/.built-$1
  shift
  ! is_built "$mark" || return 0
  mkdir -p "$build"
  take_lock "$build.lock"
  # Another launch may have built it while this one waited for the lock.
  if ! is_built "$mark"; then
    touch "$build/.looking"
    configure
    compile "$@"
    touch -r "$build/.looking" "$mark"
    # Building everything includes the program.
    [ "$mark" != "$build/.built-all" ] || touch -r "$build/.looking" "$build/.built-program"
  fi
  release_lock
}
