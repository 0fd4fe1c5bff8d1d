# ripeline_add_schedule(target NAME name FILE schedule [DEFINES k=v…])
#
# Proves the schedule and writes its arbiter when `target` is built: the target's sources may #include "name.h". Refuted or unknown
# fails the build with the diagnostic. FILE is a `.ripe` file, relative to the current source folder, or the name of a library schedule.
# This file is installed too: the program is Ripeline::ripeline, built here or imported.
function(ripeline_add_schedule target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME;FILE" "DEFINES")
  if(NOT arg_NAME OR NOT arg_FILE OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "ripeline_add_schedule(target NAME name FILE schedule [DEFINES k=v…]): "
      "NAME and FILE are needed; not understood: '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  set(depends Ripeline::ripeline)
  if(arg_FILE MATCHES "\\.ripe$")
    cmake_path(ABSOLUTE_PATH arg_FILE OUTPUT_VARIABLE file)
    list(APPEND depends "${file}")
  endif()
  set(defines "")
  foreach(define IN LISTS arg_DEFINES)
    list(APPEND defines -D "${define}")
  endforeach()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/generated/${target}")
  set(header "${folder}/${arg_NAME}.h")
  file(MAKE_DIRECTORY "${folder}")
  add_custom_command(
    OUTPUT "${header}"
    COMMAND Ripeline::ripeline generate "${arg_FILE}" ${defines} --name "${arg_NAME}" -o "${header}"
    DEPENDS ${depends}
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    COMMENT "Proving ${arg_FILE}, writing ${arg_NAME}.h"
    VERBATIM)
  target_sources(${target} PRIVATE "${header}")
  target_include_directories(${target} PRIVATE "${folder}")
endfunction()
