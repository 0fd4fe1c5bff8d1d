# The target `wheel`: the Python package `ripeline` for machines without a compiler, in the folder `wheel` of the build folder. setup/make_wheel.py
# says what is in it, and the tests install.wheel_* what it must do. One wheel is for the Python of this build; a second one is for all from 3.12 on,
# if RIPELINE_PYTHON_ABI3 names one of those. `pip install .` installs the same component.
if(NOT TARGET ripeline_portable)
  return()
endif()

set(in_wheel COMPONENT python EXCLUDE_FROM_ALL)
# The program's libraries lie in ../lib, those of the module in lib/: the same folder.
install(TARGETS ripeline_portable ripeline-solver RUNTIME DESTINATION ripeline/bin ${in_wheel})
cmake_path(GET RIPELINE_Z3_LIBRARY PARENT_PATH z3_folder)
file(GLOB z3 "${z3_folder}/libz3.so.*")
install(FILES ${z3} DESTINATION ripeline/lib ${in_wheel})
ripeline_licences(python ripeline/licenses)
ripeline_licence_text(python ripeline/licenses cmake/archive/nanobind.txt nanobind.txt)

set(modules ripeline_python)
set(make "${Python_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/setup/make_wheel.py" --build "${PROJECT_BINARY_DIR}"
         --tools "${RIPELINE_PYTHON_TOOLS}" --cmake "${CMAKE_COMMAND}")
if(RIPELINE_PYTHON_ABI3)
  list(APPEND modules ripeline_python_abi3)
  list(APPEND make --abi3)
endif()
add_custom_target(ripeline_wheel_parts DEPENDS ripeline_python_package ${modules} ripeline_portable ripeline-solver)
add_custom_target(wheel COMMAND ${make} --out "${PROJECT_BINARY_DIR}/wheel" VERBATIM)
add_dependencies(wheel ripeline_wheel_parts)

# Other builds than that of a release are larger than a wheel may be.
if(RIPELINE_TESTS AND CMAKE_BUILD_TYPE STREQUAL "Release")
  set(work "${PROJECT_BINARY_DIR}/tests/install/work/wheel")
  set(check "/usr/bin/python3" "${PROJECT_SOURCE_DIR}/tests/install/wheel.py" "${work}")
  add_test(NAME install.wheel COMMAND ${make} --out "${work}")
  set_tests_properties(install.wheel PROPERTIES LABELS install TIMEOUT 300 FIXTURES_SETUP ripeline_wheel)
  add_test(NAME install.wheel_bare COMMAND ${check} "${Python_EXECUTABLE}" "${RIPELINE_ORTOOLS}")
  add_test(NAME install.wheel_abi3 COMMAND ${check} "${RIPELINE_PYTHON_ABI3}")
  set_tests_properties(install.wheel_bare install.wheel_abi3 PROPERTIES
    LABELS install TIMEOUT 300 FIXTURES_REQUIRED ripeline_wheel SKIP_RETURN_CODE 77)
endif()
