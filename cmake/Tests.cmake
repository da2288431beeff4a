# ctest: one test for each program of tests, and one for the tests beside the code. `ctest -R NAME` runs one.

enable_testing()

function(add_cargo_test name)
  add_test(NAME ${name} COMMAND ${cargo_call} test --profile checked ${cargo_options} ${cargo_features} --target-dir "${cargo_target}"
    ${ARGN}
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
  # they use all processors, and time
  set_tests_properties(${name} PROPERTIES RUN_SERIAL ON TIMEOUT 3600)
  if(SCOREP_NCCL_VENDOR_DIR) # for cargo's calls within
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "SCOREP_NCCL_VENDOR_DIR=${vendored}")
  endif()
endfunction()

if(SCOREP_NCCL_ONLY)
  add_cargo_test(units --package scorep-nccl-common --package ${package})
else()
  add_cargo_test(units --workspace --lib --bins)
  file(GLOB files CONFIGURE_DEPENDS tests/programs/*.rs)
  foreach(file IN LISTS files ITEMS otel.rs)
    get_filename_component(name "${file}" NAME_WE)
    add_cargo_test(${name} --test ${name})
  endforeach()
endif()
