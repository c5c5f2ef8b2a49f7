# warpsmith_embed_text(TARGET NAMESPACE FUNCTION FOLDER NAME…): embeds the files FOLDER/NAME.in in TARGET, so that it
# reads none at run time. The user declares NAMESPACE::FUNCTION(), a std::span of pairs of string views: NAME and text.
# As a script, this file writes the source of that function.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(WARPSMITH_EMBED_TEXT "${CMAKE_CURRENT_LIST_FILE}")
  function(warpsmith_embed_text target namespace function folder)
    set(output "${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp")
    list(TRANSFORM ARGN REPLACE "(.+)" "${folder}/\\1.in" OUTPUT_VARIABLE files)
    add_custom_command(OUTPUT "${output}"
      COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DNAMESPACE=${namespace}" "-DFUNCTION=${function}"
        "-DFOLDER=${CMAKE_CURRENT_SOURCE_DIR}/${folder}" "-DNAMES=${ARGN}" -P "${WARPSMITH_EMBED_TEXT}"
      DEPENDS ${files} "${WARPSMITH_EMBED_TEXT}" VERBATIM)
    target_sources(${target} PRIVATE "${output}")
  endfunction()
  return()
endif()

set(table "")
foreach(name IN LISTS NAMES)
  file(READ "${FOLDER}/${name}.in" text)
  string(APPEND table "    {\"${name}\", R\"EMBEDDED_TEXT(${text})EMBEDDED_TEXT\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "#include <span>
#include <string_view>
#include <utility>

namespace ${NAMESPACE} {

using File = std::pair<std::string_view, std::string_view>;
std::span<const File> ${FUNCTION}();
std::span<const File> ${FUNCTION}() {
  static constexpr File files[] = {
${table}  };
  return files;
}

}  // namespace ${NAMESPACE}
")
