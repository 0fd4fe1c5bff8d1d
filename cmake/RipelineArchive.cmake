# The target `archive`: ripeline-<version>-linux-x86_64.tar.gz in the build folder, with `ripeline` and `ripeline-solver` as programs that
# need nothing of the machine but glibc. cmake/archive/README.txt.in says what lies beside them, and the tests install.archive_* what it must do.
#
# Z3, fmt, libcrypto and libgcc_s are copies of the libraries that this machine has. libstdc++ cannot be: Debian 12's asks for glibc 2.36, for
# arc4random() alone, and Ubuntu 22.04 has 2.35. `ripeline_stdcxx` is the compiler's static libstdc++ made a shared one, with an arc4random()
# of its own. It has the names of all versions of the symbols, which the loader looks for; its symbols have none, and so fit each.
if(NOT TARGET ripeline_portable OR CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  return()
endif()
set(ripeline_archive_name "ripeline-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
set(ripeline_archive_build "${PROJECT_BINARY_DIR}/archive")

foreach(form IN ITEMS so.6 a)
  execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=libstdc++.${form}
                  OUTPUT_VARIABLE stdcxx_${form} OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  if(NOT IS_ABSOLUTE "${stdcxx_${form}}")
    message(STATUS "No target archive: the compiler has no libstdc++.${form}")
    return()
  endif()
endforeach()

# The names of versions of this compiler's libstdc++, oldest first.
execute_process(COMMAND "${CMAKE_OBJDUMP}" -p "${stdcxx_so.6}" OUTPUT_VARIABLE versions COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "(GLIBCXX|CXXABI)_[A-Z0-9.]+" versions "${versions}")
list(REMOVE_DUPLICATES versions)
list(JOIN versions " {};\n" versions)
file(CONFIGURE OUTPUT "${ripeline_archive_build}/stdcxx.map" CONTENT "${versions} {};\n" @ONLY)
add_library(ripeline_stdcxx SHARED EXCLUDE_FROM_ALL cmake/archive/arc4random.cpp)
set_target_properties(ripeline_stdcxx PROPERTIES
  OUTPUT_NAME stdc++ SUFFIX .so.6 NO_SONAME ON LIBRARY_OUTPUT_DIRECTORY "${ripeline_archive_build}")
target_link_options(ripeline_stdcxx PRIVATE -nodefaultlibs LINKER:-z,defs "LINKER:-soname,libstdc++.so.6"
                    "LINKER:--version-script,${ripeline_archive_build}/stdcxx.map")
target_link_libraries(ripeline_stdcxx PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,${stdcxx_a}>" m c gcc_s gcc)
ripeline_warnings(ripeline_stdcxx)

if(RIPELINE_TESTS)
  set_target_properties(ripeline_stdcxx PROPERTIES EXCLUDE_FROM_ALL OFF)
endif()

# Only the archive has these files: the component is no part of `cmake --install`.
set(in_archive COMPONENT archive EXCLUDE_FROM_ALL)
install(TARGETS ripeline_portable ripeline-solver RUNTIME_DEPENDENCY_SET ripeline_beside RUNTIME DESTINATION bin ${in_archive})
install(TARGETS ripeline_stdcxx LIBRARY DESTINATION lib ${in_archive})
install(RUNTIME_DEPENDENCY_SET ripeline_beside
        PRE_EXCLUDE_REGEXES "^libstdc\\+\\+\\." "^lib(c|m|dl|rt|pthread)\\.so\\." "^ld-linux"
        LIBRARY DESTINATION lib ${in_archive})

execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -dumpversion OUTPUT_VARIABLE gcc OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REGEX REPLACE "\\..*" "" gcc "${gcc}")
set(ripeline_gcc_source "gcc-${gcc}")
ripeline_licence(archive licenses gcc "gcc-${gcc}-base" libstdc++6 libgcc-s1)
ripeline_licences(archive licenses)
install(FILES /usr/share/common-licenses/GPL-3 DESTINATION licenses ${in_archive})
configure_file(cmake/archive/README.txt.in "${ripeline_archive_build}/README.txt" @ONLY)
install(FILES "${ripeline_archive_build}/README.txt" DESTINATION . ${in_archive})

set(CPACK_GENERATOR TGZ)
set(CPACK_CMAKE_GENERATOR "${CMAKE_GENERATOR}")
set(CPACK_PACKAGE_FILE_NAME "${ripeline_archive_name}")
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};Ripeline;archive;/")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
add_custom_target(archive
  COMMAND "${CMAKE_CPACK_COMMAND}" --config "${PROJECT_BINARY_DIR}/CPackConfig.cmake" -B "${PROJECT_BINARY_DIR}"
  DEPENDS ripeline_portable ripeline-solver ripeline_stdcxx
  WORKING_DIRECTORY "${PROJECT_BINARY_DIR}" VERBATIM)

if(RIPELINE_TESTS)
  set(work "${PROJECT_BINARY_DIR}/tests/install/work/archive")
  add_test(NAME install.archive COMMAND "${CMAKE_CPACK_COMMAND}" --config "${PROJECT_BINARY_DIR}/CPackConfig.cmake" -B "${work}")
  set_tests_properties(install.archive PROPERTIES LABELS install TIMEOUT 120 FIXTURES_SETUP ripeline_archive)
  foreach(check IN ITEMS symbols bare)
    add_test(NAME install.archive_${check}
             COMMAND "/usr/bin/python3" "${PROJECT_SOURCE_DIR}/tests/install/archive.py" ${check} "${work}/${ripeline_archive_name}.tar.gz")
  endforeach()
  add_test(NAME install.archive_solver
           COMMAND "/usr/bin/python3" "${PROJECT_SOURCE_DIR}/tests/install/archive.py" solver "${work}/${ripeline_archive_name}.tar.gz" "${RIPELINE_ORTOOLS}")
  set_tests_properties(install.archive_symbols install.archive_bare install.archive_solver PROPERTIES
    LABELS install TIMEOUT 120 FIXTURES_REQUIRED ripeline_archive SKIP_RETURN_CODE 77)
endif()
