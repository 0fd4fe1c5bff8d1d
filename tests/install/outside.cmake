# cmake -P outside.cmake: configures and builds the project SOURCE in the empty folder BINARY with OPTIONS, then runs its PROGRAM with
# ARGUMENTS, as RANKS ranks under the launcher in PREFIX if RANKS is not empty. Any failure ends the script.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${BINARY}")
run("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BINARY}" -G "${GENERATOR}" ${OPTIONS})
run("${CMAKE_COMMAND}" --build "${BINARY}")
if(RANKS)
  run("${PREFIX}/bin/ripeline-launch" -n ${RANKS} -- "${BINARY}/${PROGRAM}" ${ARGUMENTS})
else()
  run("${BINARY}/${PROGRAM}" ${ARGUMENTS})
endif()
