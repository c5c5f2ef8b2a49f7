# Precompiles library headers that most sources of a folder parse. Our own headers stay out: changing
# one must not rebuild everything. CAF's and CLI11's stay out too: half of the actors' sources include
# none of them, and reading a larger precompiled header takes longer than parsing the rest.
# GCC's late warnings treat precompiled headers as our code. The false ones are known for GCC 12 only.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()
set(precompiled_standard
  <algorithm> <array> <chrono> <cmath> <cstdint> <filesystem> <fstream> <functional> <map> <memory>
  <optional> <set> <span> <stdexcept> <string> <string_view> <utility> <variant> <vector>)
set(precompiled_tests <gmock/gmock.h> <gtest/gtest.h>)
set(precompiled_tensors <ATen/TensorOperators.h> <ATen/core/Tensor.h> <ATen/core/grad_mode.h>)

# warpsmith_precompile(TARGET PART…): precompiles the standard headers and the named parts for TARGET.
function(warpsmith_precompile target)
  set(headers ${precompiled_standard})
  foreach(part ${ARGN})
    list(APPEND headers ${precompiled_${part}})
  endforeach()
  target_precompile_headers(${target} PRIVATE ${headers})
endfunction()

# warpsmith_read_plainly(TARGET SOURCE…): compiles these sources, which include little, without precompiled headers.
function(warpsmith_read_plainly target)
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# warpsmith_precompile_test(NAME LIBRARIES): the first test program of each kind makes the header that the others reuse.
function(warpsmith_precompile_test name libraries)
  set(parts tests)
  if(libraries MATCHES "warpsmith_policy")
    list(APPEND parts tensors)
  endif()
  list(JOIN parts _ kind)
  get_property(maker GLOBAL PROPERTY precompiled_for_${kind})
  if(maker)
    target_precompile_headers(${name} REUSE_FROM ${maker})
  else()
    warpsmith_precompile(${name} ${parts})
    set_property(GLOBAL PROPERTY precompiled_for_${kind} ${name})
  endif()
endfunction()
