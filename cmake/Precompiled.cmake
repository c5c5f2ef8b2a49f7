# Headers of others that most sources of a folder parse, parsed once. Ours stay out: who changes one
# rebuilds what includes it, not everything. So do CAF's and CLI11's: half of the actors' sources see
# none of them, and reading what is precompiled takes longer than parsing the rest.
# GCC's late warnings take what is precompiled for ours. Which of them err was seen with GCC 12 alone.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()
set(precompiled_standard
  <algorithm> <array> <chrono> <cmath> <cstdint> <filesystem> <fstream> <functional> <map> <memory>
  <optional> <set> <span> <stdexcept> <string> <string_view> <utility> <variant> <vector>)
set(precompiled_tests <gmock/gmock.h> <gtest/gtest.h>)
set(precompiled_tensors <ATen/TensorOperators.h> <ATen/core/Tensor.h> <ATen/core/grad_mode.h>)

# warpsmith_precompile(TARGET PART…): the parts named above.
function(warpsmith_precompile target)
  set(headers ${precompiled_standard})
  foreach(part ${ARGN})
    list(APPEND headers ${precompiled_${part}})
  endforeach()
  target_precompile_headers(${target} PRIVATE ${headers})
endfunction()

# warpsmith_read_plainly(TARGET SOURCE…): sources that parse less than what is precompiled for TARGET.
function(warpsmith_read_plainly target)
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# warpsmith_precompile_test(NAME LIBRARIES): the first program of each kind makes what the others read.
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
