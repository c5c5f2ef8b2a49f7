# Script that writes the bytes of INPUT into OUTPUT as the array NAME of namespace warpsmith::cuda.
file(READ "${INPUT}" bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE "${OUTPUT}" "namespace warpsmith::cuda {\nextern const unsigned char ${NAME}[];\n"
  "alignas(16) const unsigned char ${NAME}[] = {${bytes}};\n}\n")
