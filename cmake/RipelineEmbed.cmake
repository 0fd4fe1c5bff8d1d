# Text files as C++: ripeline_embed(target OUTPUT name.inc FILES f…)
#   The target's sources may then write  constexpr Entry kEntries[] = {
#                                        #include "name.inc"
#                                        };  where each file is one {"name without suffix", "its text"}, in the order given.
function(ripeline_embed target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OUTPUT" "FILES")
  set(output "${CMAKE_CURRENT_BINARY_DIR}/embedded/${arg_OUTPUT}")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" -D "OUTPUT=${output}" -D "FILES=${arg_FILES}" -P "${PROJECT_SOURCE_DIR}/cmake/embed.cmake"
    DEPENDS ${arg_FILES} "${PROJECT_SOURCE_DIR}/cmake/embed.cmake"
    COMMENT "Embedding ${arg_OUTPUT}"
    VERBATIM)
  target_sources(${target} PRIVATE "${output}")
  target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/embedded")
endfunction()
