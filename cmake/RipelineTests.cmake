# How this tree declares its test programs.
find_package(GTest REQUIRED)
include(GoogleTest)

# ripeline_test_program(target LABEL label [TIMEOUT seconds] SOURCES f… [LINK lib…] [ENVIRONMENT name=value] [FIRST cases THEN cases]
#                       [SHARDED cases SHARDS n SHARD_ENVIRONMENT name=value] [SUFFIX text])
#   A GoogleTest program whose cases become ctest tests. Its code knows where the sources and the built programs are. Each test has at
#   least five times the seconds that it takes on an idle machine, so that a busy one does not fail it: what would take more than a minute
#   is made of shards. Cases are given as a filter of GoogleTest.
#     FIRST, THEN  the latter use what the former leave behind, and run after all of them have passed
#     SUFFIX       of all their names, where another program has the same cases
#     SHARDED      each becomes n tests, which differ in what they draw and have an environment of their own
function(ripeline_test_program target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;TIMEOUT;SUFFIX;FIRST;THEN;SHARDED;SHARDS;ENVIRONMENT;SHARD_ENVIRONMENT" "SOURCES;LINK")
  if(NOT arg_SOURCES)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${target} ${arg_SOURCES})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE ${arg_LINK} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${target} PRIVATE RIPELINE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(TARGET ripeline)
    target_compile_definitions(${target} PRIVATE RIPELINE_PROGRAM="$<TARGET_FILE:ripeline>")
    add_dependencies(${target} ripeline)
  endif()
  if(TARGET ripeline-launch)
    target_compile_definitions(${target} PRIVATE RIPELINE_LAUNCH_PROGRAM="$<TARGET_FILE:ripeline-launch>")
    add_dependencies(${target} ripeline-launch)
  endif()
  ripeline_warnings(${target})
  ripeline_quick_to_compile(${target})
  set(rest ${arg_FIRST} ${arg_THEN} ${arg_SHARDED})
  list(JOIN rest ":" rest)
  set(properties LABELS "${arg_LABEL}" TIMEOUT ${arg_TIMEOUT})
  if(arg_SHARDED)
    foreach(shard RANGE 1 ${arg_SHARDS})
      ripeline_discover_tests(${target} "${arg_SHARDED}" "/shard_${shard}" ${properties} ENVIRONMENT "${arg_SHARD_ENVIRONMENT}")
    endforeach()
  endif()
  if(arg_ENVIRONMENT)
    list(APPEND properties ENVIRONMENT "${arg_ENVIRONMENT}")
  endif()
  if(arg_FIRST)
    ripeline_discover_tests(${target} "${arg_FIRST}" "" ${properties} FIXTURES_SETUP ${target}_first)
    ripeline_discover_tests(${target} "${arg_THEN}" "" ${properties} FIXTURES_REQUIRED ${target}_first)
  endif()
  ripeline_discover_tests(${target} "-${rest}" "${arg_SUFFIX}" ${properties})
endfunction()

# ripeline_discover_tests(target filter suffix property value …)
function(ripeline_discover_tests target filter suffix)
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 TEST_FILTER "${filter}" TEST_SUFFIX "${suffix}"
                       PROPERTIES ${ARGN})
endfunction()
