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
