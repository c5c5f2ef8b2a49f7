# Warnings, sanitizers, linker and compiler cache. Every target of ours links warpsmith_options.
add_library(warpsmith_options INTERFACE)
target_compile_options(warpsmith_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
    # Records are made by designated initialisers that leave out members with defaults.
    -Wno-missing-field-initializers
    # GCC reports overruns in fmt 9 and libstdc++ that do not exist; GCC 12 does so once they are precompiled.
    -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread>)
target_include_directories(warpsmith_options INTERFACE "${PROJECT_SOURCE_DIR}")

# Asserts stay on in every build but Release.
string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
string(REPLACE "-g" "-g1" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")

if(WARPSMITH_SANITIZE)
  # Compiling takes longer than the tests. Under sanitizers GCC reports uses of uninitialised values that
  # do not exist; the build without sanitizers treats every warning in the same files as an error.
  string(REPLACE "-O2" "-O0" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
  target_compile_options(warpsmith_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${WARPSMITH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
      -Wno-error>)
  target_link_options(warpsmith_options INTERFACE -fsanitize=${WARPSMITH_SANITIZE})
endif()

# For code whose speed does not matter: compiles in a third less time than with -O2.
function(warpsmith_optimise_little target)
  if(NOT WARPSMITH_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  endif()
endfunction()

# Sources of a target are compiled eight at a time, since their headers take most of the time. Off: each alone, for
# work on a few files, and where parts are left out: other sources would come together then, whose local names may
# be the same.
include(CudaToolkit)
include(FlashInfer)
set(all_parts OFF)
if(WARPSMITH_NVCC AND WARPSMITH_FLASHINFER AND WARPSMITH_TENSORS)
  set(all_parts ON)
endif()
option(WARPSMITH_UNITY "Compile several sources of a target at a time" ${all_parts})
if(WARPSMITH_UNITY)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)
  # GCC takes members whose types are of a source's anonymous namespace for those of a header. A local name may be
  # that of another source's constant.
  target_compile_options(warpsmith_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage -Wno-shadow -Wshadow=local>)
endif()

# warpsmith_compile_alone(TARGET SOURCE…): for sources whose local names others of the target have too.
function(warpsmith_compile_alone target)
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

find_program(CCACHE ccache)
if(CCACHE)
  # Paths relative to the checkout let clones and worktrees share one cache. Without this sloppiness ccache
  # stores nothing that uses precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros "${CCACHE}")
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()
