# Warnings, sanitizers, linker and compiler cache: one interface target that every target of ours links.
add_library(warpsmith_options INTERFACE)
target_compile_options(warpsmith_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
    # Designated initialisers of records whose other members have defaults are how records are made here.
    -Wno-missing-field-initializers
    # GCC sees overruns in fmt 9 and libstdc++ that are not there: 12 once they are precompiled.
    -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread>)
target_include_directories(warpsmith_options INTERFACE "${PROJECT_SOURCE_DIR}")

# Asserts stay on in every build but Release.
string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
string(REPLACE "-g" "-g1" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")

if(WARPSMITH_SANITIZE)
  # -O2 takes two thirds more time to compile. Sanitizers make GCC see uses of uninitialised values
  # that are not there; the build without them compiles the same files with every warning an error.
  string(REPLACE "-O2" "-O1" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
  target_compile_options(warpsmith_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${WARPSMITH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
      -Wno-error>)
  target_link_options(warpsmith_options INTERFACE -fsanitize=${WARPSMITH_SANITIZE})
endif()

# Where nothing waits for the code: a third less to compile than with -O2.
function(warpsmith_optimise_little target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
endfunction()

find_program(CCACHE ccache)
if(CCACHE)
  # Paths relative to the checkout: clones and worktrees share one cache. Without the sloppiness nothing
  # that reads precompiled headers is cached.
  set(CMAKE_CXX_COMPILER_LAUNCHER env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros "${CCACHE}")
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()
