# SPDX-License-Identifier: Apache-2.0
# Uses libraries from a folder of unpacked Debian packages and torch from the host's python3, for hosts
# without registries. Sourced.

# use_offline DIR: puts DIR in front of every search path. apt and pip are not used.
use_offline() {
  local dir
  dir=$(cd "$1" 2>/dev/null && pwd) || die "--offline: no folder $1" 2
  local host=x86_64-linux-gnu
  [ -d "$dir/usr/include" ] || die "--offline: $dir has no usr/include; make it with scripts/offline-bundle, then --unpack" 2
  local lib=$dir/usr/lib/$host:$dir/usr/lib:$dir/lib/$host
  export PATH=$dir/usr/bin:$PATH
  export CPLUS_INCLUDE_PATH=$dir/usr/include:$dir/usr/include/$host${CPLUS_INCLUDE_PATH:+:$CPLUS_INCLUDE_PATH}
  export LIBRARY_PATH=$lib${LIBRARY_PATH:+:$LIBRARY_PATH}
  export LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export CMAKE_PREFIX_PATH=$dir/usr${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}
  export PKG_CONFIG_PATH=$dir/usr/lib/$host/pkgconfig:$dir/usr/share/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
  export PKG_CONFIG_SYSROOT_DIR=$dir
  if [ -z "${WARPSMITH_PYTHON:-}" ]; then
    WARPSMITH_PYTHON=$(command -v python3) || die "--offline: no python3 on this host"
  fi
  export WARPSMITH_PYTHON
  "$WARPSMITH_PYTHON" -c 'import torch' 2>/dev/null ||
    die "--offline: $WARPSMITH_PYTHON has no torch; name one that has in WARPSMITH_PYTHON"
  offline=1
}
