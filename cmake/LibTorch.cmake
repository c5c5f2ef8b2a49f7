# Defines warpsmith_torch, an interface target for LibTorch from the Python environment's wheel.
# find_package(Torch) would run CMake's CUDA detection, which fails on CMake 3.25 with C++20.
if(NOT WARPSMITH_PYTHON)
  message(FATAL_ERROR "WARPSMITH_PYTHON is not set: use ./warpsmith, or pass an interpreter that has torch")
endif()
execute_process(COMMAND "${WARPSMITH_PYTHON}" -c
  "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
  OUTPUT_VARIABLE torch_dir OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(NOT torch_dir OR NOT EXISTS "${torch_dir}/include")
  message(FATAL_ERROR "WARPSMITH_PYTHON=${WARPSMITH_PYTHON} has no torch")
endif()
add_library(warpsmith_torch INTERFACE)
# LibTorch's headers hold another fmt; -idirafter lets Debian's win.
target_compile_options(warpsmith_torch INTERFACE
  "SHELL:-idirafter ${torch_dir}/include" "SHELL:-idirafter ${torch_dir}/include/torch/csrc/api/include")
# Lets LibTorch's headers include single operators instead of all.
target_compile_definitions(warpsmith_torch INTERFACE AT_PER_OPERATOR_HEADERS)
set(WARPSMITH_TORCH_DIR "${torch_dir}")
target_link_directories(warpsmith_torch INTERFACE "${torch_dir}/lib")
file(GLOB nvidia_lib "${torch_dir}/../nvidia/cu13/lib")
target_link_options(warpsmith_torch INTERFACE "-Wl,-rpath,${torch_dir}/lib")
if(nvidia_lib)
  target_link_options(warpsmith_torch INTERFACE "-Wl,-rpath-link,${nvidia_lib}")
endif()
# The CUDA back end registers itself when it is loaded. No symbol of it is used, so it needs --no-as-needed.
set(torch_libs torch torch_cpu c10)
set(WARPSMITH_TORCH_CUDA OFF)
if(EXISTS "${torch_dir}/lib/libtorch_cuda.so")
  list(APPEND torch_libs torch_cuda c10_cuda)
  set(WARPSMITH_TORCH_CUDA ON)
endif()
list(TRANSFORM torch_libs PREPEND "-l")
list(JOIN torch_libs "," torch_libs_joined)
# libstdc++ comes first: libtorch.so exports an old, incomplete std::filesystem whose remove_all crashes.
target_link_libraries(warpsmith_torch INTERFACE "-Wl,--no-as-needed,-lstdc++,--as-needed")
target_link_libraries(warpsmith_torch INTERFACE "-Wl,--no-as-needed,${torch_libs_joined},--as-needed")
