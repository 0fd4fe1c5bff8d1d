# ripeline_add_schedule(target NAME name FILE schedule [DEFINES k=v…] [DISPATCH "ready by hint"] [UNPROVED] [VALIDATE])
#
# Proves the schedule and writes its arbiter when `target` is built: the target's sources may #include "name.h". Refuted or unknown
# fails the build with the diagnostic; UNPROVED writes it without asking, and the file, the log and the trace say so. FILE is a `.ripe`
# file or a schedule of PyTorch (`.csv`), relative to the current source folder, or the name of a library schedule. DISPATCH takes the
# place of the one written. A target that links Ripeline::torch trains: what LibTorch stages would refuse at the first step fails the
# build, too (`ripeline generate --for torch`).
#
# VALIDATE compares what was written with the schedule, each time that it is written: a program made of the header (target_name_probe)
# tells its tables, its guards as formulas, which are proved equal to the schedule's for all values, and its orders and priorities for
# small numbers of microbatches. A difference fails the build. It costs a compilation and up to a few seconds.
#
# This file is installed too: the program is Ripeline::ripeline, built here or imported.
function(ripeline_add_schedule target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "UNPROVED;VALIDATE" "NAME;FILE;DISPATCH" "DEFINES")
  if(NOT arg_NAME OR NOT arg_FILE OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "ripeline_add_schedule(target NAME name FILE schedule [DEFINES k=v…] [DISPATCH dispatch] [UNPROVED] [VALIDATE]): "
      "NAME and FILE are needed; not understood: '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  set(depends Ripeline::ripeline)
  if(arg_FILE MATCHES "\\.(ripe|csv|CSV)$")
    cmake_path(ABSOLUTE_PATH arg_FILE OUTPUT_VARIABLE file)
    list(APPEND depends "${file}")
  endif()
  set(defines "")
  foreach(define IN LISTS arg_DEFINES)
    list(APPEND defines -D "${define}")
  endforeach()
  if(arg_DISPATCH)
    list(APPEND defines --dispatch "${arg_DISPATCH}")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/generated/${target}")
  set(header "${folder}/${arg_NAME}.h")
  set(written "${header}")
  set(options --name "${arg_NAME}" -o "${header}")
  set(does "Proving")
  if(arg_UNPROVED)
    list(APPEND options --unproved)
    set(does "Not proving")
  endif()
  set(probe "${target}_${arg_NAME}_probe")
  if(arg_VALIDATE)
    list(APPEND written "${folder}/${probe}.cpp")
    list(APPEND options --probe "${folder}/${probe}.cpp")
  endif()
  # Known when all of the project has been read, since it may link the library after this.
  set(trains "$<IN_LIST:Ripeline::torch,$<TARGET_PROPERTY:${target},LINK_LIBRARIES>>")
  file(MAKE_DIRECTORY "${folder}")
  add_custom_command(
    OUTPUT ${written}
    COMMAND Ripeline::ripeline generate "${arg_FILE}" ${defines} ${options} "$<${trains}:--for=torch>"
    COMMAND_EXPAND_LISTS
    DEPENDS ${depends}
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    COMMENT "${does} ${arg_FILE}, writing ${arg_NAME}.h"
    VERBATIM)
  target_sources(${target} PRIVATE "${header}")
  target_include_directories(${target} PRIVATE "${folder}")
  if(arg_VALIDATE)
    add_executable(${probe} EXCLUDE_FROM_ALL ${written})
    target_link_libraries(${probe} PRIVATE Ripeline::probe)
    target_include_directories(${probe} PRIVATE "${folder}")
    set(stamp "${folder}/${arg_NAME}.validated")
    add_custom_command(
      OUTPUT "${stamp}"
      COMMAND Ripeline::ripeline validate "${arg_FILE}" ${defines} --probe "$<TARGET_FILE:${probe}>"
      COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
      DEPENDS ${depends} ${probe}
      WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
      COMMENT "Validating ${arg_NAME}.h"
      VERBATIM)
    target_sources(${target} PRIVATE "${stamp}")
  endif()
endfunction()
