# Script: writes the bytes of INPUT as the array of runtime/cuda/canary_image.hpp into OUTPUT.
file(READ "${INPUT}" bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE "${OUTPUT}" "#include \"runtime/cuda/canary_image.hpp\"\n"
  "namespace warpsmith::cuda {\nalignas(16) const unsigned char canary_image[] = {${bytes}};\n}\n")
