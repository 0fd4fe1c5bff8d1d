# Build-wide settings. All but the standard apply only when Ripeline is the top-level project: a parent decides for itself.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
  endif()
  if(NOT DEFINED CMAKE_COMPILE_WARNING_AS_ERROR)
    set(CMAKE_COMPILE_WARNING_AS_ERROR ON)
  endif()
  # Installed programs find Z3 and LibTorch where the build found them.
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
  find_program(RIPELINE_CCACHE ccache)
  mark_as_advanced(RIPELINE_CCACHE)
  if(RIPELINE_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    # Without this ccache keeps nothing that includes a precompiled header.
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${RIPELINE_CCACHE}")
  endif()
  # The compiler collects garbage only when its heap has a gigabyte, which saves a tenth of its time and costs up to 0.5 GB for each job.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(--param=ggc-min-heapsize=1000000)
  endif()
endif()
