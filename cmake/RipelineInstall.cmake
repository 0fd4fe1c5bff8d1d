# What `cmake --install` installs, and the package that `find_package(Ripeline)` finds: the core, traces, the runtime, the component `ucx`,
# with LibTorch the component `torch`, the programs, and ripeline_add_schedule. The compile-time side is installed as the program `ripeline` only.
include(CMakePackageConfigHelpers)
set(ripeline_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Ripeline")

# Headers that are installed are compiled by themselves, in the target all_verify_interface_header_sets; the preset `debug`, in which each source
# is a unit that includes its own header first, shows what the others lack. A unit that includes LibTorch takes 15 s: its sources check its headers.
function(ripeline_install_library name export)
  if(NOT name STREQUAL "torch")
    set_target_properties(ripeline_${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  endif()
  install(TARGETS ripeline_${name} EXPORT ${export}
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
          FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/ripeline")
endfunction()

ripeline_install_library(core RipelineTargets)
ripeline_install_library(probe RipelineTargets)
ripeline_install_library(files RipelineTargets)
ripeline_install_library(trace RipelineTargets)
ripeline_install_library(runtime RipelineTargets)
foreach(program IN ITEMS ripeline ripeline-launch ripeline-solver)
  if(TARGET ${program})
    install(TARGETS ${program} EXPORT RipelineTargets RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
endforeach()
install(EXPORT RipelineTargets NAMESPACE Ripeline:: DESTINATION "${ripeline_package_dir}")
ripeline_install_library(ucx RipelineUcxTargets)
install(EXPORT RipelineUcxTargets NAMESPACE Ripeline:: DESTINATION "${ripeline_package_dir}")
if(RIPELINE_TORCH)
  ripeline_install_library(torch RipelineTorchTargets)
  if(RIPELINE_CUDA)
    ripeline_install_library(cuda RipelineTorchTargets)
    install(FILES cmake/RipelineCuda.cmake DESTINATION "${ripeline_package_dir}")
    if(RIPELINE_NCCL)
      install(TARGETS ripeline_nccl LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
    endif()
  endif()
  install(EXPORT RipelineTorchTargets NAMESPACE Ripeline:: DESTINATION "${ripeline_package_dir}")
  install(FILES cmake/RipelineTorch.cmake DESTINATION "${ripeline_package_dir}")
endif()

file(GLOB schedules CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/spec/library/*.ripe")
install(FILES ${schedules} DESTINATION "${CMAKE_INSTALL_DATADIR}/ripeline/library")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/ripeline")

configure_package_config_file(cmake/RipelineConfig.cmake.in "${PROJECT_BINARY_DIR}/RipelineConfig.cmake"
                              INSTALL_DESTINATION "${ripeline_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/RipelineConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/RipelineConfig.cmake" "${PROJECT_BINARY_DIR}/RipelineConfigVersion.cmake"
              cmake/RipelineAddSchedule.cmake
        DESTINATION "${ripeline_package_dir}")
