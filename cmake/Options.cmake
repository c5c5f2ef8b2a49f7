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
      # Checks before every access, which double the time of compiling. AddressSanitizer reports null
      # pointers too, and bytes from outside are copied, not cast.
      -fno-sanitize=null,alignment -Wno-error>)
  target_link_options(warpsmith_options INTERFACE -fsanitize=${WARPSMITH_SANITIZE})
endif()

# For code whose speed does not matter. LEVEL 1 compiles in a third less time than 2, and 0 in half of it.
function(warpsmith_optimise target level)
  if(NOT WARPSMITH_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O${level}>)
  endif()
endfunction()

# A folder's sources of one target are compiled together, since their headers take most of the time. Their local
# names must differ. OFF compiles each alone, for work on a few files.
option(WARPSMITH_UNITY "Compile the sources of a folder together" ON)
if(WARPSMITH_UNITY)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_MODE GROUP)
  # GCC takes members whose types are of a source's anonymous namespace for those of a header. A local name may be
  # that of another source's constant.
  target_compile_options(warpsmith_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage -Wno-shadow -Wshadow=local>)
endif()

# warpsmith_compile_alone(TARGET SOURCE…): for sources whose local names others of the folder have too.
function(warpsmith_compile_alone target)
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# warpsmith_batches(TARGET N): the target's folders are compiled in about N batches, for folders of few sources. A
# folder's name decides its batch, so that a new source moves no other.
function(warpsmith_batches target n)
  set_target_properties(${target} PROPERTIES WARPSMITH_BATCHES ${n})
endfunction()

function(warpsmith_batch_of folder batches out)
  string(MAKE_C_IDENTIFIER "${folder}" name)
  if(batches)
    string(MD5 digest "${folder}")
    string(SUBSTRING "${digest}" 18 6 digits)
    math(EXPR name "0x${digits} % ${batches}")
  endif()
  set(${out} "${name}" PARENT_SCOPE)
endfunction()

# Groups the sources of every target below `folder`; called once all targets exist.
function(warpsmith_group_by_folder folder)
  get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(sources ${target} SOURCES)
    get_target_property(home ${target} SOURCE_DIR)
    get_property(batches TARGET ${target} PROPERTY WARPSMITH_BATCHES)
    foreach(source IN LISTS sources)
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${home}")
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE path)
      cmake_path(GET path PARENT_PATH path)
      warpsmith_batch_of("${path}" "${batches}" batch)
      set_source_files_properties("${source}" TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP "${batch}")
    endforeach()
  endforeach()
  get_property(subfolders DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(subfolder IN LISTS subfolders)
    warpsmith_group_by_folder("${subfolder}")
  endforeach()
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
