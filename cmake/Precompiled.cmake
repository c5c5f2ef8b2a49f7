# Headers of others that most sources of a folder parse, parsed once. Ours stay out: who changes one
# rebuilds what includes it, not everything.
set(precompiled_standard
  <algorithm> <array> <chrono> <cmath> <cstdint> <filesystem> <fstream> <functional> <map> <memory>
  <optional> <set> <span> <stdexcept> <string> <string_view> <utility> <variant> <vector>)
set(precompiled_tests <gmock/gmock.h> <gtest/gtest.h>)
set(precompiled_tensors <ATen/TensorOperators.h> <ATen/core/Tensor.h> <ATen/core/grad_mode.h>)
set(precompiled_actors
  <caf/actor_system.hpp> <caf/actor_system_config.hpp> <caf/event_based_actor.hpp> <caf/scoped_actor.hpp>
  <caf/stateful_actor.hpp> <caf/typed_actor.hpp> <caf/typed_event_based_actor.hpp>
  <caf/typed_response_promise.hpp>)
set(precompiled_commands <CLI/CLI.hpp>)

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

# Nothing waits for it: half as long to compile as with -O2.
function(warpsmith_optimise_little target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
endfunction()

# warpsmith_precompile_test(NAME LIBRARIES): the first program of each kind makes what the others read.
function(warpsmith_precompile_test name libraries)
  set(parts tests)
  if(libraries MATCHES "warpsmith_(actors|commands)")
    list(APPEND parts actors)
  elseif(libraries MATCHES "warpsmith_policy")
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
