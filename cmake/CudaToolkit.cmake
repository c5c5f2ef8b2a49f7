# Finds nvcc and the toolkit's headers. Sets WARPSMITH_NVCC (empty: build the stubs),
# WARPSMITH_CUDA_INCLUDE and WARPSMITH_CUPTI. CMake's own CUDA language is not used: its detection
# fails on CMake 3.25 with C++20.
set(WARPSMITH_NVCC "")
if(WARPSMITH_CUDA STREQUAL "OFF")
  return()
endif()
find_program(WARPSMITH_NVCC_PROGRAM nvcc HINTS /usr/local/cuda/bin ENV CUDA_HOME PATH_SUFFIXES bin)
if(WARPSMITH_NVCC_PROGRAM)
  file(REAL_PATH "${WARPSMITH_NVCC_PROGRAM}" nvcc_path)
  get_filename_component(toolkit "${nvcc_path}/../.." ABSOLUTE)
  find_path(WARPSMITH_CUDA_INCLUDE cuda.h HINTS "${toolkit}/include" "${toolkit}/targets/x86_64-linux/include")
  find_path(WARPSMITH_CUPTI_INCLUDE cupti.h HINTS "${WARPSMITH_CUDA_INCLUDE}" "${toolkit}/extras/CUPTI/include")
  find_library(WARPSMITH_CUPTI cupti HINTS "${toolkit}/lib64" "${toolkit}/lib"
    "${toolkit}/extras/CUPTI/lib64" "${toolkit}/targets/x86_64-linux/lib")
endif()
# The sources read CUDA 13's kernel record of CUPTI; with an older toolkit the stubs are built.
set(cupti_fits "")
if(WARPSMITH_CUPTI_INCLUDE)
  file(STRINGS "${WARPSMITH_CUPTI_INCLUDE}/cupti_activity.h" cupti_fits REGEX "CUpti_ActivityKernel10;")
endif()
if(WARPSMITH_NVCC_PROGRAM AND WARPSMITH_CUDA_INCLUDE AND cupti_fits)
  set(WARPSMITH_NVCC "${WARPSMITH_NVCC_PROGRAM}")
elseif(WARPSMITH_CUDA STREQUAL "ON")
  message(FATAL_ERROR "WARPSMITH_CUDA=ON needs nvcc, cuda.h and cupti.h; found nvcc "
    "'${WARPSMITH_NVCC_PROGRAM}', cuda.h in '${WARPSMITH_CUDA_INCLUDE}', cupti.h in '${WARPSMITH_CUPTI_INCLUDE}'")
endif()
