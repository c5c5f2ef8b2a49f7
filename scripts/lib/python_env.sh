# SPDX-License-Identifier: Apache-2.0
# Creates and finds the pinned Python environment: one per lock file and user, shared by clones. Sourced.

lock_file=$root/scripts/requirements.lock
base_python=${WARPSMITH_BASE_PYTHON:-/usr/bin/python3}

# Its name contains the interpreter's version and the lock file's hash: a change of either creates a new environment.
python_folder() {
  local version hash
  version=$(basename "$(readlink -f "$base_python")")
  hash=$(sha256sum "$lock_file")
  echo "$cache/${version/python/python-}-${hash:0:16}"
}

# Builds under another name and renames at the end, so that no launch uses half an environment.
make_python() {
  local folder=$1 unfinished=$1.unfinished log=$cache/logs/python.log
  rm -rf "$unfinished"
  say "making the Python environment (torch and $(($(grep -c == "$lock_file") - 1)) more; about 3 min, 5 GB)"
  run_logged "$log" "$base_python" -m venv "$unfinished"
  run_logged "$log" "$unfinished/bin/python" -m pip install --no-deps --no-input \
    --disable-pip-version-check -r "$lock_file"
  # The scripts in bin/ name their interpreter by its path.
  grep -rlIZ -- "$unfinished" "$unfinished/bin" | xargs -0r sed -i "s|$unfinished|$folder|g"
  mv -T "$unfinished" "$folder"
}

# Finds torch without importing it, which would take seconds. The printed words prove that $1 is a Python interpreter.
has_torch() {
  local said
  said=$("$1" -c 'import importlib.util as u; print("torch", u.find_spec("torch") is not None)' 2>/dev/null) || return 1
  [ "$said" = "torch True" ]
}

# Sets WARPSMITH_PYTHON unless the caller did.
ensure_python() {
  if [ -n "${WARPSMITH_PYTHON:-}" ]; then
    [ -x "$WARPSMITH_PYTHON" ] || die "WARPSMITH_PYTHON=$WARPSMITH_PYTHON: no such program" 2
    has_torch "$WARPSMITH_PYTHON" || die "WARPSMITH_PYTHON=$WARPSMITH_PYTHON: expected a Python interpreter that has torch" 2
    export WARPSMITH_PYTHON
    return
  fi
  local folder
  folder=$(python_folder)
  if [ ! -d "$folder" ]; then
    take_lock "$cache/python.lock"
    [ -d "$folder" ] || make_python "$folder"
    release_lock
  fi
  export WARPSMITH_PYTHON=$folder/bin/python
}
