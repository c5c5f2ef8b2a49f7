# SPDX-License-Identifier: Apache-2.0
# Finds and installs missing Debian packages. Sourced.

wanted_packages() { sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$root/scripts/debian-packages.txt"; }

missing_packages() {
  comm -23 <(wanted_packages | sort) \
    <(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' | awk '$1 == "ii" { print $2 }' | sort -u)
}

# Prints the prefix that grants root rights: none for root, else sudo. Fails if sudo needs a password.
privilege() {
  if [ "$(id -u)" = 0 ]; then return; fi
  if sudo -n true 2>/dev/null; then
    echo sudo -n
    return
  fi
  return 1
}

install_packages() {
  local prefix log=$cache/logs/apt.log
  local line="apt-get install -y --no-install-recommends $*"
  if ! prefix=$(privilege); then
    die "Debian packages are missing, and this user may not install them. As root, run:
  $line"
  fi
  say "installing $# Debian packages (about 20 s): $*"
  local apt="$prefix env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -qq"
  run_logged "$log" $apt update
  run_logged "$log" $apt install -y --no-install-recommends "$@"
}

# Writes a mark in build/, so that the next launch skips dpkg.
ensure_packages() {
  local mark=$root/build/.packages
  [ "$mark" -nt "$root/scripts/debian-packages.txt" ] && return
  if ! command -v dpkg-query >/dev/null; then
    say "no dpkg here: install the equivalents of $root/scripts/debian-packages.txt yourself"
  else
    local missing
    missing=$(missing_packages)
    if [ -n "$missing" ]; then
      take_lock "$cache/packages.lock"
      # Another launch may have installed them while this one waited for the lock.
      missing=$(missing_packages)
      [ -z "$missing" ] || install_packages $missing
      release_lock
    fi
  fi
  mkdir -p "$root/build"
  touch "$mark"
}
