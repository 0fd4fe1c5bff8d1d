# `ripeline_portable`: the program `ripeline`, linked once more for other machines. The archive and the wheel bring it, its libraries in ../lib, and
# the licences of all that is in both.
if(NOT TARGET ripeline OR NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

# So that GCC 11's libstdc++, that of RHEL 9, is new enough. The wheel's module links it, too.
add_library(ripeline_older_libstdcxx OBJECT EXCLUDE_FROM_ALL cmake/archive/condition_wait.cpp)
ripeline_warnings(ripeline_older_libstdcxx)

add_executable(ripeline_portable EXCLUDE_FROM_ALL $<TARGET_OBJECTS:ripeline>)
target_link_libraries(ripeline_portable PRIVATE ripeline_older_libstdcxx $<TARGET_PROPERTY:ripeline,LINK_LIBRARIES>)
# RPATH rather than RUNPATH: it holds for what the libraries beside it need themselves, and goes before LD_LIBRARY_PATH.
target_link_options(ripeline_portable PRIVATE LINKER:--disable-new-dtags)
set_target_properties(ripeline_portable PROPERTIES
  OUTPUT_NAME ripeline RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/portable"
  INSTALL_RPATH "\$ORIGIN/../lib" INSTALL_RPATH_USE_LINK_PATH OFF)
if(RIPELINE_TESTS)
  set_target_properties(ripeline_portable PROPERTIES EXCLUDE_FROM_ALL OFF)
endif()

# ripeline_licence(component folder name package…): FOLDER/<name>.txt is what the first of these Debian packages that is installed says of its
# copyright. Without one, the archive is not made. Elsewhere than on Debian `pip install .` goes on: what it installs is passed on to nobody.
function(ripeline_licence component folder name)
  list(TRANSFORM ARGN REPLACE "(.+)" "/usr/share/doc/\\1/copyright" OUTPUT_VARIABLE candidates)
  list(GET candidates 0 text)
  foreach(candidate IN LISTS candidates)
    if(EXISTS "${candidate}")
      set(text "${candidate}")
      break()
    endif()
  endforeach()
  ripeline_licence_text(${component} "${folder}" "${text}" "${name}.txt")
endfunction()

function(ripeline_licence_text component folder file name)
  set(optional "")
  if(component STREQUAL "python")
    set(optional OPTIONAL)
  endif()
  install(FILES "${file}" DESTINATION "${folder}" RENAME "${name}" COMPONENT ${component} EXCLUDE_FROM_ALL ${optional})
endfunction()

# ripeline_licences(component folder): of the program and of the libraries that it links, but for the compiler's.
function(ripeline_licences component folder)
  ripeline_licence(${component} "${folder}" asio libasio-dev)
  ripeline_licence(${component} "${folder}" boost "libboost${Boost_VERSION_MAJOR}.${Boost_VERSION_MINOR}-dev" libboost-dev)
  ripeline_licence(${component} "${folder}" cli11 libcli11-dev)
  ripeline_licence(${component} "${folder}" fmt libfmt-dev)
  ripeline_licence(${component} "${folder}" nlohmann_json nlohmann-json3-dev)
  ripeline_licence(${component} "${folder}" openssl libssl-dev)
  ripeline_licence(${component} "${folder}" protozero libprotozero-dev)
  ripeline_licence_text(${component} "${folder}" cmake/archive/z3.txt z3.txt)
  ripeline_licence_text(${component} "${folder}" LICENSE ripeline.txt)
  # Debian's copyright files refer to it.
  ripeline_licence_text(${component} "${folder}" /usr/share/common-licenses/Apache-2.0 Apache-2.0)
endfunction()
