# Targets that need the CUDA toolkit: sources that include its headers, and device code embedded in programs.
include(CudaToolkit)

# An interface target, so that only libraries that link it see the toolkit's headers.
if(WARPSMITH_NVCC AND NOT TARGET warpsmith_toolkit)
  add_library(warpsmith_toolkit INTERFACE)
  target_include_directories(warpsmith_toolkit SYSTEM INTERFACE
    "${WARPSMITH_CUDA_INCLUDE}" "${WARPSMITH_CUPTI_INCLUDE}")
endif()

# warpsmith_device_code(TARGET NAME SOURCE.cu): compiles SOURCE to a fat binary and embeds it in TARGET as NAME_image.
# It holds sm_90 code for the machines that we measure on, and PTX of the oldest supported generation for others.
function(warpsmith_device_code target name source)
  set(image "${CMAKE_CURRENT_BINARY_DIR}/${name}_image")
  add_custom_command(OUTPUT "${image}.cpp"
    COMMAND "${WARPSMITH_NVCC}" -std=c++20 -fatbin --fmad=false -I "${PROJECT_SOURCE_DIR}"
      -gencode arch=compute_80,code=compute_80 -gencode arch=compute_90,code=sm_90
      -MD -MF "${image}.d" -MT "${image}.cpp"
      -o "${image}.fatbin" "${CMAKE_CURRENT_SOURCE_DIR}/${source}"
    COMMAND "${CMAKE_COMMAND}" -DINPUT=${image}.fatbin -DOUTPUT=${image}.cpp -DNAME=${name}_image
      -P "${PROJECT_SOURCE_DIR}/cmake/EmbedImage.cmake"
    DEPENDS "${source}" "${PROJECT_SOURCE_DIR}/cmake/EmbedImage.cmake"
    DEPFILE "${image}.d" COMMENT "nvcc ${source}" VERBATIM)
  target_sources(${target} PRIVATE "${image}.cpp")
endfunction()

# warpsmith_device_objects(TARGET FOLDERS folder… SOURCES SOURCE.cu…): compiles sources that hold kernels and the host
# code that launches them, for the machines named above, and adds the objects to TARGET. The folders are searched first.
# TARGET may be of another folder, which custom commands alone do not allow; hence the target in between.
function(warpsmith_device_objects target)
  cmake_parse_arguments(ARG "" "" "FOLDERS;SOURCES" ${ARGN})
  list(TRANSFORM ARG_FOLDERS PREPEND "-isystem;" OUTPUT_VARIABLE folders)
  foreach(source ${ARG_SOURCES})
    set(object "${CMAKE_CURRENT_BINARY_DIR}/${source}.o")
    add_custom_command(OUTPUT "${object}"
      COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} "${WARPSMITH_NVCC}" -std=c++20 -O3 -Xcompiler -fPIC
        -gencode arch=compute_80,code=compute_80 -gencode arch=compute_90,code=sm_90
        -I "${PROJECT_SOURCE_DIR}" ${folders} -MD -MF "${object}.d" -MT "${object}"
        -c -o "${object}" "${CMAKE_CURRENT_SOURCE_DIR}/${source}"
      DEPENDS "${source}" DEPFILE "${object}.d" COMMENT "nvcc ${source}" VERBATIM)
    list(APPEND objects "${object}")
  endforeach()
  add_custom_target(${target}_device_objects DEPENDS ${objects})
  add_dependencies(${target} ${target}_device_objects)
  set_source_files_properties(${objects} TARGET_DIRECTORY ${target} PROPERTIES GENERATED ON EXTERNAL_OBJECT ON)
  target_sources(${target} PRIVATE ${objects})
endfunction()
