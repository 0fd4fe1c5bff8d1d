# How this tree declares its libraries and programs.

# The warnings that our own code must be clean of.
function(ripeline_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
  # g++ 12 takes "text" + std::string for an overlapping copy at -O2 and above (GCC bug 105651).
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
  # In batches of sources each source is to the compiler a header, whose types may not have parts of an anonymous namespace.
  target_compile_options(${target} PRIVATE $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:$<TARGET_PROPERTY:${target},UNITY_BUILD>>>:-Wno-subobject-linkage>)
endfunction()

# Compiles the target's own sources with few optimisations, which takes 0.6 of the time. The libraries that it links are optimised as usual, but for the
# inline functions that the target has compiled too, of which the linker takes the target's. `ripeline verify` took the same time either way.
function(ripeline_quick_to_compile target)
  target_compile_options(${target} PRIVATE $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Og>)
endfunction()

# ripeline_library(name SOURCES f… HEADERS f… [PUBLIC lib…] [PRIVATE lib…])
#   The static library ripeline_<name>, also called Ripeline::<name>. Headers are included from the tree's root ("core/arbiter.h").
#   A private library serves to compile and to link this tree only: static libraries that are installed must not need it.
function(ripeline_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS;PUBLIC;PRIVATE")
  set(target ripeline_${name})
  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    set(scope PUBLIC)
    foreach(private IN LISTS arg_PRIVATE)
      target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:${private}>)
    endforeach()
    ripeline_warnings(${target})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(Ripeline::${name} ALIAS ${target})
  target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES ${arg_HEADERS})
  target_compile_features(${target} ${scope} cxx_std_20)
  target_link_libraries(${target} ${scope} ${arg_PUBLIC})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
endfunction()
