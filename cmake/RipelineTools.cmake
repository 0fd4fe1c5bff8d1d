# The targets `format` and `tidy`, the test `style`. Both tools are pinned to Debian 12's version 14: another one lays code out otherwise.
find_program(RIPELINE_CLANG_FORMAT clang-format-14)
find_program(RIPELINE_RUN_CLANG_TIDY run-clang-tidy-14)
mark_as_advanced(RIPELINE_CLANG_FORMAT RIPELINE_RUN_CLANG_TIDY)

if(RIPELINE_CLANG_FORMAT)
  set(ripeline_format "${PROJECT_SOURCE_DIR}/setup/format.sh" "${RIPELINE_CLANG_FORMAT}")
  add_custom_target(format COMMAND ${ripeline_format} VERBATIM)
  if(RIPELINE_TESTS)
    add_test(NAME style.clang_format COMMAND ${ripeline_format} --dry-run -Werror)
    set_tests_properties(style.clang_format PROPERTIES LABELS style TIMEOUT 120)
  endif()
endif()

if(RIPELINE_RUN_CLANG_TIDY)
  # Every source of the tree that is compiled. Generated files, which lie in the build folder, are left out.
  add_custom_target(tidy
    COMMAND "${RIPELINE_RUN_CLANG_TIDY}" -quiet -p "${PROJECT_BINARY_DIR}" "^(?!${PROJECT_BINARY_DIR}/)${PROJECT_SOURCE_DIR}/"
    VERBATIM)
endif()
